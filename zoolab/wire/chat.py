"""Reads the parts of a request in OpenAI's form: its settings, messages, calls and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import NotStrictJSON, encode, excerpt, parse_json
from zoolab.records import Message, Request

#: Holds the text of arguments that are not a JSON object, for an API that accepts only objects.
RAW = "_raw"


#: OpenAI's own settings of a chat. A setting that another API does not know is left out, because
#: APIs refuse unknown fields. A setting that is not in this list is that API's own, and is sent as it is.
OPENAI_SETTINGS = frozenset(
    [
        *("audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs"),
        *("max_completion_tokens", "max_tokens", "metadata", "modalities", "model", "n"),
        *("parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key"),
        *("prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed"),
        *("service_tier", "stop", "store", "stream", "stream_options", "temperature", "top_logprobs"),
        *("top_p", "user", "verbosity", "web_search_options"),
    ]
)


def at_home(settings: Mapping[str, Any], homes: Iterable[str], taken: Iterable[str]) -> dict[str, Any]:
    """The settings that an API knows; `taken` are the fields that the body itself needs.

    >>> at_home({"seed": 1, "top_k": 2, "messages": []}, ["temperature"], ["messages"])
    {'top_k': 2}
    """
    homeless = OPENAI_SETTINGS.difference(homes).union(taken)
    return {key: value for key, value in settings.items() if key not in homeless}


def with_settings(request: Request, model: str, settings: Mapping[str, Any]) -> Request:
    """The request with the settings of a body; those of the request itself come last, and win.

    >>> with_settings(Request([], settings={"seed": 2}), "m", {"seed": 1}).settings
    {'model': 'm', 'seed': 2}
    """
    named = {"model": model} if model else {}
    return replace(request, settings={**named, **settings, **request.settings})


def renamed(settings: Mapping[str, Any], names: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that `names` knows, under their other names, and the rest.

    >>> renamed({"top_p": 1, "stream": False}, {"top_p": "topP"})
    ({'topP': 1}, {'stream': False})
    """
    known = {names[key]: value for key, value in settings.items() if key in names}
    return known, {key: value for key, value in settings.items() if key not in names}


def as_list(stop: Any) -> Any:
    """OpenAI takes one stop text or a list of them; others want the list.

    >>> as_list("END"), as_list(["END"])
    (['END'], ['END'])
    """
    return [stop] if isinstance(stop, str) else stop


