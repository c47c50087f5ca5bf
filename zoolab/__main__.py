"""`python -m zoolab` is the command line."""

from zoolab.cli import main

if __name__ == "__main__":
    main()
