"""The commands of the command line, in modules by what they are about."""
