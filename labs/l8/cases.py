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

#: None of them is a part of a word that a rule asks for.
WORDS = ("amber", "willow", "cedar", "falcon", "lantern", "meadow", "copper", "velvet")

#: Ways to be right: the word for an error, and whether the last calls are left. To refuse one costs the
#: case of the right loops only: the other cases are played in the first way that is not refused.
WAYS = (("ERROR", False), ("Error", False), ("error", False), ("ERROR", True))

MOST_CHARACTERS, MOST_REPLIES, MOST_CALLS, MOST_RUNS = 10_000, 30, 30, 300


class Loop:
    """A right loop. A broken one takes another way at one of its steps."""

    def __init__(self, bench: "Bench", limit: int) -> None:
        self.bench, self.limit, self.seen = bench, limit, dict[str, Message]()
        self.late = False

    def lead(self, given: list[Message]) -> list[Message]:
        messages = self.opening(given)
        for turn in range(self.limit):
            reply = self.bench.reply(self.sent(messages, turn), self.offered(turn))
            messages.append(self.kept(reply))
            calls = self.calls(reply, turn)
            if not calls:
                break
            self.late = turn == self.limit - 1
            messages.extend(
                self.left(calls) if self.late and self.bench.leaves else self.results(calls, turn)
            )
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

    def left(self, calls: list[Message]) -> list[Message]:
        late = f"Not run ({self.bench.word}): the limit is reached."
        return [{"role": "tool", "tool_call_id": call["id"], "content": late} for call in calls]

    def result(self, call: Message) -> Message:
        content = self.content(call["function"]["name"], call["function"]["arguments"])
        return {"role": "tool", "tool_call_id": call["id"], "content": content}

    def content(self, name: str, arguments: str) -> str:
        if name not in self.bench.tools:
            return self.unknown(name, arguments)
        try:
            parsed = self.parsed(arguments)
        except ValueError:
            return self.unread(name)
        return self.run(name, parsed)

    def unknown(self, name: str, _arguments: str) -> str:
        return self.failed(f"there is no tool {name}")

    def unread(self, name: str) -> str:
        return self.failed(f"the arguments of {name} are not one JSON object")

    def parsed(self, arguments: str) -> Message:
        value: Any = json.loads(arguments)
        if not isinstance(value, dict):
            raise ValueError(arguments)
        return value

    def run(self, name: str, arguments: Message) -> str:
        try:
            return self.text(self.bench.execute(name, arguments))
        except RuntimeError as error:
            return self.raised(str(error))

    def raised(self, why: str) -> str:
        return self.failed(why)

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    def failed(self, why: str) -> str:
        return f"{self.bench.error}: {why} ({self.bench.word})"


class Backwards(Loop):
    """Right: the calls of a reply run last to first; their results stand in the order of the calls. JSON is
    laid out as short as it can be."""

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        return super().results(calls[::-1], turn)[::-1]


class Chatty(Loop):
    """Right: other words, other JSON, a name in each result; the last calls are answered and not run."""

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        if turn < self.limit - 1:
            return [{"name": call["function"]["name"], **self.result(call)} for call in calls]
        return self.left(calls)

    def unread(self, _name: str) -> str:
        return self.failed("the arguments are not one JSON object")

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)

    def failed(self, why: str) -> str:
        return f"Sorry, this did not work ({self.bench.word}). The error was: {why}. You may try again."


#: What each right loop makes use of.
RIGHT = {
    Loop: "the plainest there is",
    Backwards: "one that runs the last call first",
    Chatty: "one that words, lays out and names things its own way, and leaves the last calls",
}


class Bench:
    """Where one loop is tried: plays the model and the tools, and writes down what happens.

    `word` is drawn, and stands in what a right loop is free to say: no record can be known beforehand.
    """

    def __init__(self, loop: type[Loop], word: str = "", error: str = "ERROR", leaves: bool = False) -> None:
        self.word, self.error, self.leaves = word, error, leaves
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
    return type("_".join(steps), (Loop,), steps)


