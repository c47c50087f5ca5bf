"""Rules about tools: by name, by what a call touches and by risk. They decide, or leave it to the user."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, excerpt
from zoolab.records import Decision
from zoolab.tools import Risk, Tool

_PIECE = re.compile(
    r"(?P<folders>(?<![^/])(?:\*\*+/)+) | (?P<any>\*\*+) | (?P<part>\*) | (?P<text>(?:\\[*\\]|[^\\*])+)",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Pattern:
    r"""A pattern of texts. `*` is any text without a slash, `**` any text, `/**/` a slash or any folders.

    All else stands for itself, its case included; `\*` and `\\` are a star and a backslash.

    Raises `InvalidInput` if it is empty, or a backslash stands before something else.

    >>> Pattern("/srv/*.txt").matches("/srv/a.txt"), Pattern("/srv/*.txt").matches("/srv/x/a.txt")
    (True, False)
    >>> [Pattern("/srv/**/a.txt").matches(path) for path in ("/srv/a.txt", "/srv/x/y/a.txt", "/srv/xa.txt")]
    [True, True, False]
    """

    text: str
    #: Kinds of pieces, with the text that a piece stands for.
    _pieces: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = list(_PIECE.finditer(self.text))
        if not found or "".join(piece[0] for piece in found) != self.text:
            raise InvalidInput(
                f"{excerpt(self.text)} is not a pattern",
                expected="text with * and **, a backslash only before * or a backslash",
                advice="write the parts of a path with / between them",
            )
        pieces = tuple((str(piece.lastgroup), re.sub(r"\\(.)", r"\1", piece[0])) for piece in found)
        object.__setattr__(self, "_pieces", pieces)

    def matches(self, text: str) -> bool:
        """Tell whether the pattern matches all of `text`, in at most the steps of both lengths multiplied.

        A backtracking engine may take longer than anyone lives.
        """
        ends = [0]  # where the pieces so far may end, in order
        after_slashes = [found.end() for found in re.finditer("/", text)]
        for kind, piece in self._pieces:
            if not ends:
                return False
            if kind == "text":
                ends = [end + len(piece) for end in ends if text.startswith(piece, end)]
            elif kind == "any":
                ends = list(range(ends[0], len(text) + 1))
            elif kind == "folders":
                ends = sorted({*ends, *(end for end in after_slashes if end > ends[0])})
            else:
                ends = list(_within_a_part(text, ends))
        return len(text) in ends


def _within_a_part(text: str, starts: list[int]) -> Iterator[int]:
    reached = -1
    for start in starts:
        if start > reached:
            slash = text.find("/", start)
            reached = len(text) if slash < 0 else slash
            yield from range(start, reached + 1)


def escape(text: str) -> str:
    """Return the pattern that matches only this text."""
    return re.sub(r"[*\\]", r"\\\g<0>", text)


MAX_RULE = 10_000
MAX_RESOURCE = 4_096

_RISKS = get_args(Risk)
_RULE = re.compile(r"([A-Za-z0-9_*-]{1,100})(?:\((.*)\))?(?:#([0-9a-f]{32}))?", re.DOTALL)
BY_RISK = Decision("once", "its risk is not asked about", by="rule")


@dataclass(frozen=True, slots=True)
class Touched:
    """What a call touches, as far as its tool can tell."""

    #: A resolved path, a host; None if the tool names none.
    resource: str | None = None
    #: Why it cannot be told, though the tool should; empty if it can be told.
    unknown: str = ""

    @classmethod
    def by(cls, tool: Tool, arguments: Mapping[str, Any]) -> Touched:
        """Ask `tool` what it touches with these arguments; an error is kept, and never raised."""
        if tool.resource is None:
            return _NOTHING
        try:
            resource: Any = tool.resource(dict(arguments))
            if isinstance(resource, str) and 0 < len(resource) <= MAX_RESOURCE:
                return cls(resource)
            told = f"{excerpt(resource)} is not 1 to {MAX_RESOURCE:,} letters"
        except Exception as error:
            told = excerpt(error, 200)
        return cls(None, f"{tool.name} cannot tell what it touches: {told}")


_NOTHING = Touched()


def definition(tool: Tool) -> str:
    """Compute a digest of a tool: its words, schema, risk, source, and its function's name."""
    function: Any = tool.function
    named = function if hasattr(function, "__qualname__") else type(function)
    described = [tool.name, tool.description, tool.parameters, tool.risk, tool.untrusted]
    return digest(canonical([*described, str(named.__module__), str(named.__qualname__)]))


