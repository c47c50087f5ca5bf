"""Ready tools: the ten to begin with, and those of other domains by their names.

starter.py     ten tools to begin with: arithmetic, weather, services, notes
catalog.py     these, and what is registered in the group `zoolab.toolboxes`, by name
worlds.json    what is in the world of the starter tools
"""

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(__name__)
