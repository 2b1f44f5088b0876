"""One Hypothesis profile for the core: no deadline, because a busy machine is not a failure."""

from hypothesis import settings

settings.register_profile("core", deadline=None)
settings.load_profile("core")
