"""The cases of lab 8: test the tester. The loops run here, right ones and broken ones; the student's code
sees what they did, as data, and nothing of what they are."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from zoolab.grading import Callback, Lab, Student, Wrong, case
from zoolab.jsontext import canonical

LAB = Lab("l8", "Test the tester", functions=("faults_of",), seconds=10.0)

Message = dict[str, Any]

MOST_CHARACTERS, MOST_REPLIES, MOST_CALLS, MOST_RUNS = 10_000, 30, 30, 300


class Loop:
    """A right loop. A broken one takes another way at one of its steps."""

    def __init__(self, bench: "Bench", limit: int) -> None:
        self.bench, self.limit, self.seen = bench, limit, dict[str, Message]()

    def lead(self, given: list[Message]) -> list[Message]:
        messages = self.opening(given)
        for turn in range(self.limit):
            reply = self.bench.reply(self.sent(messages, turn), self.offered(turn))
            messages.append(self.kept(reply))
            calls = self.calls(reply, turn)
            if not calls:
                break
            messages.extend(self.results(calls, turn))
        return messages

    def opening(self, given: list[Message]) -> list[Message]:
        return list(given)

    def sent(self, messages: list[Message], _turn: int) -> list[Message]:
        return messages

    def offered(self, _turn: int) -> list[str]:
        return list(self.bench.tools)

    def kept(self, reply: Message) -> Message:
        return reply

    def calls(self, reply: Message, _turn: int) -> list[Message]:
        return reply.get("tool_calls") or []

    def results(self, calls: list[Message], _turn: int) -> list[Message]:
        return [self.result(call) for call in calls]

    def result(self, call: Message) -> Message:
        content = self.content(call["function"]["name"], call["function"]["arguments"])
        return {"role": "tool", "tool_call_id": call["id"], "content": content}

    def content(self, name: str, arguments: str) -> str:
        if name not in self.bench.tools:
            return self.failed(f"there is no tool {name}")
        try:
            parsed = self.parsed(arguments)
        except ValueError:
            return self.failed("the arguments are not one JSON object")
        return self.run(name, parsed)

    def parsed(self, arguments: str) -> Message:
        value: Any = json.loads(arguments)
        if not isinstance(value, dict):
            raise ValueError(arguments)
        return value

    def run(self, name: str, arguments: Message) -> str:
        try:
            return self.text(self.bench.execute(name, arguments))
        except RuntimeError as error:
            return self.failed(str(error))

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    def failed(self, why: str) -> str:
        return f"ERROR: {why}"


class Backwards(Loop):
    """Right: the calls of a reply run last to first; their results stand in the order of the calls."""

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        return super().results(calls[::-1], turn)[::-1]


class Chatty(Loop):
    """Right: other words, other JSON, a name in each result; the last calls are answered and not run."""

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        if turn < self.limit - 1:
            return [{"name": call["function"]["name"], **self.result(call)} for call in calls]
        late = "Not run, an error: the limit is reached."
        return [{"role": "tool", "tool_call_id": call["id"], "content": late} for call in calls]

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, indent=2)

    def failed(self, why: str) -> str:
        return f"Sorry, this did not work. The error was: {why}. You may try again."


#: What each right loop makes use of.
RIGHT = {
    Loop: "the plainest there is",
    Backwards: "one that runs the last call first",
    Chatty: "one that words, lays out and names things its own way, and leaves the last calls",
}


class Bench:
    """Where one loop is tried: plays the model and the tools, and writes down what happens."""

    def __init__(self, loop: type[Loop]) -> None:
        self.loop, self.runs, self.walk = loop, 0, list[Message]()
        self.replies, self.tools = list[Message](), dict[str, Message]()
        self.requests, self.executed = list[Message](), list[Any]()

    def run(self, messages: Any, replies: Any, tools: Any, limit: Any = 8) -> dict[str, Any]:
        """Lead one conversation with the loop; what the student's code calls."""
        _check_scenario(messages, replies, tools, limit)
        self.runs += 1
        if self.runs > MOST_RUNS:
            raise RuntimeError(f"more than {MOST_RUNS} runs of one loop")
        self.replies, self.tools, self.requests, self.executed = list(replies), tools, [], []
        record: dict[str, Any] = {"ended": "returned"}
        try:
            record["messages"] = self.loop(self, limit).lead(messages)
        except Exception as error:
            record["ended"] = f"raised {type(error).__name__}: {error}"
            record["messages"] = self.requests[-1]["messages"] if self.requests else messages
        self.walk = record["messages"]
        return {**record, "requests": self.requests, "executed": self.executed, "given": messages}

    def reply(self, messages: list[Message], tools: list[str]) -> Message:
        """What the scripted model says next."""
        self.requests.append({"messages": list(messages), "tools": tools})
        if len(self.requests) > len(self.replies):
            raise EOFError("the script has no further reply")
        return self.replies[len(self.requests) - 1]

    def execute(self, name: str, arguments: Message) -> Any:
        """What a tool gives."""
        self.executed.append([name, arguments])
        does = self.tools[name]
        if "raises" in does:
            raise RuntimeError(does["raises"])
        return does["returns"]


