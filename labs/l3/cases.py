"""The cases of lab 3: the loop. The model and the tools are here; what they were asked is what is judged."""

import json
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from zoolab.grading import Callback, Lab, Student, Wrong, case
from zoolab.jsontext import NotStrictJSON, canonical, parse_json

LAB = Lab("l3", "The loop", functions=("run_loop",))

Message = dict[str, Any]

NAMES = ("ping", "disk_usage", "read_log", "list_hosts", "uptime", "find_user", "count_orders", "convert")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty")
ERRORS = (ValueError, KeyError, RuntimeError, TimeoutError, OSError)
MANY, MOST_RUNS = 10, 100


@dataclass(slots=True)
class Walk:
    """One conversation of the student's loop, as it was seen from here.

    `outcomes` says what a tool gives, or raises; a tool that is not in it gives another number each time.
    `critical` is the tool that needs a yes, `decisions` what is answered for each host, or raised.
    """

    chance: Random
    opening: list[Message]
    replies: list[Message]
    outcomes: dict[str, Any] = field(default_factory=dict)
    critical: str = ""
    decisions: dict[str, Any] = field(default_factory=dict)
    confirmed: list[str] = field(default_factory=list)
    requests: list[list[Message]] = field(default_factory=list)
    offered: list[Any] = field(default_factory=list)
    executed: list[tuple[str, Any, Any]] = field(default_factory=list)
    returned: Any = None
    given: Any = None

    def play(self, student: Student, names: list[str], limit: int = MANY) -> "Walk":
        """Have the student's loop lead the conversation."""
        tools = {
            name: {"schema": _schema(name), "run": Callback(partial(self._run, name), name)} for name in names
        }
        if self.critical:
            tools[self.critical]["confirm"] = Callback(self._confirm, "confirm")
        try:
            answer = student.call("run_loop", self.opening, tools, Callback(self._reply, "model"), limit)
        except Wrong as wrong:
            raise self.wrong(wrong.happened) from None
        self.returned, self.given = answer.value, answer.args[:1]
        return self

    def wrong(self, happened: str) -> Wrong:
        """What to raise: with the conversation as far as it went."""
        said = self.replies[len(self.requests) - 1 : len(self.requests)] if self.requests else []
        return Wrong(happened, walk=[*(self.requests or [self.opening])[-1], *said])

    def outcomes_of(self, calls: list[Message]) -> list[Any]:
        """What each call gave; raise `Wrong` unless each ran once, with its own arguments, and no other."""
        left, found = list(self.executed), []
        for call in calls:
            name, arguments = call["function"]["name"], parse_json(call["function"]["arguments"])
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
        if len(self.requests) < 2:
            raise self.wrong("the model was not asked again after its calls")
        new = self.requests[1][len(self.opening) :]
        return [message for message in new if message.get("role") != "assistant"]

    def check_contents(self, outcomes: list[Any]) -> None:
        """The results say in order what came of the calls."""
        results = self.results()
        if len(results) != len(outcomes):
            raise self.wrong(f"{len(outcomes)} calls were answered with {len(results)} messages")
        for number, (message, outcome) in enumerate(zip(results, outcomes, strict=True), start=1):
            if not _says(message.get("content"), outcome):
                raise self.wrong(f"result {number} does not hold what call {number} gave")

    def check_turn(self, before: list[Message], reply: Message, after: list[Message]) -> None:
        """`after` is `before`, the reply as it came, and a result with role and id for each call."""
        calls = reply.get("tool_calls") or []
        if not _same(after[: len(before)], before):
            raise self.wrong("earlier messages were lost or changed")
        new = after[len(before) :]
        if not new or not _is_reply(new[0], reply):
            raise self.wrong("the model's reply does not follow as it came")
        keys = [(message.get("role"), message.get("tool_call_id")) for message in new[1:]]
        if not _same(keys, [("tool", call["id"]) for call in calls]):
            raise self.wrong(
                "the calls of a reply are not followed by one `tool` message each, in their order"
            )

    def check_end(self, reply: Message) -> list[Message]:
        """What came back is a list of messages that ends with the reply."""
        came = _messages(self.returned)
        if came is None:
            raise self.wrong("what `run_loop` returned is not a list of messages")
        if not came or not _is_reply(came[-1], reply):
            raise self.wrong("the messages that came back do not end with the model's answer")
        return came

    def _reply(self, messages: Any, schemas: Any = (), tools: Any = ()) -> Message:
        if _messages(messages) is None:
            raise TypeError("the model takes a list of messages, each a dict")
        if len(self.requests) <= len(self.replies):
            self.requests.append(messages)
            self.offered.append(schemas or tools)
        if len(self.requests) > len(self.replies):
            raise RuntimeError("the model was asked again after its last reply")
        return self.replies[len(self.requests) - 1]

    def _confirm(self, *args: Any, **arguments: Any) -> Any:
        if args:
            raise TypeError("confirm takes the call's arguments by name: confirm(**arguments)")
        host = str(arguments.get("host"))
        decision = self.decisions.get(host)
        if isinstance(decision, Exception):
            raise decision
        if decision is True:
            self.confirmed.append(canonical(arguments))
        return decision

    def _run(self, tool: str, /, *args: Any, **arguments: Any) -> Any:
        if args:
            raise TypeError(f"{tool} takes its arguments by name: run(**arguments)")
        if tool == self.critical:
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


