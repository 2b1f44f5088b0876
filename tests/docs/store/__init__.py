"""What the SQLAlchemy examples of the documentation import."""
