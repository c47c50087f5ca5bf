"""A kernel on a machine that is on no network, without what readers of the course have not installed.

    python tests/offline_kernel.py alone|beside MODULES -f CONNECTION_FILE

`alone` means that there must be no way out; `MODULES` are the names that cannot be imported, with commas.
"""

from __future__ import annotations

import sys

from offline import has_a_route, start_loopback

if __name__ == "__main__":
    where, absent = sys.argv.pop(1), sys.argv.pop(1).split(",")
    if where == "alone":
        start_loopback()
        if has_a_route():
            sys.exit("there is a way out")
    del sys.path[0]  # the tests are not beside a reader's notebook
    sys.modules.update(dict.fromkeys(absent))  # None in the place of a module: importing it fails
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()