def _schema(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"host": {"type": "string"}, "depth": {"type": "integer"}}}
    words = name.replace("_", " ")
    return {"type": "function", "function": {"name": name, "description": words, "parameters": parameters}}


def _call(chance: Random, name: str, arguments: str | None = None) -> Message:
    host = f"{chance.choice(WORDS)}-{chance.randrange(10**4)}"
    written = json.dumps({"host": host, "depth": chance.randrange(100)}) if arguments is None else arguments
    function = {"name": name, "arguments": written}
    return {"id": f"call_{chance.getrandbits(40):x}", "type": "function", "function": function}


def _asks(*calls: Message, text: str | None = None) -> Message:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def _final(chance: Random) -> Message:
    return {"role": "assistant", "content": f"It is {chance.choice(WORDS)} {chance.randrange(10**4)}."}


def _question(chance: Random) -> list[Message]:
    return [
        {"role": "system", "content": f"You look after {chance.choice(WORDS)}."},
        {"role": "user", "content": f"How is {chance.choice(WORDS)} {chance.randrange(100)}?"},
    ]


def _one_call(student: Student, chance: Random, text: str | None = None, **last: Any) -> Walk:
    """A conversation with one call, which ran once as the model asked for it."""
    first, wanted, last_one = chance.sample(NAMES, 3)
    replies = [_asks(_call(chance, wanted), text=text), {**_final(chance), **last}]
    walk = Walk(chance, _question(chance), replies).play(student, [first, wanted, last_one])
    walk.outcomes_of(replies[0]["tool_calls"])
    return walk


def _with_a_critical_tool(student: Student, chance: Random, decisions: list[Any]) -> None:
    """A reply with calls of a critical tool, one for each decision, and with one call of another tool."""
    plain, critical = names = chance.sample(NAMES, 2)
    calls = [_call(chance, critical) for _ in decisions]
    hosts = [parse_json(call["function"]["arguments"])["host"] for call in calls]
    asked = dict(zip(hosts, decisions, strict=True))
    calls.insert(chance.randrange(len(calls)), _call(chance, plain))
    replies = [_asks(*calls), _final(chance)]
    walk = Walk(chance, _question(chance), replies, critical=critical, decisions=asked)
    walk.play(student, names)
    allowed = [call for call in calls if _is_allowed(call, asked)]
    gave = iter(walk.outcomes_of(allowed))
    walk.check_contents([next(gave) if call in allowed else PermissionError("") for call in calls])
    walk.check_end(walk.replies[-1])


