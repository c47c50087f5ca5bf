"""The cases of lab 1: the loop. The model and the tools are here; what they were asked is what is judged."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from zoolab.jsontext import NotStrictJSON, canonical, parse_json
from zoolab_grader import Callback, Lab, Student, Wrong, case

LAB = Lab("l1", "The loop", functions=("run_loop",))

Message = dict[str, Any]

NAMES = ("ping", "disk_usage", "read_log", "list_hosts", "uptime", "find_user", "count_orders", "convert")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty")
ERRORS = (ValueError, KeyError, TypeError, RuntimeError, TimeoutError, OSError, ConnectionError)
MANY, MOST_RUNS = 10, 110
#: The ways to say that a reply has no calls.
NO_CALLS: tuple[Message, ...] = ({}, {"tool_calls": None}, {"tool_calls": []})


@dataclass(slots=True)
class Walk:
    """One conversation of the student's loop, as it was seen from here.

    `outcomes` says what a tool gives, or raises; a tool that is not in it gives another number each time.
    `critical` is the tool that needs a yes, `decisions` what is answered for each host, or raised, in turn.
    If it `may_run`, nobody minds that it runs without a yes; if the loop `may_end`, nobody minds that it ends
    after the first results. The descriptions of the tools say what they are `about`.
    """

    chance: Random
    opening: list[Message]
    replies: list[Message]
    outcomes: dict[str, Any] = field(default_factory=dict)
    critical: str = ""
    decisions: dict[str, list[Any]] = field(default_factory=dict)
    may_run: bool = False
    may_end: bool = False
    about: str = ""
    confirmed: list[str] = field(default_factory=list)
    requests: list[list[Message]] = field(default_factory=list)
    offered: list[Any] = field(default_factory=list)
    executed: list[tuple[str, Any, Any]] = field(default_factory=list)
    returned: Any = None
    given: Any = None

    def play(self, student: Student, names: list[str], limit: int = MANY) -> "Walk":
        """Have the student's loop lead the conversation. If it does not take an answer without the key
        `tool_calls`, which is judged in one case, the answer is written in a way that it takes."""
        decisions = deepcopy(self.decisions)
        try:
            return self.play_as_is(student, names, limit)
        except Wrong:
            final = next((way for way in self._ways_to_end() if _takes(student, way)), self.replies[-1])
            if final == self.replies[-1]:
                raise
        self.replies = [*self.replies[:-1], final]
        self.decisions = decisions
        self.confirmed, self.requests, self.offered, self.executed = [], [], [], []
        return self.play_as_is(student, names, limit)

    def _ways_to_end(self) -> list[Message]:
        last = self.replies[-1]
        return [last] if "tool_calls" in last else [{**last, **nothing} for nothing in NO_CALLS]

    def play_as_is(self, student: Student, names: list[str], limit: int = MANY) -> "Walk":
        """As `play`, with the answer as it is."""
        tools = {
            name: {"schema": _schema(name, self.about), "run": Callback(partial(self._run, name), name)}
            for name in names
        }
        if self.critical:
            tools[self.critical]["confirm"] = Callback(self._confirm, "confirm")
        try:
            model = Callback(self._reply, "model")
            answer = student.call("run_loop", self.opening, tools, model, limit, args_after=True)
        except Wrong as wrong:
            raise self.wrong(wrong.happened) from None
        self.returned, self.given = answer.value, answer.args[:1]
        return self

    def play_to(self, student: Student, names: list[str], limit: int, least: int) -> "Walk":
        """As `play`, for a loop that has to ask `least` times or more, and `limit` times at most."""
        try:
            self.play(student, names, limit)
        except Wrong:
            if len(self.requests) <= limit:
                raise
        if not least <= len(self.requests) <= limit:
            often = "more often than" if len(self.requests) > limit else "less often than"
            raise self.wrong(f"the model was asked {often} `limit` says")
        return self

    def wrong(self, happened: str) -> Wrong:
        """What to raise: with the conversation as far as it went."""
        said = self.replies[len(self.requests) - 1 : len(self.requests)] if self.requests else []
        return Wrong(happened, walk=[*(self.requests or [self.opening])[-1], *said])

    def outcomes_of(self, calls: list[Message]) -> list[Any]:
        """What each call gave; raise `Wrong` unless each ran once, with its own arguments, and no other."""
        left, found = list(self.executed), []
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            ran = next((one for one in left if _same(one[:2], (name, arguments))), None)
            if ran is None:
                known = any(one[0] == name for one in self.executed)
                how = " with the arguments that the model wrote" if known else ""
                raise self.wrong(f"a call that the model asked for did not run{how}")
            left.remove(ran)
            found.append(ran[2])
        if left:
            raise self.wrong("a tool ran more often, or with other arguments, than the model asked for")
        return found

    def results(self) -> list[Message]:
        """What the second request holds beyond the first one and the model's reply."""
        if len(self.requests) == 1 and self.may_end:
            self.requests.append(_messages(self.returned) or [])
        if len(self.requests) < 2:
            raise self.wrong("the model was not asked again after its calls")
        known = set(map(canonical, [*self.opening, *self.requests[0]]))
        new = [message for message in self.requests[1] if canonical(message) not in known]
        return [message for message in new if message.get("role") != "assistant"]

    def check_contents(self, calls: list[Message], outcomes: list[Any], strict: bool = False) -> None:
        """The results say what came of the calls; in their order, if `strict`, else whichever has its id."""
        results = self.results()
        if len(results) != len(calls):
            raise self.wrong(f"{len(calls)} calls were answered with {len(results)} messages")
        ids = [call["id"] for call in calls]
        by_id = {message.get("tool_call_id"): message for message in results}
        if not strict and len(by_id) == len(results) and by_id.keys() == set(ids):
            results = [by_id[each] for each in ids]
        for number, (message, outcome) in enumerate(zip(results, outcomes, strict=True), start=1):
            if not _says(message.get("content"), outcome):
                raise self.wrong(f"result {number} does not hold what call {number} gave")

    def check_finished(self) -> None:
        """The model was asked up to its last reply; what comes back is judged in other cases."""
        if len(self.requests) != len(self.replies):
            raise self.wrong("the model was not asked until it answered")

    def check_end(self, reply: Message) -> list[Message]:
        """What came back is a list of messages that ends with the reply."""
        came = _messages(self.returned)
        if came is None:
            raise self.wrong("what `run_loop` returned is not a list of messages")
        if not came or not _is_reply(came[-1], reply):
            raise self.wrong("the messages that came back do not end with the model's answer")
        return came

    def check_all(self, names: list[str], limit: int) -> None:
        """Each request, each run and what came back are what the rules say; these tools exist."""
        expected: list[Callable[[Message], bool]] = [partial(_same, message) for message in self.opening]
        needed, last = list[str](), list[str]()
        if len(self.requests) != min(limit, len(self.replies)):
            raise self.wrong("the model was asked more often, or less often, than the rules say")
        for number, (request, reply) in enumerate(zip(self.requests, self.replies, strict=False), start=1):
            self._check_messages(request, expected)
            needed, last = needed + last, []
            expected.append(partial(_is_reply, reply=reply))
            for call in reply.get("tool_calls") or ():
                runs, due = self._due(call, names)
                last += [canonical([call["function"]["name"], _arguments(call)])] * runs
                expected.append(partial(_answers, call, due if number < limit else ...))
        self._check_messages(self.returned, expected)
        if sorted(canonical(one[:2]) for one in self.executed) not in (sorted(needed), sorted(needed + last)):
            raise self.wrong("other calls ran than the rules say")

    def _check_messages(self, came: Any, expected: list[Callable[[Message], bool]]) -> None:
        listed = _messages(came) or []
        if len(listed) != len(expected) or not all(
            fits(message) for fits, message in zip(expected, listed, strict=True)
        ):
            raise self.wrong("a request, or what came back, is not what the rules say")

    def _due(self, call: Message, names: list[str]) -> tuple[bool, Any]:
        """Whether a call runs, and what comes of it."""
        name = call["function"]["name"]
        if name not in names:
            return False, KeyError(name)
        if _arguments(call) is None:
            return False, ValueError("")
        if name == self.critical and self.decisions[_host(call)][0] is not True:
            return False, PermissionError("")
        return True, self.outcomes[name]

    def _reply(self, messages: Any, schemas: Any = None, tools: Any = None) -> Message:
        if _messages(messages) is None:
            raise TypeError("the model takes a list of messages, each a dict")
        if len(self.requests) <= len(self.replies):
            self.requests.append(messages)
            self.offered.append(tools if schemas is None else schemas)
        if len(self.requests) > len(self.replies):
            raise RuntimeError("the model was asked again after its last reply")
        return self.replies[len(self.requests) - 1]

    def _confirm(self, /, *args: Any, **arguments: Any) -> Any:
        if args:
            raise TypeError("confirm takes the call's arguments by name: confirm(**arguments)")
        answers = self.decisions.get(str(arguments.get("host"))) or [False]
        decision = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(decision, Exception):
            raise decision
        if decision is True:
            self.confirmed.append(canonical(arguments))
        return decision

    def _run(self, tool: str, /, *args: Any, **arguments: Any) -> Any:
        if args:
            raise TypeError(f"{tool} takes its arguments by name: run(**arguments)")
        if tool == self.critical and not self.may_run:
            if canonical(arguments) not in self.confirmed:
                raise self.wrong("a critical call ran that nobody had said yes to")
            self.confirmed.remove(canonical(arguments))
        if len(self.executed) == MOST_RUNS:
            raise RuntimeError(f"tools ran more than {MOST_RUNS} times")
        outcome = self.outcomes.get(tool, self.chance.randrange(10**3, 10**6))
        self.executed.append((tool, arguments, outcome))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def _schema(name: str, about: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"host": {"type": "string"}, "depth": {"type": "integer"}}}
    words = f"{name.replace('_', ' ')} {about}"
    return {"type": "function", "function": {"name": name, "description": words, "parameters": parameters}}


