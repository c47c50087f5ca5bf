"""What holds for all tests: examples have no deadline, since the machine may be shared."""

from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