def _is_allowed(call: Message, decisions: dict[str, Any]) -> bool:
    return decisions.get(parse_json(call["function"]["arguments"])["host"], True) is True


def _messages(value: Any) -> list[Message] | None:
    fits = isinstance(value, list) and all(isinstance(message, dict) for message in value)
    return value if fits else None


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON: true is not 1."""
    return canonical(a) == canonical(b)


def _is_reply(message: Message, reply: Message) -> bool:
    """Further keys do no harm; a `tool_calls` of nothing may be left out."""
    calls = (message.get("tool_calls") or [], reply.get("tool_calls") or [])
    return message.get("role") == "assistant" and _same(
        [message.get("content"), calls[0]], [reply.get("content"), calls[1]]
    )


def _says(content: Any, outcome: Any) -> bool:
    if not isinstance(content, str):
        return False
    if isinstance(outcome, Exception):
        return "error" in content.lower() and str(outcome.args[0]) in content
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
    walk = Walk(chance, _question(chance), [_final(chance)]).play(student, [])
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
    walk = _one_call(student, chance)
    walk.check_end(walk.replies[-1])


@case(points=2, hint="Role `tool`, the `id` of the call as `tool_call_id`, and the result.", public=True)
def answers_the_call(student: Student, chance: Random) -> None:
    """The result goes to the model as a message with role `tool` and the id of its call."""
    walk = _one_call(student, chance)
    walk.check_contents([outcome for _name, _arguments, outcome in walk.executed])
    (message,) = walk.results()
    if message.get("role") != "tool":
        raise walk.wrong(f"the result went back with role {str(message.get('role'))[:40]!r}")
    if message.get("tool_call_id") != walk.replies[0]["tool_calls"][0]["id"]:
        raise walk.wrong("the result does not carry the id of its call")


@case(points=2, hint="Append the reply itself, before the results; leave its `arguments` text.", public=True)
def keeps_the_reply(student: Student, chance: Random) -> None:
    """The reply with the calls stands in the next request just as it came, before the results."""
    walk = _one_call(student, chance)
    walk.results()
    if not any(_is_reply(message, walk.replies[0]) for message in walk.requests[1][len(walk.opening) :][:1]):
        raise walk.wrong("the next request does not have the reply, as it came, after the earlier messages")


@case(points=2, hint="Go through all of `tool_calls`, in their order.", public=True)
def several_calls(student: Student, chance: Random) -> None:
    """Every call of a reply runs once, and the results follow in the order of the calls."""
    first, second = names = chance.sample(NAMES, 2)
    calls = [_call(chance, name) for name in chance.sample([first, first, second, second], 4)]
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)]).play(student, names)
    walk.check_contents(walk.outcomes_of(calls))
    walk.check_end(walk.replies[-1])


@case(points=2, hint="Count requests, not calls. Answer the last calls, then return.", public=True)
def stops_at_the_limit(student: Student, chance: Random) -> None:
    """The model is asked at most `limit` times; then the messages come back with the last reply and a result
    for each of its calls."""
    name, limit = chance.choice(NAMES), chance.randrange(3, 6)
    replies = [_asks(_call(chance, name), _call(chance, name)) for _ in range(limit + 5)]
    walk = Walk(chance, _question(chance), replies)
    try:
        walk.play(student, [name], limit)
    except Wrong:
        if len(walk.requests) <= limit:
            raise
    if len(walk.requests) != limit:
        often = "more often than" if len(walk.requests) > limit else "less often than"
        raise walk.wrong(f"a model that always calls was asked {often} `limit` says")
    came, last = _messages(walk.returned) or [], walk.requests[-1]
    walk.check_turn(last, replies[limit - 1], came[: len(last) + 3])


@case(points=2, hint="Each request holds all that was said before. Compare `messages` turn by turn.")
def goes_on(student: Student, chance: Random) -> None:
    """A conversation of several turns grows: each request is the one before, the reply, and its results. A
    call that comes again runs again."""
    names = chance.sample(NAMES, 3)
    # Together with the one that comes again, more calls than `limit` allows requests.
    asks = [
        _asks(*(_call(chance, name) for name in chance.choices(names, k=count)))
        for count in chance.sample([2, 3, MANY - 5], 3)
    ]
    again = {**asks[0]["tool_calls"][0], "id": _call(chance, names[0])["id"]}
    asks.append(_asks(again))
    before = [*_question(chance), _asks(_call(chance, names[0]))]
    old = {"role": "tool", "tool_call_id": before[-1]["tool_calls"][0]["id"], "content": "17"}
    opening = [*before, old, _final(chance), {"role": "user", "content": "And now?"}]
    walk = Walk(chance, opening, [*asks, _final(chance)]).play(student, names)
    walk.outcomes_of([call for reply in asks for call in reply["tool_calls"]])
    if len(walk.requests) != len(walk.replies) or not _same(walk.requests[0], opening):
        raise walk.wrong("the model was not asked once for each of its replies, the given messages first")
    for reply, one, following in zip(asks, walk.requests, walk.requests[1:], strict=False):
        walk.check_turn(one, reply, following)
    if not _same(walk.check_end(walk.replies[-1])[:-1], walk.requests[-1]):
        raise walk.wrong("the messages that came back are not all that was said")


@case(points=3, hint="Catch what a tool raises, one call at a time, and let the model read it.", public=True)
def errors_go_back(student: Student, chance: Random) -> None:
    """A tool that raises has a result too: it says `error` and the exception's message. The other calls of
    the reply run all the same, and the conversation goes on."""
    good, *bad = names = chance.sample(NAMES, 1 + len(ERRORS))
    said = f"no {chance.choice(WORDS)} {chance.randrange(10**4)} here"
    raised = {name: kind(said) for name, kind in zip(bad, ERRORS, strict=True)}
    calls = [_call(chance, name) for name in (good, *bad, good)]
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)], raised).play(student, names)
    walk.check_contents(walk.outcomes_of(calls))
    walk.check_end(walk.replies[-1])


@case(points=2, hint="If the tool has `confirm`, ask it for each call, right before `run`.", public=True)
def critical_calls_are_confirmed(student: Student, chance: Random) -> None:
    """A tool with `confirm` runs a call only if `confirm(**arguments)` returned `True` for it before. Else it
    does not run, and its result says `error`."""
    _with_a_critical_tool(student, chance, [True, False, True])


@case(points=1, hint="Ask for `True` and nothing less; a `confirm` that raises has not said yes.")
def only_true_is_a_yes(student: Student, chance: Random) -> None:
    """Whatever else `confirm` returns is a no, and so is an exception of its own."""
    noes = [None, 0, 1, "no", "yes", {"confirmed": True}, *(kind("nobody is there") for kind in ERRORS)]
    _with_a_critical_tool(student, chance, chance.sample([*noes, True], len(noes) + 1))


@case(points=1, hint="Look the name up before you run anything; the model should read which name was wrong.")
def unknown_tool(student: Student, chance: Random) -> None:
    """A call of a tool that does not exist runs nothing; its result says `error` and the name."""
    good, invented = chance.sample(NAMES, 2)
    calls = chance.sample([_call(chance, invented), _call(chance, good)], 2)
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)]).play(student, [good])
    (outcome,) = walk.outcomes_of([call for call in calls if call["function"]["name"] == good])
    walk.check_contents([outcome if c["function"]["name"] == good else KeyError(invented) for c in calls])
    walk.check_end(walk.replies[-1])


@case(points=2, hint="Parse first. What is not one JSON object never becomes `{}`.")
def broken_arguments(student: Student, chance: Random) -> None:
    """Arguments that are not one JSON object run nothing: the result says `error`, and the loop goes on."""
    name, word = chance.choice(NAMES), chance.choice(WORDS)
    broken = [f'{{"host": "{word}"', f'["{word}", 1]', f"host={word}", "null", f'"{word}"']
    calls = [_call(chance, name, arguments) for arguments in chance.sample(broken, len(broken))]
    calls.insert(chance.randrange(6), _call(chance, name))
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)]).play(student, [name])
    (outcome,) = walk.outcomes_of([call for call in calls if call["function"]["arguments"] not in broken])
    written = [call["function"]["arguments"] for call in calls]
    walk.check_contents([ValueError("") if text in broken else outcome for text in written])
    walk.check_end(walk.replies[-1])


@case(points=1, hint="What decides is `tool_calls`, not `content`.")
def text_beside_calls(student: Student, chance: Random) -> None:
    """A reply may hold text and calls: its calls run, and the text is kept."""
    walk = _one_call(student, chance, text=f"Let me look at {chance.choice(WORDS)} first.")
    walk.results()
    walk.check_turn(walk.opening, walk.replies[0], walk.requests[1])


@case(points=1, hint="Endpoints write 'no calls' in three ways: no key, null, an empty list.")
def no_calls_either_way(student: Student, chance: Random) -> None:
    """A reply whose `tool_calls` is null or an empty list is an answer, after a call as well."""
    either: list[Any] = [None, []]
    for nothing in chance.sample(either, 2):
        walk = _one_call(student, chance, tool_calls=nothing)
        walk.check_end(walk.replies[-1])


@case(points=1, hint="Do not file results under ids: go by the order of the calls.")
def same_ids(student: Student, chance: Random) -> None:
    """Ids are the model's and may repeat, in one reply and in a later one: each is a call of its own."""
    name = chance.choice(NAMES)
    calls = [{**_call(chance, name), "id": "call_0"} for _ in range(3)]
    replies = [_asks(*calls[:2]), _asks(calls[2]), _final(chance)]
    walk = Walk(chance, _question(chance), replies).play(student, [name])
    walk.check_contents(walk.outcomes_of(calls)[:2])
    if len(walk.requests) != 3:
        raise walk.wrong("the model was not asked once for each of its replies")
    walk.check_turn(walk.requests[1], replies[1], walk.requests[2])