def _call(chance: Random, name: str, arguments: str | None = None) -> Message:
    host = f"{chance.choice(WORDS)}-{chance.randrange(10**4)}"
    written = json.dumps({"host": host, "depth": chance.randrange(100)}) if arguments is None else arguments
    function = {"name": name, "arguments": written}
    return {"id": f"{chance.getrandbits(40):x}", "type": "function", "function": function}


def _asks(*calls: Message, text: str | None = None) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def _final(chance: Random) -> Message:
    return {"role": "assistant", "content": f"It is {chance.choice(WORDS)} {chance.randrange(10**4)}."}


def _question(chance: Random) -> list[Message]:
    return [
        {"role": "system", "content": f"You look after {chance.choice(WORDS)}."},
        {"role": "user", "content": f"How is {chance.choice(WORDS)} {chance.randrange(100)}?"},
    ]


def _takes(student: Student, answer: Message) -> bool:
    """Whether the student's loop ends with this answer."""
    walk = Walk(Random(0), _question(Random(0)), [answer])
    with suppress(Wrong):
        walk.play_as_is(student, [])
        return len(walk.requests) == 1
    return False


def _one_call(student: Student, chance: Random, text: str | None = None, at: int = 0) -> Walk:
    """A conversation with one call of the tool `at` this place, which ran once as the model asked for it."""
    names = chance.sample(NAMES, 3)
    replies = [_asks(_call(chance, names[at]), text=text), _final(chance)]
    walk = Walk(chance, _question(chance), replies).play(student, names)
    walk.outcomes_of(replies[0]["tool_calls"])
    return walk


