"""`python -m zoolab` is the command line."""

from zoolab.commands.cli import main

if __name__ == "__main__":
    main()
