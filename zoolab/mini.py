"""The whole loop in one file: read this before everything else.

A language model cannot run anything. It writes down which functions it wants to call. A program
runs them, tells the model the results, and asks again until the model answers. `walk` is that
program. It yields a record of each of its six steps:

    define     Tools     the functions that the model may call
    request    Request   what is sent: the messages and the tools
    tool_call  ToolCall  what the model asks for; a Reply, if it asks for nothing
    validate   Verdict   whether the call may run, or all that is wrong with it
    execute    Outcome   what came of running it: a value or an error
    result     Message   the answer to the call, for the model to read

Three rules explain most of the code. Arguments are text until they are validated. Each call gets
exactly one result, and an error is a result, too. `messages[]` keeps what the model wrote.

`zoolab.walk(..., envelope="plain")` takes the same steps, as a test holds. Left out: permission,
repair, retrieval, edits, forced choices, answer schemas; calls in text, parallel, async, streamed,
of MCP; sub-agents; other APIs; thoughts; other limits; interrupts; values that JSON lacks; names
that servers refuse; drafts and rare words of JSON Schema; 1.0 as an integer; hints not in `TYPES`.
"""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_type_hints

import jsonschema

Message = dict[str, Any]
TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
CUT: dict[str | None, str] = {
    "length": "the reply was cut off before its end",
    "content_filter": "the reply was stopped by a filter",
    "error": "the reply failed at the endpoint",
}


class Tool(NamedTuple):
    name: str
    description: str
    parameters: dict[str, Any]  # the JSON Schema of the arguments
    function: Callable[..., Any]


class Request(NamedTuple):
    messages: tuple[Message, ...]  # `messages[]` in the form that every server takes
    tools: tuple[Tool, ...]


class Reply(NamedTuple):
    message: Message
    finish_reason: str | None = None  # why the model stopped, as the server says


class ToolCall(NamedTuple):
    slot: int  # its place in the reply, from 0
    id: str
    name: str
    arguments: str  # the text that the model wrote


class Verdict(NamedTuple):
    arguments: dict[str, Any] | None  # None if the call may not run
    problems: tuple[str, ...] = ()


class Outcome(NamedTuple):
    value: str | None = None  # text as it is, any other value as JSON
    error: str | None = None  # why there is no value, for the model to read


class Step(NamedTuple):
    kind: Literal["define", "request", "tool_call", "validate", "execute", "result"]
    turn: int  # how many requests there were so far
    slot: int | None  # of the call that the step is about; None if it is about none
    record: tuple[Tool, ...] | Request | Reply | ToolCall | Verdict | Outcome | Message
    messages: tuple[Message, ...]  # `messages[]` after the step


