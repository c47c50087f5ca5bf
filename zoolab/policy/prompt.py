"""Asks the user, at the terminal or in a notebook, whether a tool may run."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any, cast

from zoolab.errors import InvalidInput
from zoolab.policy.rules import escape
from zoolab.records import Decision, Step

MAX_SHOWN = 2_000
ATTEMPTS = 3

_RISKS = {
    "safe": "safe: it reads what anybody may",
    "medium": "medium: it may reveal what is private",
    "high": "HIGH: what it does may not be undone",
}
_ANSWERS = {
    **dict.fromkeys(("1", "o", "once"), "once"),
    **dict.fromkeys(("2", "s", "session"), "session"),
    **dict.fromkeys(("3", "a", "always"), "always"),
    **dict.fromkeys(("4", "d", "deny", ""), "deny"),
}
#: What holds where nobody can be asked, or says what makes sense: always in the same words, as recordings
#: hold what a model does then.
NOBODY = Decision("deny", "nobody was there to allow it", by="nobody")
_CHOICES = "[1] once  [2] session  [3] always  [4] deny"
_FOR_NOW = "[1] once  [2] session  [4] deny"
# Letters that are shown as nothing, though they count as printable.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_ONE_AT_A_TIME = threading.Lock()


def ask_user(step: Step) -> Decision:
    """Ask whether the call of a pending step may run: for `run(..., ask=ask_user)`.

    Shows the tool, its risk, what the call touches and its arguments, and reads the answer with
    `input`, on a terminal and in a notebook. Session and always hold for what is shown as touched; always
    is not offered if no policies.json keeps it. Where
    nobody can be asked, or three answers make no sense, the call is denied.

    Raises `InvalidInput` if the step is not waiting for approval.

    >>> from zoolab import Scripted, tool, walk
    >>> @tool(risk="high")
    ... def wipe(disk: str) -> str: ...
    >>> steps = walk("Go.", [wipe], Scripted([[("wipe", {"disk": "a"})]]))
    >>> pending = next(step for step in steps if step.status == "pending")
    >>> ask_user(pending)
    Decision(choice='deny', reason='nobody was there to allow it'...)
    """
    decision = step.record
    if not isinstance(decision, Decision) or decision.choice != "pending":
        raise InvalidInput("this step is not waiting for approval", expected="a step with the status pending")
    with _ONE_AT_A_TIME:
        # A kernel sends `input` to its notebook, and reports by itself if that is impossible.
        find_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
        streams = (sys.stdin, sys.stdout)
        on_terminal = all(stream is not None and stream.isatty() for stream in streams)
        if not on_terminal and not hasattr(find_shell(), "kernel"):
            return NOBODY
        return _ask(step, decision)


def describe_call(step: Step) -> list[str]:
    """Describe a pending call to a person, in lines; what a model wrote is made harmless to show."""
    decision: Any = step.record
    name = harmless(step.call.name if step.call else "?")
    given = _arguments(step)
    more = f"... and {len(given) - MAX_SHOWN:,} characters more" if len(given) > MAX_SHOWN else ""
    hold = "session and always hold" if decision.lasts else "session holds"
    if not decision.risk:
        touches = "not known"
    elif decision.resource is None:
        touches = f"it does not say: {hold} for every call of {name}"
    elif not decision.resource:
        touches = f"it cannot tell: {hold} for this call alone"
    else:
        touches = harmless(json.dumps(decision.resource, ensure_ascii=False))
    return [
        f"Permission request: {harmless(decision.reason)}",
        f"  tool       {name}",
        f"  risk       {_RISKS.get(decision.risk, harmless(decision.risk) or 'not known')}",
        f"  touches    {touches}",
        f"  arguments  {given[:MAX_SHOWN]}{more}",
    ]


def harmless(text: str) -> str:
    r"""Return `text` on one line, with whatever could command or deceive a screen as its number.

    >>> print(harmless("rm\x1b[2K\ndir \u202eexe.txt"))
    rm\u001b[2K\u000adir \u202eexe.txt
    """
    return "".join(c if c.isprintable() and c not in _BLANK else _numbers(c) for c in text)


def _numbers(letter: str) -> str:
    code = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def _ask(step: Step, pending: Decision) -> Decision:
    for line in describe_call(step):
        _say(line)
    whole = _arguments(step)
    offered = _CHOICES if pending.lasts else _FOR_NOW
    choices = f"{offered}  [5] show all" if len(whole) > MAX_SHOWN else offered
    name = harmless(step.call.name) if step.call else "it"
    for _ in range(ATTEMPTS):
        answer = _read(f"allow {name}? {choices}: ")
        if answer is None:
            return NOBODY
        if answer == "5" and choices != offered:
            _say(whole)
        elif (choice := cast("Any", _ANSWERS.get(answer))) and (choice != "always" or pending.lasts):
            # What was shown is what holds, even if a link leads elsewhere by now.
            shown = pending.resource if choice in ("session", "always") else None
            return Decision(choice, "answered when asked", escape(shown) if shown else None)
        else:
            _say(f"please answer {choices}")
    return NOBODY


def _say(line: str) -> None:
    """Print a line; a screen that lacks a letter shows its number."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))


def _read(prompt: str) -> str | None:
    """Read what is typed; None at the end of the input, and in a notebook that cannot ask."""
    try:
        return input(prompt).strip().lower()
    except (EOFError, OSError, RuntimeError, UnicodeError):  # StdinNotImplementedError is a RuntimeError
        return None


def _arguments(step: Step) -> str:
    """Return the arguments of the call as JSON; the model's own text if they are not known."""
    decision: Any = step.record
    if decision.arguments is None:
        return harmless(step.call.arguments if step.call else "")
    return harmless(json.dumps(decision.arguments, ensure_ascii=False, default=repr))
