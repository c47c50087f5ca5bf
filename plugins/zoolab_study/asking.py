"""One step, many models: the frozen request of a step is sent again, and what would be called is counted.

Nothing is executed: calls are read and checked against the schemas of the trace, which have no functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from zoolab.errors import InvalidInput, InvalidTrace
from zoolab.extras import needs
from zoolab.jsontext import canonical, excerpt, json_or, one_line, visible
from zoolab.messages import text_of
from zoolab.models.about import about
from zoolab.records import Messages, Reply, Request, Step
from zoolab.running.calls import Runner
from zoolab.runs import Trace
from zoolab.secrets import scrub
from zoolab.steps.execute import said
from zoolab.steps.tool_call import read_calls
from zoolab.steps.validate import check_call
from zoolab.text.markup import clipped, code, note, table, tag
from zoolab.text.wording import as_words, count
from zoolab.tools import ToolRegistry
from zoolab.trace.calls import turn_at
from zoolab.trace.codec import decode_record, encode_record
from zoolab.trace.log import tools_of
from zoolab_study.branching.trace_tape import options_of
from zoolab_study.cases import Case
from zoolab_study.pacing import maker_of
from zoolab_study.runner import models_in
from zoolab_study.statistics import Interval, wilson

if TYPE_CHECKING:
    import pandas as pd

#: What a model did, beside what the trace has: the same calls with equal arguments, the same tools with other
#: ones, other tools; an answer, so no call; nothing, because asking it ended in an error.
Did = Literal["equal", "other_arguments", "other_tools", "answer", "error"]

#: The verdict on calls of which nothing is wrong.
MAY_RUN = "may_run"
_LONGEST = 200
_MAX_ROWS = 200
_MAX_REPEATS = 10_000


@dataclass(frozen=True, slots=True)
class Again:
    """One reply to the frozen request, or the error in its place."""

    model: str
    repeat: int
    did: Did
    #: The calls by slot, with arguments as the model wrote them.
    calls: tuple[tuple[str, str], ...] = ()
    #: `MAY_RUN`, the codes of what is wrong with the calls, or how a reply ended that is not whole.
    verdict: str = ""
    #: The text of the reply, or the error.
    text: str = ""

    @property
    def tools(self) -> str:
        """The names of the tools that would be called, in order."""
        return ", ".join(name for name, _ in self.calls)

    @property
    def told(self) -> str:
        """What it did in one line, without secrets."""
        calls = "; ".join(f"{name} {arguments}" for name, arguments in self.calls)
        return one_line(visible(scrub(calls or self.text)), _LONGEST)


@dataclass(frozen=True, slots=True)
class Counted:
    """How often a model did the same thing, with Wilson's interval of 95 %."""

    model: str
    tools: str
    did: Did
    verdict: str
    times: int
    of: int
    rate: Interval
    #: The first such reply, in one line.
    example: str


