"""Prints the table of what repairs are worth."""

import sys

from tools.repair.table import kinds, table

for line in kinds() if "--kinds" in sys.argv[1:] else table():
    print(line, flush=True)