def _alone(
    student: Student, chance: Random, call: Message, names: list[str], outcome: Any, **more: Any
) -> Walk:
    """A conversation with this call only: an exception as `outcome` says that it must not run."""
    walk = Walk(chance, _question(chance), [_asks(call), _final(chance)], **more).play(student, names)
    ran = walk.outcomes_of([] if isinstance(outcome, Exception) else [call])
    walk.check_contents([call], ran or [outcome])
    walk.check_finished()
    return walk


def _waits_for_a_yes(student: Student, chance: Random) -> bool:
    """Whether critical calls wait for a yes at all; if not, the two cases about that are enough."""
    name = chance.choice(NAMES)
    replies = [_asks(_call(chance, name)), _final(chance)]
    walk = Walk(chance, _question(chance), replies, critical=name, may_run=True)
    with suppress(Wrong):
        walk.play(student, [name])
    return not walk.executed


def _decided(student: Student, chance: Random, decision: Any, may_end: bool = False) -> None:
    """A conversation with one call of a critical tool, and what `confirm` says to it."""
    critical, other = chance.sample(NAMES, 2)
    call = _call(chance, critical)
    outcome = None if decision is True else PermissionError("")
    more = {"critical": critical, "decisions": {_host(call): [decision]}, "may_end": may_end}
    _alone(student, chance, call, [critical, other], outcome, **more)


def _host(call: Message) -> str:
    return str(json.loads(call["function"]["arguments"])["host"])


