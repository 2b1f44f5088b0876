"""What tests of code that uses cas-orm need: a store in memory, with the semantics of a real one."""

from cas_orm.testing.memory import MemoryStore

__all__ = ["MemoryStore"]
