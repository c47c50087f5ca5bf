"""The strict endpoint: a server that plays a reported reply to any program, and judges the program.

cases.py    the reports, as the data set `endpoint-reports` has them
reading.py  what stands in a request of one of five APIs
strict.py   what strict servers refuse in what was said before
playing.py  one conversation: which reply comes next, and what was wrong with the requests
judging.py  the verdict on the program
server.py   the server around the conversations

This package shares no code with the models of zoolab, because it judges them too.
"""

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