def _messages(value: Any) -> list[Message] | None:
    fits = isinstance(value, list) and all(isinstance(message, dict) for message in value)
    return value if fits else None


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON: true is not 1."""
    return canonical(a) == canonical(b)


def _is_reply(message: Message, reply: Message) -> bool:
    """Further keys do no harm; a `tool_calls` of nothing may be left out."""
    whole = {"tool_calls": [], **message}, {"tool_calls": [], **reply}
    came, wanted = ({**one, "tool_calls": one["tool_calls"] or []} for one in whole)
    return _same({key: came.get(key) for key in wanted}, wanted)


def _answers(call: Message, outcome: Any, message: Message) -> bool:
    """Whether a message is the result of a call; `...` stands for any outcome."""
    if message.get("role") != "tool" or message.get("tool_call_id") != call["id"]:
        return False
    return isinstance(message.get("content"), str) and _says(message["content"], outcome)


def _says(content: Any, outcome: Any) -> bool:
    """Whether a content is what a call gave; that it has to be text is judged in cases of its own."""
    if not isinstance(content, str):
        return not isinstance(outcome, Exception) and outcome is not ... and _same(content, outcome)
    if outcome is ...:
        return True
    if isinstance(outcome, Exception):
        said = str(outcome.args[-1] if outcome.args else "")
        written = said, json.dumps(said)[1:-1], repr(said)[1:-1]
        return "error" in content.lower() and any(each in content for each in written)
    if isinstance(outcome, str):
        return content == outcome
    try:
        return _same(parse_json(content), outcome)
    except NotStrictJSON:
        return False


@case(points=1, hint="Send the messages to the model and look at what comes back.", public=True)
def answers_without_tools(student: Student, chance: Random) -> None:
    """A reply without calls is the answer: the model is asked once, and the messages come back with the
    answer at their end."""
    question = _question(chance)
    for opening in (question, question[1:]):
        walk = Walk(chance, opening, [_final(chance)]).play(student, [])
        came = walk.check_end(walk.replies[0])
        if len(walk.requests) != 1 or not _same(walk.requests[0], walk.opening):
            raise walk.wrong("the model was not asked once with the messages as they were given")
        if not _same(came[:-1], walk.opening):
            raise walk.wrong("the messages before the answer are not those that were given")


@case(
    points=2, hint="`arguments` is text: parse it, then `run(**arguments)`; ask the model again.", public=True
)
def runs_the_call(student: Student, chance: Random) -> None:
    """A call runs once, with its own arguments; then the model is asked again, until it answers."""
    for at in range(3):
        _one_call(student, chance, at=at).check_finished()


@case(points=2, hint="Role `tool`, the `id` of the call as `tool_call_id`, and the result.", public=True)
def answers_the_call(student: Student, chance: Random) -> None:
    """The result goes to the model as a message with role `tool` and the id of its call."""
    walk = _one_call(student, chance)
    walk.check_contents(walk.replies[0]["tool_calls"], [outcome for _, _, outcome in walk.executed])
    (message,) = walk.results()
    if message.get("role") != "tool":
        raise walk.wrong(f"the result went back with role {str(message.get('role'))[:40]!r}")
    if message.get("tool_call_id") != walk.replies[0]["tool_calls"][0]["id"]:
        raise walk.wrong("the result does not carry the id of its call")


@case(
    points=2,
    hint="Append the reply itself, before the results; leave its `arguments` text, and its other keys.",
    public=True,
)
def keeps_the_reply(student: Student, chance: Random) -> None:
    """The reply with the calls stands in the next request just as it came, before the results."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    call = _call(chance, name, f' {{"host":"{word}\\u00e9" ,\n"depth" : 1.50 }}')
    reply = {
        **_asks({**call, "index": 0, "function": {**call["function"], "parsed": None}}),
        "refusal": None,
        "reasoning": f"It may be {word}.",
        "finish_reason": "stop",
    }
    walk = Walk(chance, _question(chance), [reply, _final(chance)]).play(student, [name])
    walk.results()
    came = walk.requests[1][len(walk.opening) :][:1]
    if not came or not _is_reply(came[0], reply) or reply.keys() - came[0].keys():
        raise walk.wrong("the next request does not have the reply, as it came, after the earlier messages")


@case(
    points=2,
    hint="Go through all of `tool_calls`, in their order; equal ones too, and after an error.",
    public=True,
)
def several_calls(student: Student, chance: Random) -> None:
    """Every call of a reply runs once, and the results follow in the order of the calls."""
    first, second, bad, critical = names = chance.sample(NAMES, 4)
    calls = [_call(chance, name) for name in (first, second, second, first) * 12]
    calls.append({**calls[1], "id": _call(chance, second)["id"]})
    # Equal calls that run side by side give the same.
    gives = {second: chance.randrange(10**6), bad: ValueError(f"no {chance.choice(WORDS)}")}
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)], gives).play(student, names)
    walk.check_contents(calls, walk.outcomes_of(calls), strict=True)
    walk.check_finished()
    for name in (bad, critical):
        calls = [_call(chance, name), _call(chance, second)]
        replies = [_asks(*calls), _final(chance)]
        walk = Walk(chance, _question(chance), replies, gives, critical, may_run=True)
        with suppress(Wrong):  # that an exception, or a no, ends the whole loop is judged below
            walk.play(student, names)
        if len(walk.requests) > 1:
            walk.executed = [ran for ran in walk.executed if ran[0] != critical]
            walk.outcomes_of(calls if name == bad else calls[1:])


@case(points=2, hint="Count requests, not calls. Answer the last calls, then return.", public=True)
def stops_at_the_limit(student: Student, chance: Random) -> None:
    """The model is asked at most `limit` times; then the messages come back with the last reply and a result
    for each of its calls."""
    name, whole = chance.choice(NAMES), True
    for limit in (3, 1, 102):
        walk = Walk(chance, _question(chance), [_asks(_call(chance, name)) for _ in range(limit + 5)])
        walk.play_to(student, [name], limit, min(limit, 2))  # whether all of them are used is judged below
        if not _messages(walk.returned):
            raise walk.wrong("what `run_loop` returned is not a list of messages")
        *_, reply, result = [{}, {}, *walk.returned]
        if len(walk.requests) == limit and (not reply.get("tool_calls") or result.get("role") == "assistant"):
            raise walk.wrong("what came back does not end with the last reply and a result for its call")
        lost = len(walk.returned) < len(walk.opening) + 2 * len(walk.requests)
        if limit == 102 and lost and whole:
            raise walk.wrong("after many turns, not all messages came back")
        whole = not lost  # that all of a few messages come back is asked elsewhere


@case(points=1, hint="`limit` is the only limit: none of your own, and its last request counts.")
def uses_the_whole_limit(student: Student, chance: Random) -> None:
    """The model may be asked `limit` times, however many that are, however many calls its replies have, and
    if it asks for the same again and again: an answer in the last of them is the answer."""
    name = chance.choice(NAMES)
    again = {**_call(chance, name, "{}"), "id": "0"}  # short, since each request has all of them
    for limit, asks in (
        (2, [_asks(_call(chance, name), _call(chance, name))]),
        (102, [_asks(again)] * 101),
    ):
        walk = Walk(chance, _question(chance)[1:], [*asks, _final(chance)], {name: "up"})
        walk.play_to(student, [name], limit, limit)


