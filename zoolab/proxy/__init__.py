"""Watch a program that zoolab did not write: its requests pass through, and each conversation is a trace.

exchange.py       one request of the program and the answer to it, as bytes; and the APIs that are understood
answering.py      a model of zoolab answers in place of the real endpoint
forwarding.py     the real endpoint answers, and its replies can be broken on the way
"""