@case(points=1, hint="Work on a list of your own: `messages = list(messages)`.")
def callers_list_stays(student: Student, chance: Random) -> None:
    """The list that the caller gave is afterwards as it was before."""
    walk = _one_call(student, chance)
    walk.check_end(walk.replies[-1])
    if not _same(walk.given, [walk.opening]):
        raise walk.wrong("the caller's own list of messages was changed")


@case(points=1, hint="`model(messages, [tool['schema'] for tool in tools.values()])`, every time.")
def offers_the_tools(student: Student, chance: Random) -> None:
    """Every request offers the schemas of all tools, critical ones too, in a list."""
    names = chance.sample(NAMES, 3)
    replies = [_asks(_call(chance, names[0])), _final(chance)]
    walk = Walk(chance, _question(chance), replies, critical=names[1]).play(student, names)
    walk.results()
    wanted = sorted(canonical(_schema(name)) for name in names)
    for tools in walk.offered:
        if not isinstance(tools, list) or sorted(map(canonical, tools)) != wanted:
            raise walk.wrong("a request did not offer the list of all schemas")


@case(points=1, hint="`value if isinstance(value, str) else json.dumps(value)`.")
def results_are_text(student: Student, chance: Random) -> None:
    """The content of a result is text: a string as it is, any other value as JSON."""
    word, names = chance.choice(WORDS), chance.sample(NAMES, 5)
    values = [f"{word} is fine", {"host": word, "up": True, "load": None}, None, [word, 0.5], False]
    outcomes = dict(zip(names, values, strict=True))
    calls = [_call(chance, name) for name in names]
    walk = Walk(chance, _question(chance), [_asks(*calls), _final(chance)], outcomes).play(student, names)
    walk.check_contents(walk.outcomes_of(calls))
