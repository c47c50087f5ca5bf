"""Gemini's generateContent: `POST /v1beta/models/{model}:generateContent`.

What differs from OpenAI's form, and is made plain on the way:

    the model          is named in the address, not in the body; so is whether to stream
    system messages    one `systemInstruction`, wherever they stood
    the assistant      has the role `model`
    a call             a `functionCall` part; its `args` are an object
    a result           a `functionResponse` part with the tool's name; results in a row share one turn
    its `response`     the result, if that is a JSON object; else `{"output": text}` or `{"error": text}`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no turn without parts
    an id              every call gets one, so that its result finds it
    strict             there are no strict tools
    settings           `temperature` and the like live in `generationConfig`; so does a schema of the answer
                       as `responseJsonSchema`, but not beside tools: models before Gemini 3 answer 400

What is read from a body or a response of others, and comes back otherwise: calls and results without ids,
which are paired by name and place; texts of one turn are joined, and stand before its calls; thoughts are
left out, a thought signature stays with its call, or with the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt
from zoolab.records import Message
from zoolab.schema.formats import subschemas
from zoolab.wire import chat
from zoolab.wire.chat import Reading
from zoolab.wire.format import Fields, Manner, Notes, Path, Tools, WireFormat, system_apart

_A_MODE = "a functionCallingConfig of mode AUTO, NONE, or ANY with at most one name"
#: Where a message or a call keeps its thought signature.
_SIGNATURE = ("google", "thought_signature")
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_PROMISED = frozenset(read_table("zoolab.schema", "keywords.toml")["gemini"])
_MOST_SCHEMAS = 10_000


class Gemini(WireFormat):
    """Gemini's generateContent."""

    name = "gemini"
    _manner = Manner(
        result=lambda text: _result_and_back(text),
        of_message=lambda message: _keeping(_signed(message)),
        of_call=lambda call: _keeping(_signed(call)),
    )
    _system = "systemInstruction"
    _conversation = "contents"
    _choice = "toolConfig"
    _nest = "generationConfig"
    _stops = "stopSequences"
    _answer = "generationConfig"
    _answer_beside_tools = False
    _arranged = staticmethod(system_apart)

    def to_response(self, message: Message) -> dict[str, Any]:
        content = {"role": "model", "parts": _parts_of(self.normalise_reply(message)[0])}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """The first candidate; thought signatures, which newer models want back, stay with what they sign."""
        expected = "a candidate with content"
        candidates = reading.items(reading.object(body, expected).get("candidates"), expected)
        candidate = reading.object(candidates[0] if candidates else None, expected)
        content = reading.object(candidate.get("content"), expected)
        return _assistant_in(reading.objects(content.get("parts"), "parts"), reading)

    def _told(self, text: str) -> dict[str, Any]:
        return {"parts": [{"text": text}]}

    def _told_in(self, told: Any, reading: Reading) -> str:
        content = reading.object(told or {}, "a systemInstruction with parts")
        texts = [_text_in(part, reading) for part in reading.objects(content.get("parts"), "parts")]
        return "\n\n".join(texts) if any(texts) else ""

    def _turns(self, messages: list[Message]) -> list[dict[str, Any]]:
        return [_turn(turn) for turn in chat.turns_of(messages)]

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        given = reading.objects(turns, "a list of contents")
        return chat.paired_by_place([each for turn in given for each in _messages_in(turn, reading)], reading)

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        return {"responseMimeType": "application/json", "responseJsonSchema": described["schema"], **own}

    def _chosen(self, choice: str) -> dict[str, Any]:
        named = {"mode": "ANY", "allowedFunctionNames": [choice]}
        return {"functionCallingConfig": {"mode": _MODES[choice]} if choice in _MODES else named}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        config = reading.object(choice, "a toolConfig").get("functionCallingConfig", {})
        config = reading.object(config, _A_MODE)
        names = reading.items(config.get("allowedFunctionNames"), _A_MODE)
        mode = config.get("mode", "AUTO")
        if mode == "ANY" and len(names) == 1:
            return reading.text(names[0], _A_MODE)
        return reading.word(None if names else mode, _MODES, _A_MODE)

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return [{"functionDeclarations": super()._declared(tools)}]

    def _declared_in(self, tools: Any, reading: Reading) -> Tools:
        declared: list[dict[str, Any]] = []
        for tool in reading.objects(tools, "tools"):
            if tool.keys() != {"functionDeclarations"}:
                raise reading.junk(f"functionDeclarations, not {excerpt(list(tool))}")
            declared += reading.objects(tool["functionDeclarations"], "a list of functions")
        return super()._declared_in(declared, reading)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:  # noqa: ARG002
        function = dict(tool)
        written = function.pop("parametersJsonSchema", ...)
        return function if written is ... else {**function, "parameters": written}

    def _note_schema(self, tool: dict[str, Any], path: Path, notes: Notes) -> None:
        """Note the keywords of a schema that Gemini does not promise to heed."""
        found: set[str] = set()
        waiting, seen = [tool["function"].get("parameters")], 0
        while waiting and seen < _MOST_SCHEMAS:
            inner, seen = waiting.pop(), seen + 1
            if isinstance(inner, dict):
                found |= {str(key) for key in inner if key not in _PROMISED}
                waiting += (child for _path, child in subschemas(inner))
        if found:
            unpromised = f"Gemini does not promise to heed {', '.join(sorted(found)[:9])}"
            notes.add("schema_subset", path, unpromised)