@case(
    points=1,
    hint="The calls of the last reply are calls like others: one result each, and no yes is assumed.",
)
def last_calls_are_answered(student: Student, chance: Random) -> None:
    """At the limit each call of the last reply has a result, which is text; if the calls run, the rules hold:
    a critical one needs its yes, and an exception is a result."""
    plain, failing, critical, unknown = chance.sample(NAMES, 4)
    gives = {plain: "up", failing: ValueError("it failed")}
    may_run = not _waits_for_a_yes(student, chance)
    for name in (plain, failing, critical, unknown):  # one call a reply: that all of them run is judged above
        call = _call(chance, name)
        replies = [_asks(call), _final(chance)]  # that the second is not asked for is judged above
        said = {_host(call): [False]}
        walk = Walk(chance, _question(chance), replies, gives, critical, said, may_run)
        walk.play(student, [plain, failing, critical], 1)
        came = (_messages(walk.returned) or [])[len(walk.opening) :]
        results = [message for message in came if message.get("role") != "assistant"]
        if len(results) != 1 or not isinstance(results[0].get("content"), str):
            raise walk.wrong("the last call did not get one result, which is text")
        if name == plain and walk.executed and "up" not in results[0]["content"]:
            raise walk.wrong("the last call ran, and its result does not hold what it gave")


@case(points=1, hint="Each request holds all that was said before. Compare `messages` turn by turn.")
def goes_on(student: Student, chance: Random) -> None:
    """A conversation of several turns grows, however long it is: each request is the one before, the reply,
    and its results. A call that comes again runs again, however often."""
    name = chance.choice(NAMES)
    asks = [_asks(_call(chance, name)) for _ in range(3)]
    asks += [_asks({**asks[0]["tool_calls"][0], "id": _call(chance, name)["id"]}) for _ in range(5)]
    before = [*_question(chance), _asks(_call(chance, name))]
    old = {"role": "tool", "tool_call_id": before[-1]["tool_calls"][0]["id"], "content": "17"}
    talk = [message for _ in range(60) for message in (_question(chance)[1], _final(chance))]
    last = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "And now?"}]
    opening = [*before, old, _final(chance), *talk, *last]
    walk = Walk(chance, opening, [*asks, _final(chance)]).play(student, [name])
    outcomes = walk.outcomes_of([reply["tool_calls"][0] for reply in asks])
    if len(walk.requests) != len(walk.replies) or not _same(walk.requests[0], opening):
        raise walk.wrong("the model was not asked once for each of its replies, the given messages first")
    for outcome, one, following in zip(outcomes, walk.requests, walk.requests[1:], strict=False):
        new = following[len(one) :]
        if not _same(following[: len(one)], one):
            raise walk.wrong("earlier messages were lost or changed")
        if not new or len(new) > 2 or not _says(new[-1].get("content"), outcome):
            raise walk.wrong("a request is not the one before with the reply and its result")
    if not _same(walk.check_end(walk.replies[-1])[:-1], walk.requests[-1]):
        raise walk.wrong("the messages that came back are not all that was said")
    again = Walk(chance, opening, walk.replies).play(student, [name])  # nothing is left of the first time
    again.outcomes_of([reply["tool_calls"][0] for reply in asks])


@case(points=3, hint="Catch `Exception` around each call, and let the model read its message.", public=True)
def errors_go_back(student: Student, chance: Random) -> None:
    """A tool that raises has a result too: it says `error` and the exception's message, and the conversation
    goes on."""
    name = chance.choice(NAMES)
    said = f"no {chance.choice(WORDS).upper()} {chance.randrange(10**4)} é here"
    # `Warning` is a name without "error", one says nothing, and one is "[Errno 5] no AMBER 7 é here".
    for error in (
        *(kind(said) for kind in (*ERRORS, Warning)),
        ValueError(),
        ValueError('no {"host": 1}'),
        OSError(5, said),
    ):
        call = _call(chance, name)
        walk = Walk(chance, _question(chance), [_asks(call), _final(chance)], {name: error})
        walk.play(student, [name]).check_contents([call], walk.outcomes_of([call]))
        walk.check_finished()


@case(points=2, hint="If the tool has `confirm`, ask it for each call, right before `run`.", public=True)
def critical_calls_are_confirmed(student: Student, chance: Random) -> None:
    """A tool with `confirm` runs a call only if `confirm(**arguments)` returned `True` for it before. Else it
    does not run, and its result says `error`."""
    for decision in (True, False):
        _decided(student, chance, decision)


@case(points=1, hint="Ask for `True` and nothing less; a `confirm` that raises has not said yes.")
def only_true_is_a_yes(student: Student, chance: Random) -> None:
    """Whatever else `confirm` returns is a no, and so is an exception of its own."""
    noes = [None, 0, 1, 1.0, "", "no", "yes", "True", "true", [], [True], {}, {"confirmed": True}]
    for decision in (*noes, *(kind("nobody is there") for kind in ERRORS), True):
        _decided(student, chance, decision, may_end=True)  # that it goes on is judged above


