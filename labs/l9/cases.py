"""The cases of lab 9: test the tester. The loops run here, right ones and broken ones; the student's code
sees what they did, as data, and nothing of what they are."""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from zoolab.jsontext import canonical
from zoolab_grader import Callback, Lab, Student, Wrong, case

LAB = Lab("l9", "Test the tester", functions=("faults_of",), seconds=10.0)

Message = dict[str, Any]

ERROR = object()

#: None of them is a part of a word that a rule asks for.
WORDS = ("amber", "willow", "cedar", "falcon", "lantern", "meadow", "copper", "velvet")

#: Ways to be right: the word for an error, whether the last calls are left, and whether an error ends with
#: its reason. To refuse one costs the case of the right loops only: the other cases are played in the first
#: way that is not refused.
WAYS = (
    *(("ERROR", False, False), ("Error", False, False), ("error", False, False)),
    *(("ERROR", True, False), ("ERROR", False, True)),
)

MOST_CHARACTERS, MOST_REPLIES, MOST_CALLS, MOST_RUNS = 10_000, 30, 30, 100
#: So many times the calls and the runs are played in every case but the first: there they cost the case.
PATIENCE = 10


class Loop:
    """A right loop. A broken one takes another way at one of its steps."""

    def __init__(self, bench: "Bench", limit: int) -> None:
        self.bench, self.limit, self.seen = bench, limit, dict[str, Message]()
        self.late, self.rounds = False, list[tuple[list[Message], list[Message]]]()

    def lead(self, given: list[Message]) -> list[Message]:
        messages = self.opening(given)
        for turn in range(self.limit):
            reply = self.bench.reply(self.sent(messages, turn), self.offered(turn))
            messages.append(self.kept(reply))
            calls = self.calls(reply, turn)
            if not calls:
                break
            self.late = turn == self.limit - 1
            results = self.at_limit(calls, turn) if self.late else self.results(calls, turn)
            messages.extend(results)
            self.rounds.append((calls, results))
            if self.ends():
                break
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

    def at_limit(self, calls: list[Message], turn: int) -> list[Message]:
        return self.left(calls) if self.bench.leaves else self.results(calls, turn)

    def ends(self) -> bool:
        return False

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
        if self.bench.reason_last:
            return f"{self.bench.error} ({self.bench.word}): {why}"
        return f"{self.bench.error}: {why} ({self.bench.word})"


class FirstLast(Loop):
    """Right: the first call of a reply runs last; the results stand in the order of the calls. JSON is laid
    out as short as it can be, and the word for an error has one capital letter."""

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        found = super().results(calls[1:] + calls[:1], turn)
        return found[-1:] + found[:-1]

    def failed(self, why: str) -> str:
        return f"Error: {why} ({self.bench.word})"


class Chatty(Loop):
    """Right: other words, other JSON, a name in each result; the last calls are answered and not run."""

    def results(self, calls: list[Message], turn: int) -> list[Message]:
        if turn < self.limit - 1:
            return [{"name": call["function"]["name"], **self.result(call)} for call in calls]
        return self.left(calls)

    def left(self, calls: list[Message]) -> list[Message]:
        skipped = {"role": "tool", "content": f"Skipped ({self.bench.word})."}
        named = [(call["function"]["name"], call["id"]) for call in calls]
        return [{"name": name, "tool_call_id": id, **skipped} for name, id in named]

    def unread(self, _name: str) -> str:
        return self.failed("the arguments are not one JSON object")

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, indent=4, ensure_ascii=False)

    def failed(self, why: str) -> str:
        again = "You may try again, ask the user, or go on without it. " * 4
        return f"Sorry, this did not work ({self.bench.word}). The error was: {why}. {again}"


#: What each right loop makes use of.
RIGHT = {
    Loop: "the plainest there is",
    FirstLast: "one that runs the first call last",
    Chatty: "one that words, lays out and names things its own way, and leaves the last calls",
}


class Bench:
    """Where one loop is tried: plays the model and the tools, and writes down what happens.

    `word` is drawn, and stands in what a right loop is free to say: no record can be known beforehand.
    """

    def __init__(
        self,
        loop: type[Loop],
        word: str = "",
        error: str = "ERROR",
        leaves: bool = False,
        reason_last: bool = False,
        patience: int = PATIENCE,
    ) -> None:
        self.patience = patience
        self.word, self.error, self.leaves, self.reason_last = word, error, leaves, reason_last
        self.loop, self.runs, self.walk = loop, 0, list[Message]()
        self.replies, self.tools = list[Message](), dict[str, Message]()
        self.requests, self.executed = list[Message](), list[Any]()

    def run(self, messages: Any, replies: Any, tools: Any, limit: Any = 8) -> dict[str, Any]:
        """Lead one conversation with the loop; what the student's code calls."""
        _check_scenario(messages, replies, tools, limit, MOST_CALLS * self.patience)
        self.runs += 1
        most = MOST_RUNS * self.patience
        if self.runs > most:
            raise RuntimeError(f"more than {most} runs of one loop")
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


def _check_scenario(messages: Any, replies: Any, tools: Any, limit: Any, most_calls: int) -> None:
    """Refuse what no loop could be led through, with a word that helps."""
    if type(limit) is not int or not 0 < limit <= MOST_REPLIES:
        raise ValueError(f"run: limit is a whole number from 1 to {MOST_REPLIES}")
    text = canonical([messages, replies, tools])
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"run: a scenario has at most {MOST_CHARACTERS:,} characters")
    _check_parts(text, most_calls)


