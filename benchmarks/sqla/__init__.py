"""The SQLAlchemy half of the measurements."""
