"""What the formats have in common in what is sent: reading a request, which is in OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import MAX_CHARS, NotStrictJSON, excerpt, parse_json
from zoolab.records import Message, Request

#: Holds the text of arguments that are no JSON object, where an API takes only objects.
RAW = "_raw"


def settings_of(request: Request, model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a body; those of the request come last, and win.

    >>> settings_of(Request([], settings={"seed": 2}), "m", {"seed": 1})
    {'model': 'm', 'seed': 2}
    """
    named = {"model": model} if model else {}
    return {**named, **settings, **request.settings}


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


def functions_of(request: Request) -> list[dict[str, Any]]:
    """The `function` of each tool of a request.

    >>> functions_of(Request([], ({"type": "function", "function": {"name": "now"}},)))
    [{'name': 'now'}]
    """
    return [_function(tool, "a tool") for tool in request.tools]


def text_of(message: Message) -> str:
    """The text of a message: of its parts together, and empty where there is none.

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


def system_of(messages: Iterable[Message]) -> str:
    """The text of all system messages, for the APIs that keep it apart.

    >>> system_of([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    'Be brief.'
    """
    texts = [text_of(message) for message in messages if role_of(message) == "system"]
    return "\n\n".join(text for text in texts if text)


def calls_of(message: Message) -> list[tuple[str | None, str, dict[str, Any]]]:
    """The id, the name and the parsed arguments of each call of an assistant message.

    >>> calls_of({"tool_calls": [{"id": "c", "function": {"name": "add", "arguments": '{"a": 1}'}}]})
    [('c', 'add', {'a': 1})]
    """
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidInput(f"tool_calls is {excerpt(calls)}", expected="a list of calls")
    return [_call(call, _function(call, "a tool call")) for call in calls]


def tool_names(messages: Iterable[Message]) -> list[str]:
    """For each message the name of the tool whose result it is; empty where it is none.

    A result belongs to the latest call of its id that has none yet, so that ids may repeat.

    >>> asked = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "add"}}]}
    >>> tool_names([asked, {"role": "tool", "tool_call_id": "c", "content": "3"}])
    ['', 'add']
    """
    waiting: dict[Any, list[str]] = {}
    found = []
    for message in messages:
        role = role_of(message)
        if role == "assistant":
            calls = calls_of(message)
            waiting |= {own: [name for id, name, _ in calls if id == own] for own, _, _ in calls}
        found.append(_answered(message, waiting) if role == "tool" else "")
    return found


def arguments_object(arguments: Any) -> dict[str, Any]:
    """Arguments as an object; blank is `{}`, and what is no strict JSON object is kept under `_raw`.

    >>> arguments_object('{"a": 1}'), arguments_object(" "), arguments_object('{"a": ')
    ({'a': 1}, {}, {'_raw': '{"a": '})
    """
    if arguments is None or isinstance(arguments, dict):
        return arguments or {}
    text = arguments if isinstance(arguments, str) else excerpt(arguments, MAX_CHARS)
    parsed = json_object(text)
    if parsed is not None:
        return parsed
    return {RAW: text} if text.strip() else {}


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


def _call(call: dict[str, Any], function: dict[str, Any]) -> tuple[str | None, str, dict[str, Any]]:
    id = call.get("id")
    own = id if isinstance(id, str) else None
    return own, function["name"], arguments_object(function.get("arguments"))


def _answered(message: Message, waiting: Mapping[Any, list[str]]) -> str:
    id = message.get("tool_call_id")
    if not isinstance(id, str) or id not in waiting:
        raise InvalidInput(
            f"a tool message answers {excerpt(id)}", expected="the id of a call that came before it"
        )
    names = waiting[id]
    return names.pop(0) if len(names) > 1 else names[0]


def _function(item: Any, what: str) -> dict[str, Any]:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidInput(f"{what} is {excerpt(item)}", expected="an object with a function that has a name")
    return function


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
