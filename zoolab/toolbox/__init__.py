"""Ready tools, one file a domain, each on a small world that is the same every time.

starter.py     ten tools to begin with: arithmetic, weather, services, notes; and the time
devops.py      hosts, services, logs and disks
support.py     tickets and a knowledge base
analytics.py   a SQLite database that can only be read
security.py    events, reputations, and hosts that can be cut off
files.py       a folder, and nothing outside it; the outline of a file
tasks.py       a list of tasks
catalog.py     all of these by name
worlds.json    what is in the worlds at the beginning; shop.sql: in the database
"""

from typing import TYPE_CHECKING

from zoolab.lazy import lazily

if not TYPE_CHECKING:  # a type checker would take any name for one of this package
    __getattr__, __dir__ = lazily(__name__)[:2]