def _by_name(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    last = {call["function"]["name"]: call["function"] for call in calls}
    mixed = [{**call, "function": last[call["function"]["name"]]} for call in calls]
    return Loop.results(self, mixed, turn)


def _until_an_error(self: Loop, calls: list[Message], _turn: int) -> list[Message]:
    results: list[Message] = []
    for call in calls:
        results.append(self.result(call))
        if results[-1]["content"].upper().startswith("ERROR"):
            break
    return results


def _or_nothing(_self: Loop, arguments: str) -> Message:
    try:
        value: Any = json.loads(arguments)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        raise ValueError(arguments)
    return value


def _list_or_nothing(_self: Loop, arguments: str) -> Message:
    value = json.loads(arguments)
    return value if isinstance(value, dict) else {}


def _runs_and_denies(self: Loop, name: str) -> str:
    Loop.run(self, name, {})
    return Loop.unread(self, name)


def _runs_another(self: Loop, name: str, _arguments: str) -> str:
    for other in list(self.bench.tools)[:1]:
        Loop.run(self, other, {})
    return Loop.unknown(self, name, "")


def _skipping_after_an_error(self: Loop, calls: list[Message], _turn: int) -> list[Message]:
    results: list[Message] = []
    for call in calls:
        failed = any(result["content"].upper().startswith("ERROR") for result in results)
        skipped = {"role": "tool", "tool_call_id": call["id"], "content": f"{self.bench.error}: skipped"}
        results.append(skipped if failed else self.result(call))
    return results


def _ended_by_an_error(self: Loop, given: list[Message]) -> list[Message]:
    messages = self.opening(given)
    for turn in range(self.limit):
        messages.append(self.bench.reply(messages, self.offered(turn)))
        results = self.results(self.calls(messages[-1], turn), turn)
        messages.extend(results)
        if not results or any(result["content"].upper().startswith("ERROR") for result in results):
            break
    return messages


def _asks_on(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if not messages[-1].get("tool_calls") and messages[-1]["role"] == "assistant":
        messages.append(self.bench.reply(messages, self.offered(0)))
    return messages


def _asks_in_vain(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if self.late:
        self.bench.reply(messages, self.offered(0))
    return messages


def _without_late_results(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    return [] if self.late else Loop.results(self, calls, turn)


def _raising_at_the_limit(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if self.late:
        raise RuntimeError("the limit is reached")
    return messages


def _renumbered(_self: Loop, reply: Message) -> Message:
    calls = [{**call, "id": f"call_{n}"} for n, call in enumerate(reply.get("tool_calls") or [])]
    return {**reply, "tool_calls": calls} if calls else reply


def _results_before_the_reply(self: Loop, given: list[Message]) -> list[Message]:
    messages = self.opening(given)
    for turn in range(self.limit):
        reply = self.bench.reply(messages, self.offered(turn))
        calls = self.calls(reply, turn)
        messages = [*messages, *self.results(calls, turn), reply]
        if not calls:
            break
    return messages


def _without_the_first(_self: Loop, given: list[Message]) -> list[Message]:
    messages = list(given)
    del given[:1]
    return messages


def _contents_rotated(_calls: list[Message], results: list[Message]) -> list[Message]:
    contents = [result["content"] for result in results]
    moved = contents[1:] + contents[:1]
    return [{**result, "content": content} for result, content in zip(results, moved, strict=True)]


def _ids_rotated(_calls: list[Message], results: list[Message]) -> list[Message]:
    moved = results[1:] + results[:1]
    return [{**a, "tool_call_id": b["tool_call_id"]} for a, b in zip(results, moved, strict=True)]


def _without_the_middle(said: list[Message], _turn: int) -> list[Message]:
    rounds = [at for at, one in enumerate(said) if one.get("tool_calls")]
    return said[: rounds[0]] + said[rounds[-1] :] if rounds else said


def _emptied(_self: Loop, reply: Message) -> Message:
    calls = [
        {**call, "function": {**call["function"], "arguments": "{}"}}
        for call in reply.get("tool_calls") or []
    ]
    return {**reply, "tool_calls": calls} if calls else reply


def _twice(self: Loop, name: str, arguments: Message) -> str:
    Loop.run(self, name, arguments)
    return Loop.run(self, name, arguments)


def _once_an_id(self: Loop, calls: list[Message], _turn: int) -> list[Message]:
    """Answers an id of an earlier reply as it was answered then."""
    results = [self.seen.get(call["id"]) or self.result(call) for call in calls]
    self.seen.update((result["tool_call_id"], result) for result in results)
    return results


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


def _reworded(messages: list[Message]) -> list[Message]:
    return [{**messages[0], "content": f"{messages[0].get('content')} Use tools."}, *messages[1:]]


def _edited(_self: Loop, given: list[Message]) -> list[Message]:
    kept = [dict(message) for message in given]
    given[0]["content"] = "Use tools."
    return kept


def _with_blank_results(said: list[Message], _turn: int) -> list[Message]:
    return [{**one, "content": "..."} if one["role"] == "tool" else one for one in said]


def _as_at_first(self: Loop, name: str, arguments: Message) -> str:
    return Loop.run(self, name, self.seen.setdefault(name, arguments))


IDLE = _broken(lead=lambda _self, given: list(given))
FIRST_ONLY = _some_calls(lambda calls: calls[:1])
ALL_BUT_LAST = _some_calls(lambda calls: calls[:-1] or calls)
ONE_ROUND = _calls_unless(lambda _reply, turn: turn)
TWICE = _broken(run=_twice)
MIXED_UP = _broken(results=_by_name)
STALE = _broken(run=_as_at_first)
NO_ARGUMENTS = _broken(run=lambda self, name, _arguments: Loop.run(self, name, {}))
OWN_ID = _retold(lambda result: {**result, "tool_call_id": "call_1"})
FIRST_ID = _results(lambda calls, results: [{**result, "tool_call_id": calls[0]["id"]} for result in results])
ONCE_AN_ID = _broken(results=_once_an_id)
RENUMBERED = _broken(
    kept=_renumbered, calls=lambda self, reply, _turn: _renumbered(self, reply).get("tool_calls")
)
TWO_RESULTS = _results(lambda _calls, results: [result for result in results for _ in range(2)])
IDS_MOVED = _results(_ids_rotated)
CONTENTS_MOVED = _results(_contents_rotated)
REPLY_LAST = _broken(lead=_results_before_the_reply)
AS_USER = _retold(lambda result: {**result, "role": "user"})
REVERSED = _results(lambda _calls, results: results[::-1])
AS_PYTHON = _broken(text=lambda _self, value: str(value))
IN_QUOTES = _broken(text=lambda _self, value: json.dumps(value))
WRAPPED = _broken(
    text=lambda _self, value: value if isinstance(value, str) else json.dumps({"result": value})
)
AS_IT_IS = _broken(text=lambda _self, value: value)
FORGETS_MIDDLE = _sends(_without_the_middle)
REWORDED = _broken(opening=lambda _self, given: _reworded(given))
EDITED = _broken(opening=_edited)
BLANKS_RESULTS = _sends(_with_blank_results)
FORGETS_ONCE = _sends(lambda said, turn: said[:-1] if turn == 1 else said)
PREFACED = _sends(lambda said, _turn: [{"role": "system", "content": "You can use tools."}, *said])
FORGETS_REPLIES = _sends(lambda said, _turn: [one for one in said if not one.get("tool_calls")])
FORGETS_FIRST = _sends(lambda said, turn: said[1:] if turn else said)
OFFERS_SOME = _broken(offered=lambda self, turn: Loop.offered(self, turn)[:-1])
OFFERS_ONCE = _broken(offered=lambda self, turn: [] if turn else Loop.offered(self, turn))
DROPS_TEXT = _broken(
    kept=lambda _self, reply: {**reply, "content": None} if reply.get("tool_calls") else reply
)
EMPTIES_ARGUMENTS = _broken(kept=_emptied)
TEXT_ENDS = _calls_unless(lambda reply, _turn: reply.get("content"))
SILENT = _broken(raised=lambda _self, _why: "")
VAGUE = _broken(raised=lambda self, _why: self.bench.error)
ONLY_WHY = _broken(raised=lambda _self, why: why)
UNNAMED = _broken(unknown=lambda self, _name, _arguments: self.failed("there is no such tool"))
ONLY_NAMED = _broken(unknown=lambda _self, name, _arguments: f"{name} is not here")
UNREAD = _broken(unread=lambda _self, _name: "None")
RUNS_AND_DENIES = _broken(unread=_runs_and_denies)
RUNS_ANOTHER = _broken(unknown=_runs_another)
SKIPS_AFTER = _broken(results=_skipping_after_an_error)
GIVES_UP = _broken(lead=_ended_by_an_error)
LATE_UNANSWERED = _broken(results=_without_late_results)
RAISES_LATE = _broken(lead=_raising_at_the_limit)
ASKS_IN_VAIN = _broken(lead=_asks_in_vain)
ASKS_ON = _broken(lead=_asks_on)
POPS = _broken(opening=_without_the_first)
STOPS = _broken(results=_until_an_error)
RAISES = _broken(run=lambda self, name, arguments: self.text(self.bench.execute(name, arguments)))
SKIPS_UNKNOWN = _broken(results=_of_known_tools)
RUNS_EMPTY = _broken(parsed=_or_nothing)
RUNS_LISTS = _broken(parsed=_list_or_nothing)
NO_ANSWER = _broken(lead=lambda self, given: Loop.lead(self, given)[:-1])
ADDS_ONE = _broken(lead=lambda self, given: [*Loop.lead(self, given), {"role": "user", "content": "Thanks!"}])
IN_PLACE = _broken(opening=lambda _self, given: given)


class Refused(Wrong):
    """A right loop was refused."""


def _try(student: Student, bench: Bench) -> None:
    """Show one loop to the student's code; raise `Wrong` unless it tells right from broken."""
    try:
        faults = student.call("faults_of", Callback(bench.run, "run")).value
    except Wrong as wrong:
        raise Wrong(wrong.happened, walk=bench.walk) from None
    if not isinstance(faults, list) or not all(isinstance(fault, str) for fault in faults):
        raise Wrong("`faults_of` did not return a list of texts", walk=bench.walk)
    if faults and bench.loop in RIGHT:
        happened = f"a right loop was refused, {RIGHT[bench.loop]}: {faults[0][:200]}"
        raise Refused(happened, walk=bench.walk)
    if not faults and bench.loop not in RIGHT:
        raise Wrong("the broken loop was passed: no fault found", walk=bench.walk)


def _tell_apart(student: Student, chance: Random, *loops: type[Loop]) -> None:
    """Show these loops and the plainest right one, in mixed order, to a process that has seen none, in each
    of the ways until a right one is not refused.

    The order is the same for everybody: code that counts loops has no luck with one draw and more with
    another.
    """
    refused = []
    for error, leaves in WAYS:
        try:
            _tell_apart_once(student, chance, [*dict.fromkeys([*loops, Loop])], error, leaves)
        except Refused as wrong:
            refused.append(wrong)
        else:
            return
    raise refused[0]


def _tell_apart_once(
    student: Student, chance: Random, loops: list[type[Loop]], error: str = "ERROR", leaves: bool = False
) -> None:
    student.stop()
    for loop in Random(f"mixed {[loop.__name__ for loop in loops]}").sample(loops, len(loops)):
        _try(student, Bench(loop, chance.choice(WORDS), error, leaves))


@case(points=4, hint="Rules bind, habits do not: order of running, words of errors, layout.", public=True)
def right_loops_pass(student: Student, chance: Random) -> None:
    """Passes every right loop, in whatever way it is right, and finds one that does nothing at all."""
    _tell_apart_once(student, chance, [IDLE, *RIGHT])


@case(points=1, hint="Ask for two calls in one reply.", public=True)
def first_call_only(student: Student, chance: Random) -> None:
    """Finds a loop that runs only the first call of a reply, and passes right ones."""
    _tell_apart(student, chance, FIRST_ONLY)


@case(points=1, hint="Use ids that nobody would guess, and compare them.", public=True)
def own_id(student: Student, chance: Random) -> None:
    """Finds a loop that gives its results an id of its own, and passes right ones."""
    _tell_apart(student, chance, OWN_ID)


@case(points=2, hint="Look at `requests`, not only at the messages that came back.", public=True)
def reply_missing(student: Student, chance: Random) -> None:
    """Finds a loop that sends results without the reply that asked for them, and passes right ones."""
    _tell_apart(student, chance, FORGETS_REPLIES)


@case(points=2, hint="Give more replies with calls than `limit` allows, and count the requests.", public=True)
def no_limit(student: Student, chance: Random) -> None:
    """Finds a loop that asks the model for as long as it wants calls, and passes right ones."""
    _tell_apart(student, chance, _with_limit(100))


@case(points=2, hint="Two calls in a reply, and more than one reply with calls.")
def calls_lost(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the last call of a reply, and one that leaves out the second round."""
    _tell_apart(student, chance, ALL_BUT_LAST, ONE_ROUND)


@case(points=2, hint="`executed` holds each call that ran.")
def calls_doubled(student: Student, chance: Random) -> None:
    """Finds a loop that runs calls twice, and one that answers each of them twice."""
    _tell_apart(student, chance, TWICE, TWO_RESULTS)


@case(
    points=1,
    hint="Call the same tool twice in one reply, with other arguments, and compare `executed` with them.",
)
def arguments_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that runs two calls of a tool with the arguments of one of them, one that runs each tool
    with its first arguments again, and one that runs it with none."""
    _tell_apart(student, chance, MIXED_UP, STALE, NO_ARGUMENTS)


@case(points=2, hint="Compare each id with the one in your script. Let a later reply use an id again.")
def ids_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that gives all results one id, one that takes an id of an earlier reply for the same call,
    and one that gives the calls other ids, in the reply as in the results."""
    _tell_apart(student, chance, FIRST_ID, ONCE_AN_ID, RENUMBERED)


@case(points=1, hint="Compare the role of each result, not only its id.")
def wrong_role(student: Student, chance: Random) -> None:
    """Finds a loop that gives results the role `user`, with their ids."""
    _tell_apart(student, chance, AS_USER)


@case(
    points=1, hint="Compare ids in order, and what stands beside each id. The calls need different results."
)
def wrong_order(student: Student, chance: Random) -> None:
    """Finds a loop that gives results in reverse, one that mixes up what they say, and one
    that mixes up their ids."""
    _tell_apart(student, chance, REVERSED, CONTENTS_MOVED, IDS_MOVED)


@case(
    points=2,
    hint="Let one tool return a dict and one a string. The string must come as it is, the dict as JSON.",
)
def content_is_no_json(student: Student, chance: Random) -> None:
    """Finds a loop that writes results as Python writes them, one that gives a dict and not text, one that
    puts a string into quotes, and one that puts what is no string into a dict."""
    _tell_apart(student, chance, AS_PYTHON, AS_IT_IS, IN_QUOTES, WRAPPED)


@case(points=2, hint="The reply stays as it came: compare all of it.")
def reply_changed(student: Student, chance: Random) -> None:
    """Finds a loop that drops the text of a reply with calls, one that empties the arguments in it, and one
    that appends it after the results."""
    _tell_apart(student, chance, DROPS_TEXT, EMPTIES_ARGUMENTS, REPLY_LAST)


@case(points=1, hint="Script a reply that has both.")
def text_ends(student: Student, chance: Random) -> None:
    """Finds a loop that takes a reply with text and calls for the answer."""
    _tell_apart(student, chance, TEXT_ENDS)


@case(
    points=2,
    hint="Let a tool raise; look for `error` in any letters, and for what it said.",
)
def errors_hidden(student: Student, chance: Random) -> None:
    """Finds a loop that keeps from the model that a tool failed, one that keeps why, and one that says why
    without the word `error`."""
    _tell_apart(student, chance, SILENT, VAGUE, ONLY_WHY)


@case(points=2, hint="The first of two calls fails, and a reply follows. `ended` says how the loop ended.")
def error_stops_others(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the calls after one that failed, one that does not run them, one that ends
    with its exception, and one that ends the conversation."""
    _tell_apart(student, chance, STOPS, SKIPS_AFTER, RAISES, GIVES_UP)


@case(points=2, hint="Script a call of a tool that is not in `tools`. Read its result, and `executed`.")
def unknown_tool(student: Student, chance: Random) -> None:
    """Finds a loop that gives no result for a tool that does not exist, one that does not name it, one that
    does not say `error`, and one that runs another tool."""
    _tell_apart(student, chance, SKIPS_UNKNOWN, UNNAMED, ONLY_NAMED, RUNS_ANOTHER)


@case(points=2, hint="Script arguments that end in the middle, for a tool that works. Nothing may run.")
def broken_arguments(student: Student, chance: Random) -> None:
    """Finds a loop that runs a tool with {} when the arguments cannot be read, also if it then says `error`,
    and one that does not say `error`."""
    _tell_apart(student, chance, RUNS_EMPTY, RUNS_AND_DENIES, UNREAD)


@case(points=1, hint="Compare the number of requests exactly.")
def limit_counted_wrongly(student: Student, chance: Random) -> None:
    """Finds a loop that asks once more than `limit` allows, one that does so and forgets the reply, and
    one that asks once less."""
    _tell_apart(student, chance, _with_limit(1), ASKS_IN_VAIN, _with_limit(-1))


@case(points=2, hint="Compare every request, whole: `messages` and `tools`.")
def requests_cut(student: Student, chance: Random) -> None:
    """Finds a loop that leaves the first message out of later requests, one that leaves out an earlier round,
    one that leaves out a result once, one that adds a message, one that rewords the first, one that sends no
    results, one that leaves out the tools there, and one that leaves out one tool."""
    changed = (FORGETS_FIRST, FORGETS_MIDDLE, FORGETS_ONCE, PREFACED, REWORDED, BLANKS_RESULTS)
    _tell_apart(student, chance, *changed, OFFERS_ONCE, OFFERS_SOME)


@case(points=1, hint="What comes back ends with the last reply, and nothing is asked after it: see `ended`.")
def answer_missing(student: Student, chance: Random) -> None:
    """Finds a loop that returns the messages without the answer, one that adds a message to them, and one
    that asks once more after the answer."""
    _tell_apart(student, chance, NO_ANSWER, ADDS_ONE, ASKS_ON)


@case(points=1, hint="`given` is the caller's list afterwards: compare all of it.")
def callers_list_changed(student: Student, chance: Random) -> None:
    """Finds a loop that appends to the caller's list of messages, one that takes its first message away, and
    one that rewrites that message."""
    _tell_apart(student, chance, IN_PLACE, POPS, EDITED)


@case(points=1, hint="Arguments can be JSON and yet no object: a list, a text, a number. Nothing may run.")
def arguments_that_are_a_list(student: Student, chance: Random) -> None:
    """Finds a loop that runs a tool with {} when its arguments are JSON, but not an object."""
    _tell_apart(student, chance, RUNS_LISTS)


@case(
    points=2,
    hint="At the limit, look at what comes back: the last reply, and a result for each of its calls.",
)
def end_at_the_limit(student: Student, chance: Random) -> None:
    """Finds a loop that leaves the calls of the last reply without results at the limit, and one that raises
    there instead of returning the messages."""
    _tell_apart(student, chance, LATE_UNANSWERED, RAISES_LATE)
