"""The application that the documentation's examples belong to."""