@case(
    points=1, hint="Ask `confirm` anew for every call: a yes or a no is for one call, and not for equal ones."
)
def each_call_has_its_own_yes(student: Student, chance: Random) -> None:
    """What a person said holds for one call only: not for the others of the reply, nor for the same call in a
    later reply. A no stops no other call."""
    name = chance.choice(NAMES)
    if not _waits_for_a_yes(student, chance):
        _one_call(student, chance)
        return
    try:
        _decided(student, chance, True)
    except Wrong:  # no yes runs anything: this is judged above
        _one_call(student, chance)
        return
    noes: list[Any] = [False, TimeoutError("nobody is there")]
    try:
        _decided(student, chance, noes[1])
    except Wrong:  # an exception is no no: this is judged above
        noes[1] = False
    for first, said_no in zip((True, False), noes, strict=True):
        yes, no, again = (_call(chance, name) for _ in range(3))
        # A loop that runs only the first call of a reply loses its points elsewhere: here it does not matter.
        replies = [_asks(yes, no), _asks(again), _asks(again), _final(chance)]
        decisions = {_host(yes): [True], _host(no): [said_no], _host(again): [first, not first]}
        walk = Walk(chance, _question(chance), replies, critical=name, decisions=decisions)
        walk.play(student, [name])
        early = len(walk.requests) < len(
            replies
        )  # a loop that gives up early loses its points elsewhere, too
        walk.executed = [ran for ran in walk.executed if not early or ran[1].get("host") != _host(again)]
        walk.outcomes_of([yes] if early else [yes, again])
    no, yes, twice = (_call(chance, name) for _ in range(3))
    decisions = {_host(no): [False], _host(yes): [True], _host(twice): [True, False]}
    other = next(each for each in NAMES if each != name)
    between = _call(chance, other)  # that it runs after a no is judged above
    for calls, ran in (([no, between, yes], yes), ([twice, {**twice, "id": yes["id"]}], twice)):
        replies = [_asks(*calls), _final(chance)]
        walk = Walk(chance, _question(chance), replies, critical=name, decisions=decisions)
        walk.play(student, [name, other])
        if len(walk.requests) > 1 and len(walk.results()) == len(calls):
            walk.executed = [run for run in walk.executed if run[0] == name]
            walk.outcomes_of([ran])


@case(points=1, hint="Look up the name as it is; the model should read which name was wrong.")
def unknown_tool(student: Student, chance: Random) -> None:
    """A call of a tool that does not exist runs nothing; its result says `error` and the name."""
    good, invented = chance.sample([name for name in NAMES if len(name) > 7], 2)
    for name, names in (
        (invented, [good]),
        (good.upper(), [good]),
        (f"{good}()", [good]),
        (good[:-1], [good]),
        (good.replace("_", "-"), [good]),
        (f"functions.{good}", [good]),
        (f" {good} ", [good]),
        (invented, []),
    ):
        _alone(student, chance, _call(chance, name), names, KeyError(name), may_end=True)


@case(points=2, hint="Parse first. What is not one JSON object, blank text for one, never becomes `{}`.")
def broken_arguments(student: Student, chance: Random) -> None:
    """Arguments that are not one JSON object run nothing, and blank text is none: the result says `error`."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    right = json.dumps({"host": word})
    broken = [
        right[:-1],
        right[:-2],
        right[:-1] + ",}",
        right[:-2] + '\n"}',
        right * 2,
        right + "}",
        right + ";",
        f"\ufeff{right}",
        f"{right}\u00a0",
        f"{right} please",
        f"Here: {right}",
        f"```json\n{right}\n```",
        f"host={word}",
        "{'host': 1}",
    ]
    other = [json.dumps(right), f"[{right}]", f'["{word}", 1]', f'[["host", "{word}"]]', f'"{word}"']
    for arguments in (*broken, *other, "null", "true", "0", "7", "[]", '""', "", " \n"):
        _alone(student, chance, _call(chance, name, arguments), [name], ValueError(""), may_end=True)


@case(
    points=1,
    hint="Any dict goes to `run(**arguments)` as it is: `{}`, null, a key `name`. Test for dict, not truth.",
)
def any_object_is_taken(student: Student, chance: Random) -> None:
    """Any JSON object is fine as arguments: `{}`, one with null inside, with any names, with a key that comes
    twice. The tool runs, with its values as they are."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    inner = {"hosts": [word, {"host": None, "up": False}], "up": True, "depth": 0.5, "host": f"  {word} é\n"}
    inner |= {"body": '{"a": 1}', "list": "[1]", "id": 12345678901234567}
    # What a student's own functions may call their parameters, and what Python cannot write before a `=`.
    own = (
        "name id self tool tools run confirm func function fn f call args arguments kwargs key Host a-b class"
    )
    names = json.dumps({**dict.fromkeys(own.split(), 2.0), "": word})
    odd = ("{}", " { }\n", '{"host": null}', '{"host": ""}', '{"host": "a", "host": "007"}', names)
    for arguments in (*odd, json.dumps(inner)):
        _alone(student, chance, _call(chance, name, arguments), [name], None)
    try:
        _decided(student, chance, True)
    except Wrong:
        return  # no yes runs anything: this is judged above
    for arguments in ("{}", names):
        more: dict[str, Any] = {"critical": name, "decisions": {"None": [True]}}
        _alone(student, chance, _call(chance, name, arguments), [name], None, **more)


