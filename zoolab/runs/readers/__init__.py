"""What readers of other programs' files stand on; they are registered in the group `zoolab.readers`.

found.py       what every reader gives back
parsing.py     a file as JSON values: one, several, or one a line; with NaN, and with a note where it is odd
messages.py    the parts of a message in the words of several programs
"""