def _turn(messages: list[tuple[Message, str]]) -> dict[str, Any]:
    message = messages[0][0]
    if message["role"] == "tool":
        results = [
            {"id": each["tool_call_id"], "name": name, "response": _response(chat.text_of(each))}
            for each, name in messages
        ]
        return {"role": "user", "parts": [{"functionResponse": result} for result in results]}
    role = "model" if message["role"] == "assistant" else message["role"]
    return {"role": role, "parts": _parts_of(message)}


def _parts_of(message: Message) -> list[dict[str, Any]]:
    text, signed = chat.text_of(message), _signed(message)
    parts: list[dict[str, Any]] = [{"text": text, **signed}] if text or signed else []
    for call, (id, name, arguments) in zip(chat.raw_calls(message), chat.calls_of(message), strict=True):
        own = {"id": id} if id else {}
        parts.append({"functionCall": {**own, "name": name, "args": arguments}, **_signed(call)})
    return parts


def _result_and_back(text: str) -> tuple[str, str | None]:
    """A result as it comes back, and the code of the warning where that is not as it went."""
    response = _response(text)
    wrapped = _wrapped(response)
    back = encode(response) if wrapped is None else wrapped
    return back, None if back == text else "result_rewritten"


def _signed(item: Mapping[str, Any]) -> dict[str, Any]:
    signature = chat.extra(item, *_SIGNATURE)
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _keeping(part: Mapping[str, Any]) -> dict[str, Any]:
    signature = part.get("thoughtSignature")
    return chat.kept_as(_SIGNATURE, signature if isinstance(signature, str) else None)


def _messages_in(turn: dict[str, Any], reading: Reading) -> list[Message]:
    """The messages of a turn; each result says whose it is as its `tool_name`."""
    parts = reading.objects(turn.get("parts"), "parts")
    role = turn.get("role", "user")
    if role == "model":
        return [_assistant_in(parts, reading)]
    if role not in ("user", "function"):
        raise reading.junk("contents of user and model")
    read = [(_result_in if "functionResponse" in part else _text_in)(part, reading) for part in parts]
    return chat.joined_texts(read, "user")


def _assistant_in(parts: list[dict[str, Any]], reading: Reading) -> Message:
    """The assistant's message that parts make; thoughts, and what is neither text nor call, are left out."""
    said = [part for part in parts if "text" in part and not part.get("thought")]
    calls = [_call_in(part, reading) for part in parts if "functionCall" in part]
    signatures = [kept for part in said if (kept := _keeping(part))]
    text = "".join(reading.text(part["text"]) for part in said)
    return {**chat.reply_message(text, calls), **(signatures[-1] if signatures else {})}


def _text_in(part: dict[str, Any], reading: Reading) -> str:
    if "text" not in part:
        raise reading.junk(f"text, functionCall and functionResponse, not {excerpt(list(part))}")
    return reading.text(part["text"])


def _response(text: str) -> dict[str, Any]:
    response = chat.json_object(text)
    if response is None:
        return {"error" if chat.is_error(text) else "output": text}
    # What looks like a wrapped text is wrapped itself, or nobody could tell the two apart.
    return response if _wrapped(response) is None else {"output": text}


def _wrapped(response: dict[str, Any]) -> str | None:
    """The text that stands for itself in a response, or None where the response is the result."""
    key = next(iter(response)) if len(response) == 1 else ""
    text = response.get(key)
    if not isinstance(text, str):
        return None
    return text if key == "output" or (key == "error" and chat.is_error(text)) else None


def _call_in(part: dict[str, Any], reading: Reading) -> dict[str, Any]:
    call = reading.object(part["functionCall"], "a functionCall that is an object")
    return {**reading.call(call.get("id"), call.get("name"), call.get("args")), **_keeping(part)}


def _result_in(part: dict[str, Any], reading: Reading) -> Message:
    result = reading.object(part["functionResponse"], "a functionResponse that is an object")
    response = reading.object(result.get("response", {}), "a response that is an object")
    wrapped = _wrapped(response)
    text = reading.json(response) if wrapped is None else wrapped
    id, name = result.get("id"), result.get("name")
    called = {"tool_call_id": id if isinstance(id, str) else None, "content": text}
    return {"role": "tool", **called, "tool_name": name if isinstance(name, str) else ""}