def walk(
    messages: Iterable[Message],  # the conversation so far; the list is not changed
    tools: Iterable[Tool | Callable[..., Any]],
    model: Callable[[Request], Message | Reply],
    turns: int = 5,  # requests to the model, at most
    retries: int = 2,  # turns in which calls of the same tool may be invalid
) -> Generator[Step, None, list[Message]]:
    """Ask the model and run its calls until it answers. Yield each step; return all messages."""
    defined = [tool if isinstance(tool, Tool) else define(tool) for tool in tools]
    known = {tool.name: tool for tool in defined}
    if len(known) < len(defined):
        raise ValueError(f"two tools have one name: {', '.join(tool.name for tool in defined)}")
    log = [*messages]
    yield Step("define", 0, None, tuple(defined), ())
    ids = {call["id"] for message in log for call in message.get("tool_calls") or ()}
    failures = Counter[str]()
    for turn in range(1, turns + 1):
        sent = [sendable(it) for it in log if it["role"] != "assistant" or says_something(it)]
        request = Request(tuple(sent), tuple(defined))
        yield Step("request", turn, None, request, tuple(log))
        said = model(request)
        reply = said if isinstance(said, Reply) else Reply(said)
        calls = read_calls(reply.message, ids)
        if not calls:
            if says_something(reply.message):
                log.append({k: v for k, v in reply.message.items() if k != "tool_calls"})
            yield Step("tool_call", turn, None, reply, tuple(log))
            failures["all replies"] += 1
            if reply.finish_reason != "error" or turn == turns or failures["all replies"] > retries:
                return log
            continue  # the server failed, and not the model: ask again
        for call in calls:
            if call is calls[-1]:
                log.append(with_calls(reply.message, calls))
            yield Step("tool_call", turn, call.slot, call, tuple(log))
        verdicts = []
        for call in calls:
            end = reply.finish_reason if call is calls[-1] else None
            verdicts.append(validate(call, known, end))
            yield Step("validate", turn, call.slot, verdicts[-1], tuple(log))
        outcomes = []
        for call, verdict in zip(calls, verdicts, strict=True):
            outcomes.append(execute(call, verdict, known))
            if not verdict.problems:
                yield Step("execute", turn, call.slot, outcomes[-1], tuple(log))
        for call, outcome in zip(calls, outcomes, strict=True):
            content = outcome.value if outcome.error is None else f"ERROR: {outcome.error}"
            log.append({"role": "tool", "tool_call_id": call.id, "content": content})
            yield Step("result", turn, call.slot, log[-1], tuple(log))
        invalid = [call.name for call in calls if verdicts[call.slot].problems]
        for name in dict.fromkeys(name if name in known else "no tool" for name in invalid):
            failures[name] += 1
            if failures[name] > retries:
                raise RuntimeError(f"calls of {name} failed validation in {failures[name]} turns")
    raise RuntimeError(f"no answer after {turns} turns")


def define(function: Callable[..., Any]) -> Tool:
    """Step 1: describe a function to the model by its name, docstring and type hints."""
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters
    required = [name for name, each in parameters.items() if each.default is each.empty]
    if odd := [name for name in parameters if hints.get(name) not in TYPES]:
        raise TypeError(problem(f"hints of {function.__name__}", "str, int, float or bool", odd))
    properties: dict[str, Any] = {name: {"type": TYPES[hints[name]]} for name in parameters}
    for name in parameters.keys() - required:
        properties[name]["default"] = parameters[name].default
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    schema["additionalProperties"] = False
    return Tool(function.__name__, inspect.getdoc(function) or "", schema, function)


def says_something(message: Message) -> bool:
    content = message.get("content") or ""
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return bool(message.get("tool_calls") or "".join(parts).strip())


def sendable(message: Message) -> Message:
    """Put arguments that are broken into a JSON object, because servers parse those of the past."""
    calls = []
    for call in message.get("tool_calls") or ():
        text = call["function"]["arguments"]
        try:
            parse_object(as_text(text))
        except ValueError:
            text = encode({"_raw": text}) if as_text(text).strip() else "{}"
        calls.append({**call, "function": {**call["function"], "arguments": text}})
    return {**message, "tool_calls": calls} if calls else message


def read_calls(message: Message, ids: set[str]) -> list[ToolCall]:
    """Step 3: read what the model asks for. An id that is missing or taken is replaced."""
    calls = []
    for slot, call in enumerate(message.get("tool_calls") or ()):
        own = call.get("id")
        number = 0
        while not own or own in ids:
            number += 1
            own = f"call{number:05d}"
        ids.add(own)
        written = call["function"].get("arguments")
        text = "" if written is None else as_text(written)  # some servers send an object
        calls.append(ToolCall(slot, own, call["function"]["name"], text))
    return calls


def with_calls(message: Message, calls: list[ToolCall]) -> Message:
    """Return the reply for `messages[]`: as it came, with the ids and types that servers want."""
    sent = []
    for call, came in zip(calls, message["tool_calls"], strict=True):
        function = {**came["function"], "arguments": call.arguments}
        sent.append({**came, "id": call.id, "type": "function", "function": function})
    return {**message, "content": message.get("content"), "tool_calls": sent}