@case(points=1, hint="What decides is `tool_calls`, not `content`. Append the reply once, with its text.")
def text_beside_calls(student: Student, chance: Random) -> None:
    """A reply may hold text and calls: its calls run, and the text is kept."""
    walk = _one_call(
        student, chance, text=f"Final answer? DONE? First let me look at {chance.choice(WORDS)}."
    )
    walk.results()
    text = walk.replies[0]["content"]
    if [message.get("content") for message in walk.requests[1]].count(text) != 1:
        raise walk.wrong("the text of the reply is not in the next request, or more than once")


@case(points=1, hint="Endpoints write 'no calls' in three ways: no key, null, an empty list.")
def no_calls_either_way(student: Student, chance: Random) -> None:
    """A reply whose `tool_calls` is missing, null or an empty list is an answer, after a call as well, and
    even if it has no text."""
    name = chance.choice(NAMES)
    usual = _final(chance)
    walk = Walk(chance, _question(chance), [usual]).play(student, [])
    returned = _is_reply([{}, *(_messages(walk.returned) or [])][-1], usual)  # else this is judged above
    for nothing in NO_CALLS:
        final = {**_final(chance), **nothing}
        replies = [_asks(_call(chance, name)), final]
        walk = Walk(chance, _question(chance), replies).play_as_is(student, [name])
        walk.outcomes_of(replies[0]["tool_calls"])
        walk.check_finished()
        for more in (
            {"content": "Which one?", "reasoning": "This is not clear."},
            {"content": None},
            {"content": ""},
        ):
            reply = {**final, **more}
            walk = Walk(chance, _question(chance), [reply]).play_as_is(student, [])
            walk.check_finished()
            if returned:
                walk.check_end(reply)


@case(points=1, hint="Do not file results under ids: go by the order of the calls.")
def same_ids(student: Student, chance: Random) -> None:
    """Ids are the model's and may repeat, in one reply and in a later one, also for equal calls: each is a
    call of its own."""
    name = chance.choice(NAMES)
    for equal in (False, True):
        _play_with_ids(student, chance, name, _call(chance, name) if equal else None)
    old, call = ({**_call(chance, name), "id": "call_0"} for _ in range(2))
    answered = [_asks(old), {"role": "tool", "tool_call_id": "call_0", "content": "17"}, _final(chance)]
    opening = [*_question(chance), *answered, _question(chance)[1]]
    walk = Walk(chance, opening, [_asks(call), _final(chance)]).play(student, [name])
    walk.check_contents([call], walk.outcomes_of([call]))


def _play_with_ids(student: Student, chance: Random, name: str, each: Message | None) -> None:
    """Conversations whose ids differ, and are equal; `each` is what all calls ask for, if they are equal."""
    ran = list[list[int]]()
    for ids in (("call_0", "call_1", "call_2"), ("call_0", "call_0", "call_0")):
        calls = [{**(each or _call(chance, name)), "id": id} for id in ids]
        replies = [_asks(*calls[:2]), _asks(calls[2]), _final(chance)]
        walk = Walk(chance, _question(chance), replies).play(student, [name])
        asked = [json.loads(call["function"]["arguments"]) for call in calls]
        ran.append(sorted(asked.index(arguments) for _, arguments, _ in walk.executed if arguments in asked))
        walk.results()
        if not ran[-1] or len(ran[-1]) < len(walk.executed):
            raise walk.wrong("other calls ran than those that the model asked for")
    if ran[0] != ran[1]:
        raise walk.wrong("with equal ids other calls ran than with ids that differ")
    if not each and len(ran[0]) == len(calls):  # else calls are forgotten, whatever their ids
        outcomes = walk.outcomes_of(calls)
        walk.check_contents(calls[:2], outcomes[:2])
        if len(walk.requests) != 3 or not _says(walk.requests[2][-1].get("content"), outcomes[2]):
            raise walk.wrong("the later call with the same id was not answered with what it gave")


@case(points=1, hint="Work on a list of your own: `messages = list(messages)`.")
def callers_list_stays(student: Student, chance: Random) -> None:
    """The list that the caller gave is afterwards as it was before."""
    answered = Walk(chance, _question(chance), [_final(chance)]).play(student, [])
    for walk in (_one_call(student, chance), answered):
        walk.check_finished()
        if not _same(walk.given, [walk.opening]):
            raise walk.wrong("the caller's own list of messages was changed")