@dataclass(frozen=True, slots=True)
class Rule:
    """A tool's name, or a name with a pattern of what it touches; stars may stand in both.

    A rule that ends with `#` and the `definition` of a tool speaks of that tool alone.
    """

    text: str
    name: Pattern = field(init=False, repr=False, compare=False)
    pattern: Pattern | None = field(init=False, repr=False, compare=False)
    definition: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = None
        if isinstance(self.text, str) and len(self.text) <= MAX_RULE:
            found = _RULE.fullmatch(self.text)
        if found is None:
            raise InvalidInput(
                f"{excerpt(self.text)} is not a rule",
                expected="a tool's name or name(pattern), for instance read_file(/srv/app/**)",
            )
        name, pattern, defined = found.groups()
        object.__setattr__(self, "definition", defined)
        object.__setattr__(self, "name", Pattern(name))
        object.__setattr__(self, "pattern", None if pattern is None else Pattern(pattern))

    def covers(self, tool: Tool, touched: Touched) -> bool:
        """Tell whether the rule is certain to cover such a call: rules that allow have to be."""
        if not self.name.matches(tool.name) or (self.definition and self.definition != definition(tool)):
            return False
        if self.pattern is None:
            return True
        return touched.resource is not None and self.pattern.matches(touched.resource)

    def may_cover(self, tool: Tool, touched: Touched) -> bool:
        """Tell whether the rule may cover such a call: enough for rules that deny or ask.

        A pattern says nothing of a call that cannot tell what it touches, so that it may.
        """
        return self.covers(tool, touched) or (touched.resource is None and self.name.matches(tool.name))


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules that are asked before a tool runs. What is denied stays denied, whoever allows it.

    A rule is a tool's name, or `name(pattern)`, with a pattern of what the call touches: the tool's
    `resource`, for files the resolved path with slashes, case as it is. `*` stands for any text
    within one part of a path, `**` for any text at all. A pattern never allows a call that cannot tell
    what it touches, and always denies it.

    Args:
        allow: Rules for what runs without asking, whatever its risk.
        deny: Rules for what never runs.
        ask: The risks for which a person is asked; other risks run at once. Rules among them are
            asked about, whatever else allows them.

    Raises:
        InvalidInput: One of them is not a rule.

    >>> from zoolab.tools import Tool
    >>> Policy().decide(Tool("isolate_host", "Cut a host off.", {"type": "object"}, risk="high")).choice
    'pending'
    >>> Policy(allow={"ping"}).decide(Tool("ping", "Ping a host.", {"type": "object"}, risk="high")).choice
    'once'
    >>> read = Tool("read", "Read.", {"type": "object"}, resource=lambda given: given["path"])
    >>> Policy(deny={"read(/etc/**)"}).decide(read, {"path": "/etc/passwd"}).reason
    'the policy denies read: read(/etc/**)'
    """

    allow: Collection[str] = ()
    deny: Collection[str] = ()
    ask: Collection[Risk | str] = ("medium", "high")
    _allow: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _deny: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    _ask: tuple[Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind in ("allow", "deny", "ask"):
            given = getattr(self, kind)
            if isinstance(given, str):
                raise InvalidInput(f"{kind} is a single text", expected=f"a list, as in {kind}=[{given!r}]")
            texts = tuple(given)
            object.__setattr__(self, kind, texts)
            spoken = (text for text in texts if kind != "ask" or text not in _RISKS)
            object.__setattr__(self, f"_{kind}", tuple(map(Rule, spoken)))

    def decide(self, tool: Tool, arguments: Mapping[str, Any] | None = None) -> Decision:
        """Decide on a call: `once`, `deny`, or `pending` if the user has to decide."""
        return self.judge(tool, Touched.by(tool, arguments or {}))

    def waves_through(self, tool: Tool) -> bool:
        """Tell whether no rule can cover the tool, and its risk is not asked about."""
        return not self._deny and not self._ask and tool.risk not in self.ask

    def judge(self, tool: Tool, touched: Touched) -> Decision:
        """Decide on a call that touches this."""
        if refusal := self.denial(tool, touched):
            return Decision("deny", f"the policy denies {refusal}", by="rule")
        if any(rule.may_cover(tool, touched) for rule in self._ask):
            return Decision("pending", f"{tool.name} is to be asked about: allow it?", by="rule")
        if tool.risk not in self.ask:
            return BY_RISK
        if self.allows(tool, touched):
            return Decision("once", f"the policy allows {tool.name}", by="rule")
        return Decision("pending", f"{tool.name} is of {tool.risk} risk: allow it?", by="rule")

    def allows(self, tool: Tool, touched: Touched) -> bool:
        """Tell whether a rule allows such a call; rules that deny are not looked at."""
        return any(rule.covers(tool, touched) for rule in self._allow)

    def denial(self, tool: Tool, touched: Touched) -> str:
        """Name the denied tool and the rule that denies it; empty if no rule denies."""
        found = next((rule for rule in self._deny if rule.may_cover(tool, touched)), None)
        if found is None or found.text == tool.name:
            return tool.name if found else ""
        return f"{tool.name}: {found.text}"