@lru_cache(maxsize=1_000)
def _check_parts(text: str, most_calls: int) -> None:
    """Each loop meets the same scenarios: what has passed once is not checked again."""
    messages, replies, tools = json.loads(text)
    if not _all(messages, _is_message):
        raise ValueError("run: messages is a list of dicts, each with a role")
    if not _all(replies, _is_reply) or not 0 < len(replies) <= MOST_REPLIES:
        raise ValueError(f"run: replies is a list of 1 to {MOST_REPLIES} assistant messages, calls complete")
    if sum(len(reply.get("tool_calls") or []) for reply in replies) > most_calls:
        raise ValueError(f"run: a scenario has at most {most_calls} calls")
    if not isinstance(tools, dict) or not _all([*tools.values()], _is_tool):
        raise ValueError('run: tools is a dict, name -> {"returns": value} or {"raises": "why"}')


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


def _is_json(arguments: str) -> bool:
    try:
        return json.loads(arguments) is not ERROR
    except ValueError:
        return False


def _asks_in_vain(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if self.late:
        self.bench.reply(messages, self.offered(0))
    return messages


def _results_before_the_reply(self: Loop, given: list[Message]) -> list[Message]:
    messages = self.opening(given)
    for turn in range(self.limit):
        reply = self.bench.reply(messages, self.offered(turn))
        calls = self.calls(reply, turn)
        messages = [*messages, *self.results(calls, turn), reply]
        if not calls:
            break
    return messages


def _contents_rotated(_calls: list[Message], results: list[Message]) -> list[Message]:
    contents = [result["content"] for result in results]
    moved = contents[1:] + contents[:1]
    return [{**result, "content": content} for result, content in zip(results, moved, strict=True)]


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


def _edited(_self: Loop, given: list[Message]) -> list[Message]:
    kept = [dict(message) for message in given]
    given[0]["content"] = "Use tools."
    return kept


def _once(self: Loop, calls: list[Message], _turn: int) -> list[Message]:
    """Runs no two calls with the same name and arguments in one reply."""
    made = {canonical(call["function"]): self.result(call) for call in _without_doubles(calls)}
    return [{**made[canonical(call["function"])], "tool_call_id": call["id"]} for call in calls]


def _without_doubles(calls: list[Message]) -> list[Message]:
    return [
        call for n, call in enumerate(calls) if call["function"] not in [c["function"] for c in calls[:n]]
    ]


def _once_failed(self: Loop, name: str, arguments: Message) -> str:
    """Does not run a tool again that has failed."""
    if name in self.seen:
        return str(self.seen[name]["content"])
    content = Loop.run(self, name, arguments)
    if "raises" in self.bench.tools[name]:
        self.seen[name] = {"content": content}
    return content


def _by_id(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    results = Loop.results(self, calls, turn)
    said = {result["tool_call_id"]: result["content"] for result in results}
    return [{**result, "content": said[result["tool_call_id"]]} for result in results]


def _can_run(self: Loop, function: Message) -> bool:
    try:
        return function["name"] in self.bench.tools and bool(self.parsed(function["arguments"]) or True)
    except ValueError:
        return False


def _asks_again(when: Callable[[Message], bool]) -> type[Loop]:
    """A loop that asks once more after an answer of this kind."""

    def lead(self: Loop, given: list[Message]) -> list[Message]:
        messages = Loop.lead(self, given)
        while (
            messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls") and when(messages[-1])
        ):
            messages.append(self.bench.reply(messages, self.offered(0)))
        return messages

    return _broken(lead=lead)


def _with_tidy_arguments(reply: Message) -> Message:
    """Writes the arguments of calls as JSON again."""
    if not reply.get("tool_calls"):
        return reply
    return {**reply, "tool_calls": [_tidy(call) for call in reply["tool_calls"]]}


def _tidy(call: Message) -> Message:
    try:
        arguments = json.dumps(json.loads(call["function"]["arguments"]), ensure_ascii=False)
    except ValueError:
        return call
    return {**call, "function": {**call["function"], "arguments": arguments}}


def _raising_with_the_last_reply(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if len(self.bench.requests) == self.limit:
        raise RuntimeError("the limit is reached")
    return messages


def _saying_that_it_ends(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    return [*messages, {"role": "assistant", "content": "I had to stop."}] if self.late else messages


def _runs_a_similar_one(meant: Callable[[str], str]) -> type[Loop]:
    """A loop that runs the tool that is meant by a name."""

    def unknown(self: Loop, name: str, arguments: str) -> str:
        for tool in self.bench.tools:
            if meant(tool) == meant(name):
                return self.content(tool, arguments)
        return Loop.unknown(self, name, arguments)

    return _broken(unknown=unknown)


def _runs_joined(self: Loop, name: str, arguments: str) -> str:
    """Runs the tool that has underscores where this name has spaces."""
    joined = name.replace(" ", "_")
    known = joined in self.bench.tools
    return self.content(joined, arguments) if known else Loop.unknown(self, name, arguments)


def _one_of_several(_self: Loop, arguments: str) -> Message:
    """Reads the first JSON object of a text, whatever follows it."""
    value, _end = json.JSONDecoder().raw_decode(arguments.strip())
    if not isinstance(value, dict):
        raise ValueError(arguments)
    return value


def _read_twice(self: Loop, arguments: str) -> Message:
    value = json.loads(arguments)
    return Loop.parsed(self, value if isinstance(value, str) else arguments)


def _reads(other: Callable[[str], Any]) -> type[Loop]:
    """A loop that takes what is not one JSON object for what `other` makes of it, if that is an object."""

    def parsed(self: Loop, arguments: str) -> Message:
        try:
            return Loop.parsed(self, arguments)
        except ValueError:
            value = other(arguments)
            if not isinstance(value, dict):
                raise
            return value

    return _broken(parsed=parsed)


def _is_nothing(*texts: str) -> type[Loop]:
    """A loop that takes these arguments for `{}`."""
    return _reads(lambda arguments: {} if arguments.strip(" ") in texts else None)


def _closed(arguments: str) -> Any:
    for end in ("}", "null}", '"}'):
        if _is_json(arguments + end):
            return json.loads(arguments + end)
    return None


def _of_pairs(arguments: str) -> Any:
    value: Any = json.loads(arguments)
    pairs = (
        value and isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    )
    return {str(name): of for name, of in value} if pairs else None


def _first_of(arguments: str) -> Any:
    value: Any = json.loads(arguments)
    return value[0] if value and isinstance(value, list) else None


def _of_number(arguments: str) -> Any:
    return {"input": 0} if type(json.loads(arguments)) in (int, float) else None


def _is_failure(result: Message) -> bool:
    return str(result["content"]).upper().startswith("ERROR")


def _numbered_later(self: Loop, call: Message) -> Message:
    result, before = Loop.result(self, call), {one["id"] for calls, _ in self.rounds for one in calls}
    return {**result, "tool_call_id": f"{call['id']}-2"} if call["id"] in before else result


def _answered_before(self: Loop, given: list[Message]) -> list[Message]:
    self.seen = {one["tool_call_id"]: one for one in given if one["role"] == "tool" and "tool_call_id" in one}
    return list(given)


def _running_old_calls(self: Loop, given: list[Message]) -> list[Message]:
    for call in [call for one in given for call in one.get("tool_calls") or []]:
        self.result(call)
    return list(given)


def _without(key: str) -> Callable[[Message], Message]:
    return lambda message: {name: value for name, value in message.items() if name != key}


def _in_place_at_the_limit(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    if self.late:
        given[:] = messages
    return messages


def _stripped_message(message: Message) -> Message:
    return {**message, "content": message["content"].strip()} if message.get("content") else message


def _answers(change: Callable[[Message], Message]) -> type[Loop]:
    """A loop that changes replies without calls."""
    return _broken(kept=lambda _self, reply: reply if reply.get("tool_calls") else change(reply))


def _requests(change: Callable[[Message], Message]) -> type[Loop]:
    """A loop that changes replies with calls."""
    return _broken(kept=lambda _self, reply: change(reply) if reply.get("tool_calls") else reply)


def _without_a_late_answer(self: Loop, given: list[Message]) -> list[Message]:
    messages = Loop.lead(self, given)
    just = self.limit > 1 and len(self.bench.requests) == self.limit and not self.late
    return messages[:-1] if just else messages


def _counted(_self: Loop, reply: Message, _turn: int) -> list[Message]:
    calls: list[Message] = reply.get("tool_calls", [])
    return calls if len(calls) else []


def _told_apart_if_unknown(self: Loop, reply: Message) -> Message:
    """A user message in the place of a reply that calls unknown tools only."""
    names = [call["function"]["name"] for call in reply.get("tool_calls") or []]
    if not names or not self.bench.tools or any(name in self.bench.tools for name in names):
        return reply
    return {"role": "user", "content": f"{self.bench.error}: there is no {', '.join(names)}"}


def _no_results_if_unknown(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    known = not self.bench.tools or any(call["function"]["name"] in self.bench.tools for call in calls)
    return Loop.results(self, calls, turn) if known else []


def _of_kind(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _instead(fits: Callable[[Any], bool], other: Callable[[Any], Any]) -> type[Loop]:
    """A loop that gives other content if a tool returns a value that fits."""
    return _broken(text=lambda self, value: other(value) if fits(value) else Loop.text(self, value))


def _each_argument(change: Callable[[Any], Any]) -> type[Loop]:
    return _with_arguments(lambda arguments: {name: change(value) for name, value in arguments.items()})


def _without_arguments(*values: Any) -> type[Loop]:
    """A loop that leaves out arguments with these values."""
    left_out = [canonical(value) for value in values]
    return _with_arguments(
        lambda arguments: {
            name: value for name, value in arguments.items() if canonical(value) not in left_out
        }
    )


def _late_results(change: Callable[[list[Message]], list[Message]]) -> type[Loop]:
    return _broken(at_limit=lambda self, calls, turn: change(Loop.at_limit(self, calls, turn)))


def _running_broken_calls_at_the_limit(self: Loop, calls: list[Message], turn: int) -> list[Message]:
    for call in calls:
        if call["function"]["name"] in self.bench.tools and not _can_run(self, call["function"]):
            self.run(call["function"]["name"], {})
    return Loop.at_limit(self, calls, turn)


def _with_arguments(change: Callable[[Message], Message]) -> type[Loop]:
    return _broken(run=lambda self, name, arguments: Loop.run(self, name, change(arguments)))


def _text_unless(other: Callable[[Any], str | None]) -> type[Loop]:
    """A loop that words some values of tools in another way: those for which `other` gives a text."""

    def text(self: Loop, value: Any) -> str:
        said = other(value)
        return Loop.text(self, value) if said is None else said

    return _broken(text=text)


IDLE = _broken(lead=lambda _self, given: list(given))
FIRST_ONLY = _some_calls(lambda calls: calls[:1])
ONE_ROUND = _calls_unless(lambda _reply, turn: turn)
TWICE = _broken(run=_twice)
MIXED_UP = _broken(results=_by_name)
OWN_ID = _retold(lambda result: {**result, "tool_call_id": "call_1"})
NO_ID = _retold(_without("tool_call_id"))
ONCE_AN_ID = _broken(results=_once_an_id)
CONTENTS_MOVED = _results(_contents_rotated)
REPLY_LAST = _broken(lead=_results_before_the_reply)
AS_USER = _retold(lambda result: {**result, "role": "user"})
NO_ROLE = _retold(_without("role"))
REVERSED = _results(lambda _calls, results: results[::-1])
IN_QUOTES = _broken(text=lambda _self, value: json.dumps(value))
EDITED = _broken(opening=_edited)
FORGETS_ONCE = _sends(lambda said, turn: said[:-1] if turn == 2 else said)
NO_LIMIT, ONE_MORE = _with_limit(100), _with_limit(1)
FORGETS_REPLIES = _sends(lambda said, _turn: [one for one in said if not one.get("tool_calls")])
OFFERS_SOME = _broken(offered=lambda self, turn: Loop.offered(self, turn)[:5])
DROPS_TEXT = _broken(
    kept=lambda _self, reply: {**reply, "content": None} if reply.get("tool_calls") else reply
)
TEXT_ENDS = _calls_unless(lambda reply, _turn: reply.get("content"))
SILENT = _broken(raised=lambda _self, _why: "")
VAGUE = _broken(raised=lambda self, _why: self.bench.error)
ONLY_WHY = _broken(raised=lambda _self, why: why)
ONLY_NAMED = _broken(unknown=lambda _self, name, _arguments: f"{name} is not here")
UNREAD = _broken(unread=lambda _self, _name: "None")
ASKS_IN_VAIN = _broken(lead=_asks_in_vain)
STOPS = _broken(results=_until_an_error)
RAISES = _broken(run=lambda self, name, arguments: self.text(self.bench.execute(name, arguments)))
SKIPS_UNKNOWN = _broken(results=_of_known_tools)
RUNS_EMPTY = _broken(parsed=_or_nothing)
NO_ANSWER = _broken(lead=lambda self, given: Loop.lead(self, given)[:-1])
ONCE = _broken(results=_once)
FIVE_ONLY = _some_calls(lambda calls: calls[:5])
BY_ID = _broken(results=_by_id)
NO_FALSE_ONES = _without_arguments(0, False)
NO_EMPTY = _without_arguments("", [], {})
LOWER_NAMES = _with_arguments(lambda arguments: {name.lower(): value for name, value in arguments.items()})
TEXT_TO_NUMBER = _each_argument(lambda v: int(v) if isinstance(v, str) and v.isdigit() else v)
JSON_TO_VALUE = _each_argument(
    lambda v: json.loads(v) if isinstance(v, str) and v[:1] == "{" and _is_json(v) else v
)
STRIPS_ARGUMENTS = _each_argument(lambda v: v.strip() if isinstance(v, str) else v)
CUTS_ARGUMENTS = _each_argument(lambda v: v[:100] if isinstance(v, str) else v)
DICTS_AS_PYTHON = _instead(_of_kind(dict), str)
NONE_AS_IT_IS = _instead(_of_kind(type(None)), lambda value: value)
NONE_IS_BLANK = _instead(_of_kind(type(None)), lambda _value: "")
NO_RESULTS = _instead(lambda value: value in ([], {}), lambda _value: "no results")
ZERO_IS_NULL = _instead(lambda value: value == 0, lambda _value: "null")
ROUNDS = _instead(_of_kind(float), lambda value: str(round(value)))
NO_FALSE_KEYS = _instead(
    _of_kind(dict), lambda value: json.dumps({name: of for name, of in value.items() if of})
)
CUTS_LISTS = _instead(_of_kind(list), lambda value: json.dumps(value[:50]))
ERROR_KEY = _instead(
    lambda value: isinstance(value, dict) and "error" in value, lambda value: f"ERROR: {value['error']}"
)
ERROR_TEXT = _instead(
    lambda value: isinstance(value, str) and value.lower().startswith("error"),
    lambda _value: "ERROR: the tool failed",
)
FLOATS = _instead(lambda value: isinstance(value, str) and value.isdigit(), lambda value: f"{value}.0")
NO_LINE_END = _text_unless(lambda value: value.rstrip("\n") or None if isinstance(value, str) else None)
FILLS = _text_unless(lambda value: "(nothing)" if value == "" else None)
BRIEF = _broken(raised=lambda self, why: self.failed(why[:100]))
FIRST_LINE = _broken(raised=lambda self, why: self.failed(why.split("\n")[0]))
LOWER_REASON = _broken(raised=lambda self, why: self.failed(why.lower()))
FIVE_FAILURES_END = _broken(
    ends=lambda self: (
        len(self.rounds) > 4 and all(_is_failure(one) for _, of in self.rounds[-5:] for one in of)
    )
)
NOT_AGAIN = _broken(run=_once_failed)
RUNS_IN_OTHER_LETTERS = _runs_a_similar_one(str.lower)
RUNS_STRIPPED = _runs_a_similar_one(str.strip)
RUNS_JOINED = _broken(unknown=_runs_joined)
RUNS_WITHOUT_PREFIX = _runs_a_similar_one(lambda name: name.removeprefix("functions."))
NAMED_IN_SMALL = _broken(unknown=lambda self, name, _arguments: Loop.unknown(self, name.lower(), ""))
RUNS_BLANK = _reads(lambda arguments: {} if arguments == "" else None)
RUNS_SPACES = _reads(lambda arguments: {} if arguments.isspace() else None)
CLOSES = _reads(_closed)
OPENS_FENCES = _reads(lambda arguments: json.loads(arguments.strip().strip("`").removeprefix("json")))
SKIPS_PROSE = _reads(
    lambda arguments: json.loads(arguments[arguments.find("{") :]) if "{" in arguments else None
)
SINGLE_QUOTES = _reads(lambda arguments: json.loads(arguments.replace("'", '"')))
DROPS_COMMA = _reads(lambda arguments: json.loads(re.sub(r",(?=\s*[}\]])", "", arguments)))
RUNS_NULL, RUNS_EMPTY_TEXT, RUNS_EMPTY_LIST = _is_nothing("null"), _is_nothing('""'), _is_nothing("[]")
RUNS_PAIRS, RUNS_FIRST_OF_LIST, RUNS_NUMBERS = _reads(_of_pairs), _reads(_first_of), _reads(_of_number)
RUNS_THE_FIRST = _broken(parsed=_one_of_several)
RUNS_FALSE = _is_nothing("false")
READS_TWICE = _broken(parsed=_read_twice)
FILLS_TEXT = _requests(lambda reply: {**reply, "content": ""} if reply.get("content", "") is None else reply)
TIDIES = _broken(kept=lambda _self, reply: _with_tidy_arguments(reply))
ASKS_IF_BLANK = _asks_again(lambda answer: answer.get("content") == "")
ASKS_IF_NONE = _asks_again(lambda answer: answer.get("content") is None)
ASKS_IF_EMPTY = _asks_again(lambda answer: answer.get("tool_calls") == [])
COUNTS_NONE = _broken(calls=_counted)
NO_LATE_ANSWER = _broken(lead=_without_a_late_answer)
FILLS_ANSWER = _answers(lambda reply: {**reply, "content": ""} if reply.get("content") is None else reply)
BLANK_TO_NONE = _requests(lambda reply: {**reply, "content": reply.get("content") or None})
ASKS_ANEW = _broken(kept=_told_apart_if_unknown, results=_no_results_if_unknown)
NUMBERS_LATER = _broken(result=_numbered_later)
ANSWERED_BEFORE = _broken(
    opening=_answered_before,
    results=lambda self, calls, _turn: [self.seen.get(call["id"]) or self.result(call) for call in calls],
)
RUNS_OLD_CALLS = _broken(opening=_running_old_calls)
STRIPS_GIVEN = _broken(opening=lambda _self, given: [_stripped_message(one) for one in given])
IN_PLACE_AT_LAST = _broken(lead=_in_place_at_the_limit)
NO_HISTORY = _broken(
    opening=lambda _self, given: [one for one in given if one["role"] in ("system", "developer", "user")]
)
NO_TOOLS_LAST = _broken(offered=lambda self, turn: Loop.offered(self, turn) if turn < self.limit - 1 else [])
TEN_AT_MOST = _broken(__init__=lambda self, bench, limit: Loop.__init__(self, bench, min(limit, 10)))
LATE_RESULT_LOST = _late_results(lambda results: results[:-1])
LATE_ID = _late_results(
    lambda results: [{**one, "tool_call_id": results[0]["tool_call_id"]} for one in results]
)
LEFT_NO_TEXT = _broken(
    at_limit=lambda self, calls, _turn: [{**one, "content": None} for one in self.left(calls)]
)
LATE_BROKEN_RUN = _broken(at_limit=_running_broken_calls_at_the_limit)
LATE_TEXT_LOST = _broken(
    kept=lambda self, reply: (
        {**reply, "content": None}
        if reply.get("tool_calls") and len(self.bench.requests) == self.limit
        else reply
    )
)
NOT_AT_ONE = _broken(__init__=lambda self, bench, limit: Loop.__init__(self, bench, limit - (limit == 1)))
SAYS_IT_ENDS = _broken(lead=_saying_that_it_ends)
RAISES_IN_TIME = _broken(lead=_raising_with_the_last_reply)


class Refused(Wrong):
    """A right loop was refused."""


def _finds_a_fault(student: Student, bench: Bench) -> bool:
    """Whether the student's code finds a fault in this loop; raises `Refused` if the loop is a right one."""
    try:
        faults = student.call("faults_of", Callback(bench.run, "run")).value
    except Wrong as wrong:
        raise Wrong(wrong.happened, walk=bench.walk) from None
    if not isinstance(faults, list) or not all(isinstance(fault, str) for fault in faults):
        raise Wrong("`faults_of` did not return a list of texts", walk=bench.walk)
    if faults and bench.loop in RIGHT:
        happened = f"a right loop was refused, {RIGHT[bench.loop]}: {faults[0][:200]}"
        raise Refused(happened, walk=bench.walk)
    return bool(faults)


#: Broken loops in which no fault was found, each with its last conversation.
Missed = dict[type[Loop], list[Message]]


def _missed(student: Student, chance: Random, loops: Sequence[type[Loop]]) -> Missed:
    """Show these loops and the plainest right one, in mixed order, to a process that has seen none, in each
    of the ways until a right one is not refused.

    The order is the same for everybody: code that counts loops has no luck with one draw and more with
    another.
    """
    refused = []
    for way in WAYS:
        try:
            return _missed_in_one_way(student, chance, [*dict.fromkeys([*loops, Loop])], *way)
        except Refused as wrong:
            refused.append(wrong)
    raise refused[0]


def _missed_in_one_way(
    student: Student, chance: Random, loops: list[type[Loop]], *way: Any, patience: int = PATIENCE
) -> Missed:
    student.stop()
    missed: Missed = {}
    for loop in Random(f"mixed {[loop.__name__ for loop in loops]}").sample(loops, len(loops)):
        bench = Bench(loop, chance.choice(WORDS), *way, patience=patience)
        if not _finds_a_fault(student, bench) and loop not in RIGHT:
            missed[loop] = bench.walk
    return missed


def _fail_if(missed: Missed) -> None:
    for walk in missed.values():
        raise Wrong("the broken loop was passed: no fault found", walk=walk)


def _tell_apart(student: Student, chance: Random, *loops: type[Loop]) -> None:
    """Raise `Wrong` unless the student's code tells right loops from each of these."""
    _fail_if(_missed(student, chance, loops))


CALLS_LOST = (ONE_ROUND, FIVE_ONLY, ONCE)
CALLS_DOUBLED = (TWICE, RUNS_OLD_CALLS)
OTHER_ARGUMENTS = (
    *(NO_FALSE_ONES, NO_EMPTY, LOWER_NAMES, TEXT_TO_NUMBER, JSON_TO_VALUE),
    *(STRIPS_ARGUMENTS, CUTS_ARGUMENTS),
)
ARGUMENTS_MIXED_UP = (MIXED_UP, *OTHER_ARGUMENTS)
CONTENTS_CHANGED = (
    *(DICTS_AS_PYTHON, NONE_AS_IT_IS, NONE_IS_BLANK, NO_RESULTS, ZERO_IS_NULL, ROUNDS, NO_FALSE_KEYS),
    *(CUTS_LISTS, ERROR_KEY, ERROR_TEXT, FLOATS, IN_QUOTES, NO_LINE_END, FILLS),
)
REASONS = (SILENT, VAGUE, ONLY_WHY, BRIEF, FIRST_LINE, LOWER_REASON)
ERRORS_HIDDEN = (*REASONS, RAISES)
ERROR_STOPS_OTHERS = (STOPS, NOT_AGAIN, FIVE_FAILURES_END)
REQUESTS_CUT = (FORGETS_ONCE, OFFERS_SOME, NO_TOOLS_LAST, NO_HISTORY, STRIPS_GIVEN)
LIMIT_COUNTED_WRONGLY = (ONE_MORE, ASKS_IN_VAIN, NOT_AT_ONE, TEN_AT_MOST)
UNKNOWN_TOOL = (
    *(SKIPS_UNKNOWN, ONLY_NAMED, NAMED_IN_SMALL),
    *(RUNS_IN_OTHER_LETTERS, RUNS_STRIPPED, RUNS_JOINED, RUNS_WITHOUT_PREFIX),
)
BROKEN_ARGUMENTS = (
    *(RUNS_EMPTY, RUNS_BLANK, RUNS_SPACES, UNREAD, RUNS_THE_FIRST),
    *(CLOSES, OPENS_FENCES, SKIPS_PROSE, SINGLE_QUOTES, DROPS_COMMA),
)
IDS_MIXED_UP = (NO_ID, BY_ID, ONCE_AN_ID, NUMBERS_LATER, ANSWERED_BEFORE)
END_AT_THE_LIMIT = (LATE_RESULT_LOST, LATE_ID, LEFT_NO_TEXT, LATE_BROKEN_RUN, RAISES_IN_TIME)

#: A loop, those of its case, and loops that whoever misses it misses, too. To miss these costs the case
#: of the first one only. Nothing is free: it is missed in its case, or is itself charged to another case.
SIMPLER: tuple[tuple[type[Loop], tuple[type[Loop], ...], tuple[type[Loop], ...]], ...] = (
    (IDLE, (IDLE,), (FIVE_FAILURES_END, NOT_AT_ONE, TEN_AT_MOST)),
    (FIRST_ONLY, (FIRST_ONLY,), (FIVE_ONLY, ONCE, MIXED_UP, BY_ID, STOPS)),
    (FIRST_ONLY, (FIRST_ONLY,), (REVERSED, CONTENTS_MOVED, LATE_ID, LATE_BROKEN_RUN)),
    (OWN_ID, (OWN_ID,), (NO_ID, LATE_ID, ANSWERED_BEFORE)),
    (FORGETS_REPLIES, (FORGETS_REPLIES,), (FORGETS_ONCE, NO_TOOLS_LAST)),
    (NO_LIMIT, (NO_LIMIT,), (ONE_MORE, ASKS_IN_VAIN, NOT_AT_ONE)),
    (NO_LIMIT, (NO_LIMIT,), (NO_TOOLS_LAST, SAYS_IT_ENDS, NO_LATE_ANSWER, LATE_TEXT_LOST)),
    (NO_LIMIT, (NO_LIMIT,), (*END_AT_THE_LIMIT, IN_PLACE_AT_LAST)),
    (TEXT_ENDS, (TEXT_ENDS,), (DROPS_TEXT, LATE_TEXT_LOST)),
    (ONE_ROUND, CALLS_LOST, (ONCE_AN_ID, NUMBERS_LATER, NOT_AGAIN, FIVE_FAILURES_END)),
    (ONE_ROUND, CALLS_LOST, (TEN_AT_MOST, FORGETS_ONCE, NO_TOOLS_LAST)),
    (TWICE, CALLS_DOUBLED, (ONCE, MIXED_UP, *OTHER_ARGUMENTS, NOT_AGAIN)),
    (TWICE, CALLS_DOUBLED, (LATE_BROKEN_RUN,)),
    (MIXED_UP, ARGUMENTS_MIXED_UP, (ONCE,)),
    (DICTS_AS_PYTHON, CONTENTS_CHANGED, (*REASONS, CONTENTS_MOVED, BY_ID)),
    (DICTS_AS_PYTHON, CONTENTS_CHANGED, (ONLY_NAMED, NAMED_IN_SMALL, UNREAD)),
    (ONLY_WHY, ERRORS_HIDDEN, (ONLY_NAMED, UNREAD)),
    (VAGUE, ERRORS_HIDDEN, (NAMED_IN_SMALL,)),
    (SILENT, ERRORS_HIDDEN, (NOT_AGAIN,)),
    (RUNS_EMPTY, BROKEN_ARGUMENTS, (LATE_BROKEN_RUN,)),
    (SKIPS_UNKNOWN, UNKNOWN_TOOL, (ASKS_ANEW,)),
    (NO_HISTORY, REQUESTS_CUT, (RUNS_OLD_CALLS, ANSWERED_BEFORE)),
)


def _find(student: Student, chance: Random, *loops: type[Loop]) -> None:
    """As `_tell_apart`, but a loop may be missed with a simpler one that costs another case, if one of these
    loops is found."""
    missed, played = _missed(student, chance, loops), dict[tuple[type[Loop], ...], Missed]()
    found = len(missed) < len(loops)
    for loop, walk in missed.items():
        if not (found and _is_charged_elsewhere(student, chance, loop, played)):
            _fail_if({loop: walk})


def _is_charged_elsewhere(
    student: Student, chance: Random, loop: type[Loop], played: dict[tuple[type[Loop], ...], Missed]
) -> bool:
    for simpler, its_case, harder in SIMPLER:
        if loop in harder:
            if its_case not in played:
                try:
                    played[its_case] = _missed(student, chance, its_case)
                except Wrong:
                    played[its_case] = {}
            if simpler in played[its_case]:
                return True
    return False


@case(points=4, hint="Rules bind, habits do not: order of running, words of errors, layout.", public=True)
def right_loops_pass(student: Student, chance: Random) -> None:
    """Passes every right loop, in whatever way it is right, and finds one that does nothing at all."""
    _fail_if(_missed_in_one_way(student, chance, [IDLE, *RIGHT], patience=1))


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
    _tell_apart(student, chance, NO_LIMIT)


@case(
    points=2,
    hint="Six calls in a reply, several replies with calls, and equal calls with other ids.",
)
def calls_lost(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the second round, one that runs five calls of a reply at most, and one
    that does not run equal calls of a reply again."""
    _find(student, chance, *CALLS_LOST)


@case(points=2, hint="`executed` holds each call that ran. Let the given messages hold calls, too.")
def calls_doubled(student: Student, chance: Random) -> None:
    """Finds a loop that runs calls twice, and one that runs the calls in the given messages."""
    _find(student, chance, *CALLS_DOUBLED)


@case(
    points=1,
    hint="Call a tool twice in one reply, with other arguments; let them be of all kinds, false, "
    "empty, long, with spaces or capital letters, or a number or an object in a text. Compare "
    "`executed` with them.",
)
def arguments_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that runs two calls of a tool with the arguments of one of them. Finds loops that
    leave out arguments that are 0, false or empty, write names of arguments in small letters, make a
    number or an object of a text, strip a text, or cut a long one."""
    _find(student, chance, *ARGUMENTS_MIXED_UP)


@case(
    points=2,
    hint="Compare each id with the one in your script. Let two calls of a reply have one id, a later reply "
    "repeat it, and the given messages have it already.",
)
def ids_mixed_up(student: Student, chance: Random) -> None:
    """Finds a loop that gives results no id. Finds loops that confuse calls with one id: in one reply,
    where they get the same content, and in a later one or in the given messages, where a call does not
    run and gets the earlier result. Finds one that gives a repeated id a number in the later result."""
    _find(student, chance, *IDS_MIXED_UP)


@case(points=1, hint="Compare the role of each result, not only its id. A key can be missing.")
def wrong_role(student: Student, chance: Random) -> None:
    """Finds a loop that gives results the role `user`, with their ids, and one that gives them none."""
    _find(student, chance, AS_USER, NO_ROLE)


@case(
    points=1, hint="Compare ids in order, and what stands beside each id. The calls need different results."
)
def wrong_order(student: Student, chance: Random) -> None:
    """Finds a loop that gives results in reverse, one that mixes up what they say, and one that appends
    the reply after the results."""
    _find(student, chance, REVERSED, CONTENTS_MOVED, REPLY_LAST)


@case(
    points=2,
    hint="Tools return strings, empty, of digits, with a line end or with the word `error`, which come as "
    "they are; and each other kind of value, also false and empty ones, a long list, and a dict with a key "
    "`error`.",
)
def content_is_no_json(student: Student, chance: Random) -> None:
    """Finds loops that write a dict as Python writes it, give None as it is and not as text, leave out
    false values of a dict, cut a list, round a number, or say something else if a value is empty, zero
    or None. Finds loops that put a string into quotes, take off its last line end, fill it if it is
    empty or take it for a number, and loops that take a value about errors for an error."""
    _find(student, chance, *CONTENTS_CHANGED)


@case(
    points=2,
    hint="The reply stays as it came: compare all of it. Lay out arguments in your own way. Let the "
    "content be a text, None and an empty text.",
)
def reply_changed(student: Student, chance: Random) -> None:
    """Finds a loop that drops the text of a reply with calls, always or at the limit, one that fills it
    if there is none, one that makes None of an empty one, one that lays out the arguments anew, and one
    that puts an error in the place of a reply that calls unknown tools only."""
    _find(student, chance, DROPS_TEXT, LATE_TEXT_LOST, FILLS_TEXT, BLANK_TO_NONE, TIDIES, ASKS_ANEW)


@case(points=1, hint="Script a reply that has both.")
def text_ends(student: Student, chance: Random) -> None:
    """Finds a loop that takes a reply with text and calls for the answer."""
    _find(student, chance, TEXT_ENDS)


@case(
    points=2,
    hint="Let a tool raise; look for `error` in any letters, and for all that the tool said: a long text "
    "of several lines with capitals.",
)
def errors_hidden(student: Student, chance: Random) -> None:
    """Finds a loop that keeps from the model that a tool failed, one that keeps why, one that says why
    without the word `error`, and one that ends with the exception. Finds two that say only the beginning
    of the reason, or its first line, and one that says it in small letters."""
    _find(student, chance, *ERRORS_HIDDEN)


@case(
    points=2,
    hint="The first of two calls fails, and replies follow that call the same tools again. Let all calls "
    "of five replies fail, and let a further reply follow.",
)
def error_stops_others(student: Student, chance: Random) -> None:
    """Finds a loop that leaves out the calls after one that failed, one that does not run a tool again
    that has failed, and one that ends the conversation if five replies fail in a row."""
    _find(student, chance, *ERROR_STOPS_OTHERS)


@case(
    points=2,
    hint="Call a tool that is not in `tools`, and some with similar names: in capital letters, with a "
    "space, with a space for `_`, or with `functions.` before it. Read the results, and `executed`.",
)
def unknown_tool(student: Student, chance: Random) -> None:
    """Finds a loop that gives no result for a tool that does not exist, one that names it in small
    letters, one that does not say `error`, and four that run a tool with a similar name."""
    _find(student, chance, *UNKNOWN_TOOL)


@case(
    points=2,
    hint="Script arguments that end in the middle, are empty or only spaces, have words or a fence around "
    "the object, go on after it, or have single quotes or a comma before the closing brace.",
)
def broken_arguments(student: Student, chance: Random) -> None:
    """Finds a loop that runs a tool with {} when the arguments cannot be read, two that do so only if
    they are empty or spaces, and one that does not say `error`. Finds loops that mend arguments: they
    close an object, read the first of two, or ignore words, a fence, single quotes or a comma too
    many."""
    _find(student, chance, *BROKEN_ARGUMENTS)


@case(
    points=1,
    hint="Compare the number of requests exactly, with limit 1, with 12, and with a small one.",
)
def limit_counted_wrongly(student: Student, chance: Random) -> None:
    """Finds a loop that asks once more than `limit` allows, one that does so and forgets the reply,
    one that does not ask with limit 1, and one that asks ten times at most."""
    _find(student, chance, *LIMIT_COUNTED_WRONGLY)


@case(
    points=2,
    hint="Compare every request, whole: `messages` and `tools`. Begin in the middle of a conversation, with "
    "calls and results in it, and with spaces around a text.",
)
def requests_cut(student: Student, chance: Random) -> None:
    """Finds a loop that leaves the last message out of one request, one that offers some of the tools,
    and one that offers none at the limit. Finds one that takes earlier replies and results out of the
    given messages, and one that strips their texts."""
    _find(student, chance, *REQUESTS_CUT)


@case(
    points=1,
    hint="What comes back ends with the last reply, as it came, and nothing is asked after it, even if its "
    "text is empty or None, or `tool_calls` is an empty list or None.",
)
def answer_missing(student: Student, chance: Random) -> None:
    """Finds two loops that return the messages without the answer: always, or if it is the last reply
    that `limit` allows. Finds one that adds a message at the limit, and one that puts an empty text
    into an answer without text. Finds three that ask once more after the answer: if its text is empty
    or None, or if it has an empty list of calls. Finds one that raises if its calls are None."""
    asks = (ASKS_IF_BLANK, ASKS_IF_NONE, ASKS_IF_EMPTY, COUNTS_NONE)
    _find(student, chance, NO_ANSWER, NO_LATE_ANSWER, SAYS_IT_ENDS, FILLS_ANSWER, *asks)


@case(points=1, hint="`given` is the caller's list afterwards: compare all of it, also at the limit.")
def callers_list_changed(student: Student, chance: Random) -> None:
    """Finds a loop that appends to the caller's list of messages at the limit, and one that rewrites its
    first message."""
    _find(student, chance, IN_PLACE_AT_LAST, EDITED)


@case(
    points=1,
    hint="Arguments can be JSON and yet no object: null, false, a number, a text, and lists of all kinds. "
    "Nothing may run, and the result says `error`.",
)
def arguments_that_are_a_list(student: Student, chance: Random) -> None:
    """Finds loops that run a tool when its arguments are null, false, a number, an empty text, an
    object in a text, or a list: an empty one, one of pairs, or one of objects."""
    lists = (RUNS_EMPTY_LIST, RUNS_PAIRS, RUNS_FIRST_OF_LIST)
    _find(student, chance, *lists, RUNS_NULL, RUNS_FALSE, RUNS_NUMBERS, RUNS_EMPTY_TEXT, READS_TWICE)


@case(
    points=2,
    hint="At the limit, look at what comes back: the last reply, and one `tool` result with text for each "
    "of its calls, some of which fail. They run once at most. The last reply may be an answer, too.",
)
def end_at_the_limit(student: Student, chance: Random) -> None:
    """Finds loops that leave the last call of the last reply without a result at the limit, give all
    these results one id, give them no text, or run broken calls. Finds one that raises there
    instead of returning the messages."""
    _find(student, chance, *END_AT_THE_LIMIT)