def text_of(message: Message) -> str:
    """The text of a message: of all its parts together, and empty if there is none.

    >>> text_of({"role": "assistant", "content": None})
    ''
    >>> text_of({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
    'Hi'
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(_is_text(part) for part in content):
        return "".join(part["text"] for part in content)
    raise InvalidInput(f"the content of a message is {excerpt(content)}", expected="text, or parts of text")


def role_of(message: Message) -> str:
    """The role of a message: system, user, assistant or tool.

    >>> role_of({"role": "developer", "content": "Be brief."})
    'system'
    """
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise InvalidInput(f"a message has role {excerpt(role)}", expected="system, user, assistant or tool")
    return "system" if role == "developer" else str(role)


def calls_of(message: Message) -> list[tuple[str | None, str, dict[str, Any]]]:
    """The id, the name and the parsed arguments of each call of an assistant message.

    >>> calls_of({"tool_calls": [{"id": "c", "function": {"name": "add", "arguments": '{"a": 1}'}}]})
    [('c', 'add', {'a': 1})]
    """
    found = []
    for call in raw_calls(message):
        function = function_in(call, "a tool call")
        found.append((call.get("id"), function["name"], arguments_object(function.get("arguments") or "")))
    return found


def raw_calls(message: Message) -> list[dict[str, Any]]:
    """The calls of an assistant message, as they are.

    >>> raw_calls({"tool_calls": None})
    []
    """
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidInput(f"tool_calls is {excerpt(calls)}", expected="a list of calls")
    return calls


def function_in(item: Any, what: str) -> dict[str, Any]:
    """The `function` of a tool or of a call.

    >>> function_in({"type": "function", "function": {"name": "now"}}, "a tool")
    {'name': 'now'}
    """
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidInput(f"{what} is {excerpt(item)}", expected="an object with a function that has a name")
    return function


def is_foreign(tool: Any, ours: tuple[str, ...]) -> bool:
    """Whether a tool is an API's own: it has no function, and its type is not in `ours`.

    >>> is_foreign({"type": "web_search"}, ("function",)), is_foreign({"type": "function"}, ("function",))
    (True, False)
    """
    kind = tool.get("type") if isinstance(tool, dict) and "function" not in tool else None
    return isinstance(kind, str) and kind not in ours


def answered_calls(messages: Sequence[Message]) -> list[tuple[int, int] | None]:
    """For each message the call that it answers, as the number of its message and its slot, or None.

    A result belongs to the latest call with its id that has no result yet, because ids may repeat.

    >>> asked = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "add"}}]}
    >>> answered_calls([asked, {"role": "tool", "tool_call_id": "c", "content": "3"}])
    [None, (0, 0)]
    """
    waiting: dict[str, list[tuple[int, int]]] = {}
    found: list[tuple[int, int] | None] = []
    for index, message in enumerate(messages):
        latest: dict[str, list[tuple[int, int]]] = {}
        for slot, call in enumerate(raw_calls(message)):
            latest.setdefault(call.get("id") or "", []).append((index, slot))
        waiting |= latest
        id = message.get("tool_call_id")
        answered = waiting.get(id) if isinstance(id, str) else None
        found.append((answered.pop(0) if len(answered) > 1 else answered[0]) if answered else None)
    return found


def tool_names(messages: Sequence[Message]) -> list[str]:
    """For each message the name of the tool whose result it is; empty if it is not a result.

    >>> asked = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "add"}}]}
    >>> tool_names([asked, {"role": "tool", "tool_call_id": "c", "content": "3"}])
    ['', 'add']
    """
    return [_name(messages, *pair) for pair in zip(messages, answered_calls(messages), strict=True)]


def turns_of(messages: Sequence[Message]) -> list[list[tuple[Message, str]]]:
    """The messages in turns, each beside the tool's name if it is a result: results in a row share a turn.

    >>> user = {"role": "user", "content": "Hi"}
    >>> len(turns_of([user, user]))
    2
    """
    pairs = zip(messages, tool_names(messages), strict=True)
    numbered = enumerate(pairs)
    groups = groupby(numbered, lambda each: "tool" if each[1][0]["role"] == "tool" else each[0])
    return [[pair for _, pair in group] for _, group in groups]


def fresh_ids(messages: Iterable[Message]) -> Iterator[str]:
    """Ids that no call has yet: call_1, call_2, ...

    >>> next(fresh_ids([{"tool_calls": [{"id": "call_1"}]}]))
    'call_2'
    """
    taken = {call.get("id") for message in messages for call in raw_calls(message)}
    return (made for number in count(1) if (made := f"call_{number}") not in taken)


def arguments_text(arguments: Any) -> str:
    """Arguments as JSON text, however they came.

    >>> arguments_text({"a": 1}), arguments_text(None), arguments_text('{"a": ')
    ('{"a":1}', '', '{"a": ')
    """
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return encode(arguments)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("the arguments of a call are not JSON", expected="text or an object") from None


def arguments_object(text: str) -> dict[str, Any]:
    """Arguments as an object; blank is `{}`, and text that is not a strict JSON object goes under `_raw`.

    >>> arguments_object('{"a": 1}'), arguments_object(" "), arguments_object('{"a": ')
    ({'a': 1}, {}, {'_raw': '{"a": '})
    """
    parsed = json_object(text)
    if parsed is None:
        return {RAW: text} if text.strip() else {}
    # An object that looks like wrapped text is wrapped too, so that the two can be told apart.
    return {RAW: text} if parsed.keys() == {RAW} and isinstance(parsed[RAW], str) else parsed


def json_object(text: str) -> dict[str, Any] | None:
    """The object that a text is in strict JSON, or None.

    >>> json_object('{"a": 1}'), json_object("[1]"), json_object("21 degrees")
    ({'a': 1}, None, None)
    """
    try:
        value = parse_json(text)
    except NotStrictJSON:
        return None
    return value if isinstance(value, dict) else None


def is_error(content: str) -> bool:
    """Whether the text of a tool message says that the tool failed, in either envelope of zoolab.

    >>> is_error('{"success": false}'), is_error("ERROR: gave up"), is_error('{"success": true}')
    (True, True, False)
    """
    return content.startswith("ERROR: ") or (json_object(content) or {}).get("success") is False


def _name(messages: Sequence[Message], message: Message, answered: tuple[int, int] | None) -> str:
    if answered is not None:
        index, slot = answered
        return str(messages[index]["tool_calls"][slot]["function"]["name"])
    if message["role"] != "tool":
        return ""
    raise InvalidInput(
        f"a tool message answers {excerpt(message.get('tool_call_id'))}",
        expected="the id of a call that came before it",
    )


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
