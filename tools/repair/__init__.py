"""What repairs are worth: seeded damage of which the intent is known, and a table of who mends it.

    python -m tools.repair             # the table; a minute
    python -m tools.repair --kinds     # and what the rules make of each kind of damage

damage    valid objects with their schemas, and 24 ways to break the text of one
table     guards x repairers: mended right, silently wrong, refused
"""