def validate(call: ToolCall, tools: Mapping[str, Tool], end: str | None) -> Verdict:
    """Step 4: find what is wrong with a call. The last one of a reply that was cut never runs."""
    arguments: dict[str, Any] | None = None
    if call.name not in tools:
        names = f"one of {', '.join(tools)}" if tools else "no tools at all"
        problems = [problem("arguments", names, excerpt(call.name))]
    else:
        try:
            arguments = parse_object(call.arguments if call.arguments.strip() else "{}")
            problems = problems_of(arguments, tools[call.name].parameters)
        except ValueError as error:
            problems = [str(error)]
    if end in CUT:
        problems.append(problem("arguments", "those of a whole reply", f"{CUT[end]} ({end})"))
    return Verdict(None if problems else arguments, tuple(problems))


def execute(call: ToolCall, verdict: Verdict, tools: Mapping[str, Tool]) -> Outcome:
    """Step 5: run a call, if it may. Whatever the function raises is an outcome, too."""
    if verdict.arguments is None:
        said = "; ".join(verdict.problems)
        return Outcome(error=f"{call.name or 'a tool without a name'}: {said}")
    try:
        return Outcome(as_text(tools[call.name].function(**verdict.arguments)))
    except (Exception, SystemExit) as error:
        return Outcome(error=f"{type(error).__name__}: {error}".removesuffix(": "))


def parse_object(text: str) -> dict[str, Any]:
    """Parse one JSON object, strictly; raise ValueError with what is wrong."""
    text = text.strip(" \t\n\r")
    what = "one JSON value and nothing after it"
    try:
        value, end = STRICT.raw_decode(text)
        if end < len(text):
            raise json.JSONDecodeError(what, text, end)
    except json.JSONDecodeError as error:
        what = what if error.msg == what else f"valid JSON ({error.msg.lower()})"
        at = excerpt(text[error.pos :][:20]) if text[error.pos :] else "the end of the text"
        where = f"{at} at line {error.lineno} column {error.colno}"
        raise ValueError(problem("arguments", what, where)) from None
    if not isinstance(value, dict):
        raise ValueError(problem("arguments", "one JSON object", excerpt(value)))
    return value


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, times in Counter(key for key, _ in pairs).most_common(1):
        if times > 1:
            raise ValueError(problem("arguments", "each key once", f"the key {excerpt(key)} twice"))
    return dict(pairs)


def finite(text: str) -> float:
    if abs(float(text)) < float("inf"):  # NaN is not, either
        return float(text)
    what = ("a JSON value", text) if text[-1].isalpha() else ("a finite number", excerpt(text))
    raise ValueError(problem("arguments", *what))


def problems_of(arguments: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Compare arguments with their schema; return a line for each problem."""
    found = []
    for error in jsonschema.Draft202012Validator(schema).iter_errors(arguments):
        at = "".join(f"/{part}" for part in error.absolute_path)
        keyword = error.validator
        wanted = error.validator_value
        value = error.instance
        properties = error.schema.get("properties", {})
        if keyword == "required":
            for name in [name for name in wanted if name not in value]:
                found.append(problem(f"{at}/{name}", words(properties.get(name)), "nothing"))
        elif keyword == "additionalProperties" and wanted is False:
            only = f"only {', '.join(properties) or 'no arguments'}"
            for name in [name for name in value if name not in properties]:
                found.append(problem(f"{at}/{name}", only, excerpt(value[name])))
        else:
            rule = words({keyword: wanted}, f"{keyword} {excerpt(wanted)}")
            found.append(problem(at or "arguments", rule, excerpt(value)))
    return list(dict.fromkeys(found))


def words(schema: Any, other: str = "a value") -> str:
    match schema:
        case {"enum": values}:
            return "one of " + ", ".join(map(excerpt, values))
        case {"type": kinds}:
            return kinds if isinstance(kinds, str) else " or ".join(kinds)
    return other


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value)


def excerpt(value: Any) -> str:
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in encode(value)[:81])
    return text if len(text) <= 80 else text[:79] + "…"


problem = "{}: expected {}, received {}".format
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
STRICT = json.JSONDecoder(object_pairs_hook=unique_keys, parse_float=finite, parse_constant=finite)
