"""What holds for all tests: examples have no deadline, since the machine may be shared."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


@pytest.fixture(autouse=True)
def _main_module_stays() -> Iterator[None]:
    """IPython's shell takes the place of `__main__`, and empties it: no process could be spawned then."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
