"""Watch a program that zoolab did not write: its requests pass through, and each conversation is a trace.

addresses.py      where the endpoints are, and where the program finds them
recognising.py    which API a request speaks
encodings.py      compressed content, read while it passes on
exchange.py       one request of the program and the answer to it, and what they say
headers.py        headers as they came, also repeated ones
server.py         a server on loopback, which passes both on
forwarding.py     the real endpoint answers, and its replies can be broken on the way
answering.py      a model of zoolab answers in its place
recorded.py       a recording answers an ordinary client
conversations.py  which request belongs to which conversation
passing.py        the servers that requests pass through, and the ear that is told
recorder.py       what the ear heard becomes traces and a recording
carrier.py        a process of its own for what passes through
seen.py           all of this around a program, or around code in a notebook; a page that grows
watch.py          who answers the program, and what of that is broken on purpose
changes.py        what the program changed between two requests; that, and what is wrong, as a report
stress.py         a program under each fault in turn, and its scorecard
"""

from zoolab.lazy import lazily

__getattr__, __dir__ = lazily(__name__)
