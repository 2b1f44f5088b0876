"""Queues that carry wakeups; each is imported from the module named after its engine."""
