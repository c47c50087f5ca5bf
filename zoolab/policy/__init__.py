"""May a tool run? Rules decide at once, or leave it to the user, whose answer is remembered.

rules.py        what may run without asking, what never may, what the user is asked about
permissions.py  the rules, policies.json, what the user has answered so far, and the audit log
prompt.py       asks the user, on a terminal and in a notebook
"""

from zoolab.policy.permissions import Permissions
from zoolab.policy.prompt import ask_user
from zoolab.policy.rules import Policy

__all__ = ["Permissions", "Policy", "ask_user"]
