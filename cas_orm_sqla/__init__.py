"""Compare-and-swap writes for SQLAlchemy models: reserved for the next release, empty in this one."""

__all__: list[str] = []