@case(points=1, hint="`model(messages, [tool['schema'] for tool in tools.values()])`, every time.")
def offers_the_tools(student: Student, chance: Random) -> None:
    """Every request offers the schemas of all tools, critical ones too, in a list, whatever was refused or
    failed before; it is empty if there are no tools."""
    drawn = chance.sample(NAMES, len(NAMES))
    many = [*drawn, *(f"{drawn[0]}_{number}" for number in range(100))]
    for names, critical, about in ((drawn, drawn[1], "here"), (many, drawn[1], "there"), ([], "", "")):
        asks = [_asks(_call(chance, name)) for name in drawn[:3] if names]  # unknown tools are judged above
        replies = [*asks, _final(chance)]
        walk = Walk(chance, _question(chance), replies, {drawn[2]: ValueError("it failed")}, critical)
        walk.about = about
        with suppress(Wrong):  # what a refusal or an error does to the conversation is judged above
            walk.play(student, names, len(replies))
        if len(walk.requests) < min(2, len(replies)):
            raise walk.wrong("the model was not asked, or not asked again after its calls")
        wanted = sorted(canonical(_schema(name, about)) for name in names)
        for tools in walk.offered:
            if not isinstance(tools, list) or sorted(map(canonical, tools)) != wanted:
                raise walk.wrong("a request did not offer the list of all schemas")


@case(points=1, hint="`value if isinstance(value, str) else json.dumps(value)`.")
def results_are_text(student: Student, chance: Random) -> None:
    """The content of a result is text: a string as it is, any other value as JSON."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    values: list[Any] = [{"host": word, "up": True, "load": None}, [word, 0.5], None, True, False, 0, [], {}]
    values += [{"error": word}, [3, 1, 2], [word, "up"], {"result": [word]}, word]
    values += ['{"as":"it is",  "b": 1.50}', "", "error: 0 tests failed"]
    for value in values:
        walk = _alone(student, chance, _call(chance, name), [name], None, outcomes={name: value})
        if not isinstance(walk.results()[0].get("content"), str):
            raise walk.wrong("the content of the result is not text")


@case(points=1, hint="Do not shorten, strip or reformat what a tool gave or said.")
def results_are_whole(student: Student, chance: Random) -> None:
    """A result is all that the tool gave, or the exception's message: nothing is cut off, whatever its
    length, and no space or line break is lost."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    text = f"  {word}  é e\u0301\r\n\n" + f"{word} is up, {chance.randrange(10**6)}\n" * 8_000
    for value in (text, {"log": text.split("\n")}):
        _alone(student, chance, _call(chance, name), [name], None, outcomes={name: value})
    for said in ("it is down", f"{word}\n" * 500 + "is down"):
        call = _call(chance, name)
        replies, error = [_asks(call), _final(chance)], ValueError(said)
        try:
            walk = Walk(chance, _question(chance), replies, {name: error}).play(student, [name])
            walk.check_contents([call], walk.outcomes_of([call]))
        except Wrong:
            if "\n" in said:
                raise
            return  # no message comes back at all: this is judged above


@case(points=1, hint="Go through the rules one by one: with two calls, in a second turn, at a small limit.")
def whatever_the_conversation(student: Student, chance: Random) -> None:
    """Whatever the model asks for and whatever the tools do, all rules hold at once."""
    shapes = Random("l3")  # any seed, the same for all: equal work, equal points
    values = [7, "up", "", None, [1], {"a": "é"}, True, ValueError("it is down"), OSError("it is gone")]
    for _ in range(30):
        names = shapes.sample(NAMES, 4)  # the last one does not exist
        gives = {name: shapes.choice(values) for name in names[:3]}
        replies = [_asks(*_drawn_calls(shapes, chance, names)) for _ in range(shapes.randrange(4))]
        asked = [call for reply in replies for call in reply["tool_calls"] if _arguments(call) is not None]
        said = {_host(call): [shapes.choice([True, True, False, 1])] for call in asked}
        walk = Walk(chance, _question(chance), [*replies, _final(chance)], gives, names[0], said)
        limit = shapes.choice([1, 2, 3, 9])
        walk.play(student, names[:3], limit).check_all(names[:3], limit)
    name = chance.choice(NAMES)
    fails = [_asks(_call(chance, name)) for _ in range(6)]  # no number of errors ends a conversation
    walk = Walk(chance, _question(chance), [*fails, _final(chance)], {name: ValueError("it is down")})
    walk.play(student, [name], 9).check_all([name], 9)
    many = _asks(*(_call(chance, name) for _ in range(102)))
    walk = Walk(chance, _question(chance), [many, _final(chance)], {name: "up"})
    walk.play(student, [name], 9).check_all([name], 9)


def _drawn_calls(shapes: Random, chance: Random, names: list[str]) -> Iterator[Message]:
    for name in shapes.choices(names, k=shapes.randrange(1, 4)):
        written = shapes.choice([None, None, None, "[]", "", '{"host": ']) if name != names[-1] else None
        yield {**_call(chance, name, written), "id": ("", "call_1", "call_2")[shapes.randrange(3)]}


def _arguments(call: Message) -> Any:
    try:
        arguments = parse_json(call["function"]["arguments"])
    except NotStrictJSON:
        return None
    return arguments if isinstance(arguments, dict) else None
