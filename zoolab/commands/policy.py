"""`zoolab policy`: the rules that outlast a session."""

from __future__ import annotations

from zoolab.jsontext import visible
from zoolab.policy.permissions import PolicyFile, policies_path


def show_or_change(action: str, rule: str) -> int:
    """Change the user's policies.json, unless the action is to list it; then show it, its path first."""
    kept = PolicyFile(policies_path())
    if action == "allow":
        kept.add("allow", rule)
    elif action == "deny":
        kept.add("deny", rule)
    elif action == "remove":
        kept.remove(rule)
    known = kept.read()
    print(visible(str(kept.path)))
    for word, listed in (("deny", known.deny), ("allow", known.allow)):
        for each in listed:
            print(f"  {word:<6} {visible(each.text)}")
    return 0