def _check_scenario(messages: Any, replies: Any, tools: Any, limit: Any) -> None:
    """Refuse what no loop could be led through, with a word that helps."""
    if len(canonical([messages, replies, tools])) > MOST_CHARACTERS:
        raise ValueError(f"run: a scenario has at most {MOST_CHARACTERS:,} characters")
    if not _all(messages, _is_message):
        raise ValueError("run: messages is a list of dicts, each with a role")
    if not _all(replies, _is_reply) or not 0 < len(replies) <= MOST_REPLIES:
        raise ValueError(f"run: replies is a list of 1 to {MOST_REPLIES} assistant messages, calls complete")
    if sum(len(reply.get("tool_calls") or []) for reply in replies) > MOST_CALLS:
        raise ValueError(f"run: a scenario has at most {MOST_CALLS} calls")
    if not isinstance(tools, dict) or not _all([*tools.values()], _is_tool):
        raise ValueError('run: tools is a dict, name -> {"returns": value} or {"raises": "why"}')
    if type(limit) is not int or not 0 < limit <= MOST_REPLIES:
        raise ValueError(f"run: limit is a whole number from 1 to {MOST_REPLIES}")


def _all(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(map(fits, values))


def _has_texts(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


def _is_message(value: Any) -> bool:
    return _has_texts(value, "role")


def _is_reply(value: Any) -> bool:
    return (
        _is_message(value) and value["role"] == "assistant" and _all(value.get("tool_calls") or [], _is_call)
    )


def _is_call(value: Any) -> bool:
    return _has_texts(value, "id") and _has_texts(value.get("function"), "name", "arguments")


def _is_tool(value: Any) -> bool:
    return isinstance(value, dict) and ("returns" in value or _has_texts(value, "raises"))


def _broken(**steps: Any) -> type[Loop]:
    return type("Broken", (Loop,), steps)


def _by_name(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    last = {call["function"]["name"]: call["function"] for call in calls}
    mixed = [{**call, "function": last[call["function"]["name"]]} for call in calls]
    return Loop.results(self, mixed, turn)


def _until_an_error(self: Loop, calls: list[Message], _turn: int) -> list[Message]:
    results: list[Message] = []
    for call in calls:
        results.append(self.result(call))
        if results[-1]["content"].startswith("ERROR"):
            break
    return results


def _or_nothing(_self: Loop, arguments: str) -> Message:
    try:
        value = json.loads(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _emptied(_self: Loop, reply: Message) -> Message:
    calls = [
        {**call, "function": {**call["function"], "arguments": "{}"}}
        for call in reply.get("tool_calls") or []
    ]
    return {**reply, "tool_calls": calls} if calls else reply


def _twice(self: Loop, name: str, arguments: Message) -> str:
    Loop.run(self, name, arguments)
    return Loop.run(self, name, arguments)


def _once_an_id(self: Loop, call: Message) -> Message:
    if call["id"] not in self.seen:
        self.seen[call["id"]] = Loop.result(self, call)
    return self.seen[call["id"]]


def _of_known_tools(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    return Loop.results(self, [call for call in calls if call["function"]["name"] in self.bench.tools], turn)


def _with_limit(more: int) -> type[Loop]:
    return _broken(__init__=lambda self, bench, limit: Loop.__init__(self, bench, limit + more))


def _retold(change: Callable[[Message], Message]) -> type[Loop]:
    return _broken(result=lambda self, call: change(Loop.result(self, call)))


def _results(change: Callable[[list[Message], list[Message]], list[Message]]) -> type[Loop]:
    return _broken(results=lambda self, calls, turn: change(calls, Loop.results(self, calls, turn)))


def _some_calls(pick: Callable[[list[Message]], list[Message]]) -> type[Loop]:
    return _broken(results=lambda self, calls, turn: Loop.results(self, pick(calls), turn))


def _calls_unless(skip: Callable[[Message, int], Any]) -> type[Loop]:
    return _broken(calls=lambda self, reply, turn: [] if skip(reply, turn) else Loop.calls(self, reply, turn))


def _sends(pick: Callable[[list[Message], int], list[Message]]) -> type[Loop]:
    return _broken(sent=lambda _self, said, turn: pick(said, turn))


IDLE = _broken(lead=lambda _self, given: list(given))
FIRST_ONLY = _some_calls(lambda calls: calls[:1])
ALL_BUT_LAST = _some_calls(lambda calls: calls[:-1] or calls)
ONE_ROUND = _calls_unless(lambda _reply, turn: turn)
TWICE = _broken(run=_twice)
MIXED_UP = _broken(results=_by_name)
OWN_ID = _retold(lambda result: {**result, "tool_call_id": "call_1"})
FIRST_ID = _results(lambda calls, results: [{**result, "tool_call_id": calls[0]["id"]} for result in results])
ONCE_AN_ID = _broken(result=_once_an_id)
AS_USER = _retold(lambda result: {"role": "user", "content": result["content"]})
REVERSED = _results(lambda _calls, results: results[::-1])
AS_PYTHON = _broken(text=lambda _self, value: str(value))
FORGETS_REPLIES = _sends(lambda said, _turn: [one for one in said if not one.get("tool_calls")])
FORGETS_FIRST = _sends(lambda said, turn: said[1:] if turn else said)
OFFERS_SOME = _broken(offered=lambda self, turn: Loop.offered(self, turn)[:-1])
OFFERS_ONCE = _broken(offered=lambda self, turn: [] if turn else Loop.offered(self, turn))
DROPS_TEXT = _broken(
    kept=lambda _self, reply: {**reply, "content": None} if reply.get("tool_calls") else reply
)
EMPTIES_ARGUMENTS = _broken(kept=_emptied)
TEXT_ENDS = _calls_unless(lambda reply, _turn: reply.get("content"))
SILENT = _broken(failed=lambda _self, _why: "")
VAGUE = _broken(failed=lambda _self, _why: "ERROR")
STOPS = _broken(results=_until_an_error)
RAISES = _broken(run=lambda self, name, arguments: self.text(self.bench.execute(name, arguments)))
SKIPS_UNKNOWN = _broken(results=_of_known_tools)
RUNS_EMPTY = _broken(parsed=_or_nothing)
NO_ANSWER = _broken(lead=lambda self, given: Loop.lead(self, given)[:-1])
IN_PLACE = _broken(opening=lambda _self, given: given)


def _try(student: Student, loop: type[Loop]) -> None:
    """Show one loop to the student's code; raise `Wrong` unless it tells right from broken."""
    bench = Bench(loop)
    try:
        faults = student.call("faults_of", Callback(bench.run, "run")).value
    except Wrong as wrong:
        raise Wrong(wrong.happened, walk=bench.walk) from None
    if not isinstance(faults, list) or not all(isinstance(fault, str) for fault in faults):
        raise Wrong("`faults_of` did not return a list of texts", walk=bench.walk)
    if faults and loop in RIGHT:
        raise Wrong(f"a right loop was refused, {RIGHT[loop]}: {faults[0][:200]}", walk=bench.walk)
    if not faults and loop not in RIGHT:
        raise Wrong("the broken loop was passed: no fault found", walk=bench.walk)


def _tell_apart(student: Student, chance: Random, *loops: type[Loop]) -> None:
    """Show these loops and the plainest right one, in an order of chance. Which other right one is among them
    is not drawn: whoever refuses that would lose points by luck."""
    shown = [*loops, Loop]
    for loop in chance.sample(shown, len(shown)):
        _try(student, loop)


@case(points=4, hint="Rules bind, habits do not: order of running, words of errors, layout.", public=True)
def right_loops_pass(student: Student, chance: Random) -> None:
    """Passes every right loop, in whatever way it is right, and finds one that does nothing at all."""
    _tell_apart(student, chance, IDLE, *RIGHT)


@case(points=1, hint="Ask for two calls in one reply.", public=True)
def first_call_only(student: Student, chance: Random) -> None:
    """Finds a loop that runs only the first call of a reply, and passes right ones."""
    _tell_apart(student, chance, FIRST_ONLY)


@case(points=1, hint="Use ids that nobody would guess, and compare them.", public=True)
def own_id(student: Student, chance: Random) -> None:
    """Finds a loop that gives its results an id of its own, and passes right ones."""
    _tell_apart(student, chance, OWN_ID, Backwards)


@case(points=2, hint="Look at `requests`, not only at the messages that came back.", public=True)
def reply_missing(student: Student, chance: Random) -> None:
    """Finds a loop that sends results without the reply that asked for them, and passes right ones."""
    _tell_apart(student, chance, FORGETS_REPLIES, Chatty)


@case(points=2, hint="Give more replies with calls than `limit` allows, and count the requests.", public=True)
def no_limit(student: Student, chance: Random) -> None:
    """Finds a loop that asks the model for as long as it wants calls, and passes right ones."""
    _tell_apart(student, chance, _with_limit(100))


@case(points=2, hint="Two calls in a reply, and more than one reply with calls.")
def calls_lost(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the last call of a reply, and one that leaves out the second round."""
    _tell_apart(student, chance, ALL_BUT_LAST, ONE_ROUND, Backwards)


@case(points=1, hint="`executed` holds each call that ran.")
def calls_doubled(student: Student, chance: Random) -> None:
    """Finds a loop that runs calls twice."""
    _tell_apart(student, chance, TWICE, Chatty)


@case(points=1, hint="Call the same tool twice in one reply.")
def arguments_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that runs two calls of a tool with the arguments of one of them."""
    _tell_apart(student, chance, MIXED_UP)


@case(points=2, hint="Compare each id with its call. Let a later reply use an id again.")
def ids_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that gives all results one id, and one that takes a repeated id for the same call."""
    _tell_apart(student, chance, FIRST_ID, ONCE_AN_ID, Backwards)


@case(points=1, hint="A result has the role `tool`.")
def wrong_role(student: Student, chance: Random) -> None:
    """Finds a loop that tells results as the user."""
    _tell_apart(student, chance, AS_USER, Chatty)


@case(points=1, hint="Results stand in the order of the calls, whatever order these ran in.")
def wrong_order(student: Student, chance: Random) -> None:
    """Finds a loop that gives results in reverse."""
    _tell_apart(student, chance, REVERSED)


@case(points=1, hint="Let a tool return a dict, and read the content as JSON.")
def content_is_no_json(student: Student, chance: Random) -> None:
    """Finds a loop that writes results as Python writes them."""
    _tell_apart(student, chance, AS_PYTHON, Backwards)


@case(points=2, hint="The reply stays as it came: compare all of it.")
def reply_changed(student: Student, chance: Random) -> None:
    """Finds a loop that drops the text of a reply with calls, and one that empties the arguments in it."""
    _tell_apart(student, chance, DROPS_TEXT, EMPTIES_ARGUMENTS, Chatty)


@case(points=1, hint="Script a reply that has both.")
def text_ends(student: Student, chance: Random) -> None:
    """Finds a loop that takes a reply with text and calls for the answer."""
    _tell_apart(student, chance, TEXT_ENDS)


@case(points=2, hint="Let a tool raise; look for `error`, and for what it said.")
def errors_hidden(student: Student, chance: Random) -> None:
    """Finds a loop that keeps from the model that a tool failed, and one that keeps why."""
    _tell_apart(student, chance, SILENT, VAGUE, Backwards)


@case(points=2, hint="The first of two calls fails. `ended` says how the loop ended.")
def error_stops_others(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the calls after one that failed, and one that ends with its exception."""
    _tell_apart(student, chance, STOPS, RAISES, Chatty)


@case(points=1, hint="Script a call of a tool that is not in `tools`.")
def unknown_tool(student: Student, chance: Random) -> None:
    """Finds a loop that gives no result for a tool that does not exist."""
    _tell_apart(student, chance, SKIPS_UNKNOWN)


@case(points=2, hint="Script arguments that end in the middle, for a tool that works. Nothing may run.")
def broken_arguments(student: Student, chance: Random) -> None:
    """Finds a loop that runs a tool with {} when the arguments cannot be read."""
    _tell_apart(student, chance, RUNS_EMPTY, Backwards)


@case(points=1, hint="Compare the number of requests exactly.")
def limit_counted_wrongly(student: Student, chance: Random) -> None:
    """Finds a loop that asks once more than `limit` allows, and one that asks once less."""
    _tell_apart(student, chance, _with_limit(1), _with_limit(-1), Chatty)


@case(points=2, hint="Compare every request, whole: `messages` and `tools`.")
def requests_cut(student: Student, chance: Random) -> None:
    """Finds a loop that leaves the first message out of later requests, one that leaves out the tools there,
    and one that leaves out one tool everywhere."""
    _tell_apart(student, chance, FORGETS_FIRST, OFFERS_ONCE, OFFERS_SOME)


@case(points=1, hint="What comes back ends with the last reply.")
def answer_missing(student: Student, chance: Random) -> None:
    """Finds a loop that returns the messages without the answer."""
    _tell_apart(student, chance, NO_ANSWER, Backwards)


@case(points=1, hint="`given` is the caller's list afterwards.")
def callers_list_changed(student: Student, chance: Random) -> None:
    """Finds a loop that changes the caller's list of messages."""
    _tell_apart(student, chance, IN_PLACE, Chatty)
