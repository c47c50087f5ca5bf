"""`python -m zoolab` is the command line."""

import os
import sys

if __name__ == "__main__":
    # A file beside somebody's submissions is none of our modules, whatever its name.
    if not sys.flags.safe_path and sys.path[0] != os.path.realpath(f"{__file__}/../.."):
        del sys.path[0]

    from zoolab.commands.cli import main

    main()