class AskedAgain:
    """What models did with the frozen request of a step. Made by `zoolab.ask_again`."""

    #: What the columns of `table` are called.
    HEADS = ("model", "what it would do", "verdict", "how often (95 % interval)", "for instance")

    def __init__(self, recorded: Again, answers: Sequence[Again]) -> None:
        #: What the trace has at that step.
        self.recorded = recorded
        self.answers = tuple(answers)

    @property
    def rows(self) -> list[Counted]:
        """One row for each thing that a model did, the most frequent first."""
        asked = Counter(each.model for each in self.answers)
        groups: dict[tuple[str, str, Did, str], list[Again]] = {}
        for each in self.answers:
            groups.setdefault((each.model, each.tools, each.did, each.verdict), []).append(each)
        order = {name: place for place, name in enumerate(asked)}
        return [
            Counted(*key, len(alike), asked[key[0]], wilson(len(alike), asked[key[0]]), alike[0].told)
            for key, alike in sorted(groups.items(), key=lambda item: (order[item[0][0]], -len(item[1])))
        ]

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The rows as texts, a column for each of `HEADS`."""
        return [(row.model, _did(row), _verdict(row), _often(row), row.example) for row in self.rows]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table: model tools did verdict times of rate low high example."""
        needs("pandas")
        import pandas as pd

        return pd.DataFrame([_cells(row) for row in self.rows])

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        models = len({each.model for each in self.answers})
        told = f"{len(self):,} repl{'y' if len(self) == 1 else 'ies'} of {count(models, 'model')}"
        return f"<AskedAgain: {told}>"

    def __str__(self) -> str:
        lines = [f"the trace: {self.recorded.told or 'no reply'}"]
        lines += [f"{row.model}: {_did(row)}, {_often(row)}: {row.example}" for row in self.rows[:_MAX_ROWS]]
        return "\n".join(one_line(visible(line), 400) for line in lines)

    def _repr_html_(self) -> str:
        rows = [[clipped(cell, _LONGEST + 10) for cell in row] for row in self.table]
        caption = "What each would do: nothing was run"
        left = note(f"and {count(len(rows) - _MAX_ROWS, 'more row')}") if len(rows) > _MAX_ROWS else None
        recorded = tag("p", "The trace: ", code(self.recorded.told or "no reply", _LONGEST + 10))
        return str(tag("div", recorded, table(caption, self.HEADS, rows[:_MAX_ROWS]), left))


def _cells(row: Counted) -> dict[str, Any]:
    told = asdict(row) | {"rate": row.rate.estimate, "low": row.rate.low, "high": row.rate.high}
    return {name: told[name] for name in (*list(told)[:7], "low", "high", "example")}


def _did(row: Counted) -> str:
    if row.did in ("answer", "error"):
        return row.did
    return f"{one_line(row.tools, 80)}, {'equal arguments' if row.did == 'equal' else as_words(row.did)}"


def _verdict(row: Counted) -> str:
    return "may run" if row.verdict == MAY_RUN else row.verdict


def _often(row: Counted) -> str:
    return f"{row.times} of {row.of}, {row.rate}"


def ask_again(trace: Trace, step: int | Step, models: Any, repeats: int = 5) -> AskedAgain:
    """Send the request of a step to other models, and count what they would do. Nothing is executed.

    The request is sent as it was: the same messages, tools and settings; a model adds its own, such as its
    name. An error of one model is a row, and the others go on.

    Args:
        trace: The trace.
        step: A step of it, or its number; the request is that of its turn.
        models: Models by name, or functions that make one for each time, which may take `seed`. A recording
            is asked once, because it always says the same.
        repeats: How often each is asked.

    Raises:
        InvalidInput: No request comes before that step, or there are no models.

    >>> from zoolab import Scripted, ask_again, run, tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> trace = run("What is 1 + 2?", [add], Scripted([[("add", {"a": 1, "b": 2})], "3"]))
    >>> models = {"careful": Scripted([[("add", {"a": 1, "b": 2})]]), "quick": Scripted(["3"])}
    >>> print(ask_again(trace, 1, models, repeats=3))
    the trace: add {"a":1,"b":2}
    careful: add, equal arguments, 3 of 3, 100 % (44 to 100): add {"a":1,"b":2}
    quick: answer, 3 of 3, 100 % (44 to 100): 3
    """
    if type(repeats) is not int or not 0 < repeats <= _MAX_REPEATS:
        expected = f"a whole number from 1 to {_MAX_REPEATS:,}"
        raise InvalidInput(f"repeats is {excerpt(repeats)}", expected=expected)
    seq = trace.index(step)
    turns = trace.turns
    place = turn_at(turns, seq)
    if place < 0:
        raise InvalidInput(f"step {seq} comes before the first request", advice="name a later step")
    turn = turns[place]
    judge = _Judge(trace, turn.seq, turn.request)
    recorded = Again("the trace", 0, "error", text=trace.error or "")
    if turn.reply is not None:
        recorded = judge.read(turn.reply, "the trace", 0, text=judge.in_text)
    judge.expected = recorded.calls
    asked = models_in(models)
    answers = [
        again for name, model in asked.items() for again in _asked(name, model, turn.request, repeats, judge)
    ]
    return AskedAgain(judge.compared(recorded), [judge.compared(each) for each in answers])


