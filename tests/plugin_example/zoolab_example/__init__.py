"""One of each thing that can be added to zoolab, one file each."""
