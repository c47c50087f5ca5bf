"""May a tool run? Rules decide at once, or leave it to a person, whose word is kept.

patterns.py     what a rule says of a path: * and **
rules.py        what may run without asking, what never may, what a person is asked about
remembered.py   policies.json: the rules that outlast a session
audit.py        a line for each decision
permissions.py  the rules, and what people have said so far
prompt.py       asks a person, on a terminal and in a notebook
"""

from zoolab.policy.permissions import Permissions
from zoolab.policy.prompt import ask_user
from zoolab.policy.rules import Policy

__all__ = ["Permissions", "Policy", "ask_user"]
