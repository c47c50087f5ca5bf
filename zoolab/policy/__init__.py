"""May a tool run? Rules decide at once, or leave it to a person, whose word is kept.

rules.py        what may run without asking, what never may, what a person is asked about
permissions.py  the rules, and what people have said so far
"""

from zoolab.policy.permissions import Permissions
from zoolab.policy.rules import Policy

__all__ = ["Permissions", "Policy"]