class _Judge:
    """Reads replies to a request, and says what is wrong with their calls."""

    def __init__(self, trace: Trace, seq: int, request: Request) -> None:
        self._tools = _schemas_of(trace, seq, request)
        #: Whether the model of the trace wrote its calls into its text.
        self.in_text = options_of(trace, trace.turns)["calls"] != "native"
        self.expected: tuple[tuple[str, str], ...] = ()

    def read(self, reply: Reply, model: str, repeat: int, text: bool) -> Again:
        """Read what a reply would do."""
        calls = read_calls(reply.message, text=text, tools=self._tools)
        codes = [check_call(call, self._tools).error_code for call in calls]
        wrong = ", ".join(code for code in dict.fromkeys(codes) if code)
        verdict = wrong or (MAY_RUN if calls else "")
        if not reply.is_whole:
            verdict = reply.end
        made = tuple((call.name, call.arguments) for call in calls)
        return Again(
            model, repeat, "other_tools" if made else "answer", made, verdict, text_of(reply.message)
        )

    def compared(self, again: Again) -> Again:
        """Say of calls whether they are those of the trace."""
        if not again.calls:
            return again
        did: Did = "other_tools"
        if sorted(map(_parsed, again.calls)) == sorted(map(_parsed, self.expected)):
            did = "equal"
        elif sorted(name for name, _ in again.calls) == sorted(name for name, _ in self.expected):
            did = "other_arguments"
        return Again(again.model, again.repeat, did, again.calls, again.verdict, again.text)


def _parsed(call: tuple[str, str]) -> tuple[str, str]:
    """Return a call whose arguments are the same text if they are the same JSON."""
    name, arguments = call
    value = json_or(None, arguments or "{}")
    return name, arguments if value is None else canonical(value)


def _schemas_of(trace: Trace, seq: int, request: Request) -> ToolRegistry:
    """Return the tools of the trace as a file has them, without functions; else those of the request."""
    known = tools_of(trace, seq)
    if known:
        made = decode_record(encode_record(known), Messages())
        return made if isinstance(made, ToolRegistry) else known
    functions = [tool.get("function") for tool in request.tools]
    told = [
        {
            "name": each.get("name"),
            "description": each.get("description") or "",
            "parameters": each.get("parameters") or {},
        }
        for each in functions
        if isinstance(each, Mapping)
    ]
    try:
        made = decode_record({"type": "tools", "tools": told}, Messages())
    except InvalidTrace as error:
        what = f"the request has tools that cannot be read: {error}"
        raise InvalidInput(what, expected="tools in OpenAI's form") from None
    return made if isinstance(made, ToolRegistry) else ToolRegistry()


def _asked(name: str, model: Any, request: Request, repeats: int, judge: _Judge) -> Iterator[Again]:
    """Ask one model; whatever goes wrong with it is an answer, too."""
    make = maker_of(model, retries=True)
    case = Case("again", messages=tuple(request.messages) or ({"role": "user", "content": ""},))
    runner = Runner()
    try:
        for repeat in range(repeats):
            try:
                made = make(repeat, case)
                reply = runner.ask(made, request)
                if not isinstance(reply, Reply):
                    raise InvalidInput(f"the model returned {excerpt(reply)}", expected="a Reply")
                told = about(made)
                yield judge.read(reply, name, repeat, judge.in_text or told.calls != "native")
            except Exception as error:
                yield Again(name, repeat, "error", verdict=getattr(error, "code", "failed"), text=said(error))
            else:
                if told.recording is not None:
                    return
    finally:
        runner.close()
