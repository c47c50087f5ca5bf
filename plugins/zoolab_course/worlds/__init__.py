"""Small worlds with their tools, one file a domain, the same every time.

devops.py      hosts, services, logs and disks
support.py     tickets and a knowledge base
analytics.py   a SQLite database that can only be read
security.py    events, reputations, and hosts that can be cut off
files.py       a folder, and nothing outside it; the outline of a file
tasks.py       a list of tasks
clock.py       the time
worlds.json    what is in the worlds at the beginning; shop.sql: in the database

Each is registered in the group `zoolab.toolboxes`, so that `zoolab.toolbox.catalog` finds it by its name.
"""
