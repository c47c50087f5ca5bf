"""Watch a program that zoolab did not write: its requests pass through here, and each conversation is a trace.

exchange.py       one request of the program and the answer to it, as bytes; and the APIs that are understood
"""
