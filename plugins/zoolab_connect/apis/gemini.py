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
left out, a thought signature stays with its call, or with the text; a schema in `parameters`, whose types are
in capitals, becomes JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar

from zoolab.apis.chat import raw_calls
from zoolab.apis.events import DONE, in_pieces
from zoolab.apis.interface import Body, Tell
from zoolab.apis.merging import copied
from zoolab.apis.reading import Reading, as_dict, dicts_in
from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.records.exchange import Reply, Request
from zoolab.schema.parts import TYPES, subschemas
from zoolab.tokens import Tokens
from zoolab_connect.apis.messages import (
    calls_sent,
    extra,
    in_turns,
    is_error,
    joined_texts,
    json_object,
    kept_as,
    paired_by_place,
    reply_message,
    text_sent,
)
from zoolab_connect.apis.plain import Manner, Notes, Path, system_apart
from zoolab_connect.apis.streams import CallDeltas, text_delta
from zoolab_connect.apis.translated import Fields, Tools, Translated, our_word

_A_MODE = "a functionCallingConfig of mode AUTO, NONE, or ANY with at most one name"
#: Where a message or a call keeps its thought signature.
_SIGNATURE = ("google", "thought_signature")
#: Modes in which a model may call or answer.
_AS_AUTO = ("VALIDATED", "MODE_UNSPECIFIED")
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_PROMISED = frozenset(read_table("zoolab.schema", "keywords.toml")["gemini"])
_MOST_SCHEMAS = 10_000
_OF_TEXT = {"text", "thought", "thoughtSignature"}
#: A step of a JSONPath: a key, a key in quotes, or an index.
_STEP = re.compile(r"\.(\w+)|\[['\"]([^'\"]*)['\"]\]|\[(\d{1,6})\]")
#: Fields whose content is the user's own, and keeps its names.
_USERS_OWN = {
    *("args", "response", "parameters", "parametersJsonSchema", "labels"),
    *("responseSchema", "responseJsonSchema"),
}
#: Fields of more than one word that a request may have.
_FIELDS = {
    *("allowedFunctionNames", "cachedContent", "candidateCount", "codeExecution", "codeExecutionResult"),
    *("displayName", "enumValues", "executableCode", "fileData", "fileUri", "frequencyPenalty"),
    *("functionCall", "functionCallingConfig", "functionDeclarations", "functionResponse"),
    *("generationConfig", "googleSearch", "includeThoughts", "inlineData", "maxOutputTokens"),
    *("mediaResolution", "mimeType", "parametersJsonSchema", "presencePenalty", "responseJsonSchema"),
    *("responseLogprobs", "responseMimeType", "responseModalities", "responseSchema", "safetySettings"),
    *("speechConfig", "stopSequences", "streamFunctionCallArguments", "systemInstruction"),
    *("thinkingBudget", "thinkingConfig", "thinkingLevel", "thoughtSignature", "toolConfig", "topK", "topP"),
    *("urlContext", "videoMetadata", "willContinue"),
}
#: So deep are fields of the API itself.
_DEEPEST = 12


class Gemini(Translated):
    """Gemini's generateContent."""

    name = "gemini"
    label = "Gemini generateContent"
    place = 3
    address = "https://generativelanguage.googleapis.com"
    address_from = "GOOGLE_GEMINI_BASE_URL"
    also_from = ("GEMINI_API_BASE", "GOOGLE_BASE_URL")
    path = "/v1beta/models/{model}:generateContent"
    stream_path = "/v1beta/models/{model}:streamGenerateContent?alt=sse"
    own_paths = "/v1beta/models"
    key_from = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    key_header = "x-goog-api-key"
    watched = True
    ends: ClassVar[dict[str, str]] = {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        **dict.fromkeys(
            ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"
        ),
        **dict.fromkeys(("LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"), "content_filter"),
        **dict.fromkeys(("IMAGE_RECITATION", "MODEL_ARMOR"), "content_filter"),
        **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"), "error"),
        **dict.fromkeys(
            ("MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "IMAGE_OTHER", "NO_IMAGE"), "error"
        ),
        **dict.fromkeys(("OTHER", "FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED"), "error"),
    }
    renamed: ClassVar[dict[str, str]] = {
        "temperature": "temperature",
        "top_p": "topP",
        "top_k": "topK",
        "seed": "seed",
        "presence_penalty": "presencePenalty",
        "frequency_penalty": "frequencyPenalty",
        "n": "candidateCount",
        "stop": "stopSequences",
        "max_tokens": "maxOutputTokens",
        "max_completion_tokens": "maxOutputTokens",
    }
    own = frozenset(
        (
            "cachedContent",
            "generationConfig",
            "labels",
            "safetySettings",
            "serviceTier",
        )
    )
    nested = frozenset(
        (
            "audioTimestamp",
            "candidateCount",
            "enableAffectiveDialog",
            "enableEnhancedCivicAnswers",
            "frequencyPenalty",
            "imageConfig",
            "logprobs",
            "maxOutputTokens",
            "mediaResolution",
            "modelConfig",
            "modelSelectionConfig",
            "presencePenalty",
            "responseJsonSchema",
            "responseLogprobs",
            "responseMimeType",
            "responseModalities",
            "responseSchema",
            "routingConfig",
            "speechConfig",
            "stopSequences",
            "thinkingConfig",
            "topK",
            "topP",
        )
    )

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

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "contents" in body

    def read(self, body: Any, reading: Reading) -> Request:
        return super().read(_in_camels(body), reading)

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        schema = function.get("parameters")
        described = {} if schema is None else {"parametersJsonSchema": schema}
        return {"name": function["name"], **without(function, ("name", "parameters", "strict")), **described}

    def error(self, status: int, said: str, kind: str = "") -> Body:
        return {"error": {"code": status, "message": said, "status": kind.upper() or "UNKNOWN"}}

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Join events: each is a response with further parts of each candidate; those of the first are
        told.
        """
        answer: Body = {}
        candidates: dict[int, Body] = {}
        calls = CallDeltas()
        for event in events:
            if event is not DONE:
                answer |= event
            for place, found in enumerate(dicts_in(event.get("candidates"))):
                index = found.get("index")
                number = index if isinstance(index, int) else place
                known = candidates.setdefault(number, {})
                parts = [*dicts_in(as_dict(known.get("content")).get("parts"))]
                more = dicts_in(as_dict(found.get("content")).get("parts"))
                known |= found
                if "content" in known:
                    known["content"] = {"role": "model", "parts": _joined(parts, more)}
                for part in more if number == min(candidates) else ():
                    whole = known["content"]["parts"][-1] if _is_piece(part) else part
                    tell({} if _is_open(whole) else _delta_of(whole, calls))
        return {**answer, "candidates": [candidates[number] for number in sorted(candidates)]}

    def _end_said(self, answer: Body) -> str | None:
        candidates = dicts_in(answer.get("candidates")) or [{}]
        blocked = as_dict(answer.get("promptFeedback")).get("blockReason")
        if isinstance(blocked, str):
            return blocked if self.ends.get(blocked) == "content_filter" else "SAFETY"
        word = candidates[0].get("finishReason")
        return word if isinstance(word, str) else None

    def _ends_without_content(self, answer: Any) -> bool:
        """Return whether the API says why there is no content: the prompt was blocked, or a call was
        malformed.
        """
        answer = as_dict(answer)
        candidate = next(iter(dicts_in(answer.get("candidates"))), {})
        end = self.ends.get(self._end_said(answer) or "", "stop")
        return end != "stop" and not as_dict(candidate.get("content")).get("parts")

    def events(self, response: Body) -> Iterator[Body]:
        candidate = response["candidates"][0]
        shared: Body = {key: response[key] for key in ("modelVersion", "responseId") if key in response}
        for part in _pieces(candidate["content"]["parts"]):
            content = {"role": "model", "parts": [part]}
            yield {**shared, "candidates": [{"content": content, "index": 0}]}
        ended = {**candidate, "content": {"role": "model", "parts": []}}
        yield {**response, "candidates": [ended]}

    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:  # noqa: ARG002
        (candidate,) = body["candidates"]
        ended = self.word_of(reply.finish_reason) or candidate["finishReason"]
        tokens = Tokens.of(reply.usage)
        counts = {
            "promptTokenCount": tokens.input,
            "candidatesTokenCount": tokens.output,
            "totalTokenCount": tokens.known,
        }
        usage = {key: count for key, count in counts.items() if count is not None}
        head = {"modelVersion": model, "responseId": id}
        return {
            **head,
            "candidates": [{**candidate, "finishReason": ended}],
            **({"usageMetadata": usage} if usage else {}),
        }

    def to_response(self, message: Message) -> dict[str, Any]:
        content = {"role": "model", "parts": _parts_of(self.normalise_reply(message)[0])}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """Return the first candidate; thought signatures, which newer models want back, stay with what they
        sign.
        """
        expected = "a candidate with content"
        if self._ends_without_content(body):
            return reply_message(None, [])
        candidates = reading.items(reading.object(body, expected).get("candidates"), expected)
        candidate = reading.object(candidates[0] if candidates else None, expected)
        content = reading.object(candidate.get("content"), expected)
        return _assistant_in(reading.objects(content.get("parts"), "parts"), reading)

    def _told(self, text: str) -> dict[str, Any]:
        return {"parts": [{"text": text}]}

    def _told_in(self, told: Any, reading: Reading) -> str:
        if isinstance(told, str):
            return told
        content = reading.object(told or {}, "a systemInstruction with parts")
        texts = [_text_in(part, reading) for part in reading.objects(content.get("parts"), "parts")]
        return "\n\n".join(texts) if any(texts) else ""

    def _turns(self, messages: list[Message]) -> list[dict[str, Any]]:
        return [_turn(turn) for turn in in_turns(messages)]

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        given = reading.objects(turns, "a list of contents")
        return paired_by_place([each for turn in given for each in _messages_in(turn, reading)], reading)

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        return {"responseMimeType": "application/json", "responseJsonSchema": described["schema"], **own}

    def _chosen(self, choice: str) -> dict[str, Any]:
        named = {"mode": "ANY", "allowedFunctionNames": [choice]}
        return {"functionCallingConfig": {"mode": _MODES[choice]} if choice in _MODES else named}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        config = reading.object(choice, "a toolConfig").get("functionCallingConfig", {})
        config = reading.object(config, _A_MODE)
        names = reading.items(config.get("allowedFunctionNames"), _A_MODE)
        mode = reading.text(config.get("mode", "AUTO"), _A_MODE).upper()
        if mode == "ANY" and len(names) == 1:
            return reading.text(names[0], _A_MODE)
        if names:
            reading.leave("that only some tools may be called", _A_MODE)
        return our_word("AUTO" if mode in _AS_AUTO else mode, _MODES, reading, _A_MODE)

    def _declared(self, tools: Tools) -> list[dict[str, Any]]:
        return [{"functionDeclarations": super()._declared(tools)}]

    def _declared_in(self, tools: Any, reading: Reading) -> Tools:
        declared: list[dict[str, Any]] = []
        for tool in reading.objects(tools, "tools"):
            others = [name for name in tool if name != "functionDeclarations"]
            if others or not tool:
                reading.leave(f"the tool {', '.join(others)}", f"functionDeclarations, not {excerpt(others)}")
            declared += reading.objects(tool.get("functionDeclarations"), "a list of functions")
        return super()._declared_in(declared, reading)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:  # noqa: ARG002
        function = dict(tool)
        if isinstance(function.get("parameters"), dict):
            function["parameters"] = json_schema(function["parameters"])
        written = function.pop("parametersJsonSchema", ...)
        return function if written is ... else {**function, "parameters": written}

    def _note_schema(self, tool: dict[str, Any], path: Path, notes: Notes) -> None:
        """Note the keywords of a schema that Gemini does not promise to heed."""
        found: set[str] = set()
        waiting = [tool["function"].get("parameters")]
        seen = 0
        while waiting and seen < _MOST_SCHEMAS:
            inner = waiting.pop()
            seen = seen + 1
            if isinstance(inner, dict):
                found |= {str(key) for key in inner if key not in _PROMISED}
                waiting += (child for _path, child in subschemas(inner))
        if found:
            unpromised = f"Gemini does not promise to heed {', '.join(sorted(found)[:9])}"
            notes.add("schema_subset", path, unpromised)


def _in_camels(value: Any, level: int = 0) -> Any:
    """Return a body with fields such as `functionCall`; clients may also write `function_call`, as litellm
    does.
    """
    if level < _DEEPEST and isinstance(value, list):
        return [_in_camels(each, level + 1) for each in value]
    if level >= _DEEPEST or not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, inner in value.items():
        first, *more = str(key).split("_")
        name = "".join([first, *(word.capitalize() for word in more)])
        name = name if name in _FIELDS and name not in {**value, **made} else key
        made[name] = inner if name in _USERS_OWN else _in_camels(inner, level + 1)
    return made


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a schema as Gemini's SDKs write it: with types in capitals, and `nullable`.

    >>> json_schema({"type": "OBJECT", "properties": {"day": {"type": "STRING", "nullable": True}}})
    {'type': 'object', 'properties': {'day': {'type': ['string', 'null']}}}
    """
    made: dict[str, Any] = copied(schema)
    waiting: list[Any] = [made]
    for inner in waiting:
        if len(waiting) > _MOST_SCHEMAS or not isinstance(inner, dict):
            continue
        kind = inner.get("type")
        if isinstance(kind, str) and kind.isupper() and kind.lower() in TYPES:
            inner["type"] = kind.lower()
            if inner.get("nullable") is True:
                del inner["nullable"]
                inner["type"] = [inner["type"], "null"]
        waiting += (child for _path, child in subschemas(inner))
    return made


def _turn(messages: list[tuple[Message, str]]) -> dict[str, Any]:
    message = messages[0][0]
    if message["role"] == "tool":
        results = [
            {"id": each["tool_call_id"], "name": name, "response": _response(text_sent(each))}
            for each, name in messages
        ]
        return {"role": "user", "parts": [{"functionResponse": result} for result in results]}
    role = "model" if message["role"] == "assistant" else message["role"]
    return {"role": role, "parts": _parts_of(message)}


def _parts_of(message: Message) -> list[dict[str, Any]]:
    text = text_sent(message)
    signed = _signed(message)
    parts: list[dict[str, Any]] = [{"text": text, **signed}] if text or signed else []
    for call, (id, name, arguments) in zip(raw_calls(message), calls_sent(message), strict=True):
        own = {"id": id} if id else {}
        parts.append({"functionCall": {**own, "name": name, "args": arguments}, **_signed(call)})
    return parts


def _result_and_back(text: str) -> tuple[str, str | None]:
    """Return a result as it comes back, and the code of the warning where that is not as it went."""
    response = _response(text)
    wrapped = _wrapped(response)
    back = encode(response) if wrapped is None else wrapped
    return back, None if back == text else "result_rewritten"


def _signed(item: Mapping[str, Any]) -> dict[str, Any]:
    signature = extra(item, *_SIGNATURE)
    return {"thoughtSignature": signature} if isinstance(signature, str) and signature else {}


def _keeping(part: Mapping[str, Any]) -> dict[str, Any]:
    signature = part.get("thoughtSignature")
    return kept_as(_SIGNATURE, signature if isinstance(signature, str) else None)


def _messages_in(turn: dict[str, Any], reading: Reading) -> list[Message]:
    """Return the messages of a turn; each result says whose it is as its `tool_name`."""
    parts = reading.objects(turn.get("parts"), "parts")
    role = turn.get("role", "user")
    if role == "model":
        return [_assistant_in(parts, reading)]
    if role not in ("user", "function"):
        raise reading.junk("contents of user and model")
    read = [(_result_in if "functionResponse" in part else _text_in)(part, reading) for part in parts]
    return joined_texts(read, "user")


def _assistant_in(parts: list[dict[str, Any]], reading: Reading) -> Message:
    """Return the assistant's message that parts make; thoughts, and what is neither text nor call, are left
    out.
    """
    said = [part for part in parts if "text" in part and not part.get("thought")]
    calls = [_call_in(part, reading) for part in parts if "functionCall" in part]
    signatures = [kept for part in said if (kept := _keeping(part))]
    text = "".join(reading.text(part["text"]) for part in said)
    return {**reply_message(text, calls), **(signatures[-1] if signatures else {})}


def _text_in(part: dict[str, Any], reading: Reading) -> str:
    if "text" in part:
        return reading.text(part["text"])
    # In their order: a recording knows the request by this word, too.
    kind = next((key for key in part if key not in _OF_TEXT), "a part")
    return reading.stand_in(kind, part, f"text, functionCall and functionResponse, not {excerpt(list(part))}")


def _response(text: str) -> dict[str, Any]:
    response = json_object(text)
    if response is None:
        return {"error" if is_error(text) else "output": text}
    # What looks like a wrapped text is wrapped itself, or nobody could tell the two apart.
    return response if _wrapped(response) is None else {"output": text}


def _wrapped(response: dict[str, Any]) -> str | None:
    """Return the text that stands for itself in a response, or None where the response is the result."""
    key = next(iter(response)) if len(response) == 1 else ""
    text = response.get(key)
    if not isinstance(text, str):
        return None
    return text if key == "output" or (key == "error" and is_error(text)) else None


def _call_in(part: dict[str, Any], reading: Reading) -> dict[str, Any]:
    call = reading.object(part["functionCall"], "a functionCall that is an object")
    return {**reading.call(call.get("id"), call.get("name"), call.get("args")), **_keeping(part)}


def _result_in(part: dict[str, Any], reading: Reading) -> Message:
    result = reading.object(part["functionResponse"], "a functionResponse that is an object")
    response = reading.object(result.get("response", {}), "a response that is an object")
    wrapped = _wrapped(response)
    text = reading.json(response) if wrapped is None else wrapped
    id = result.get("id")
    name = result.get("name")
    called = {"tool_call_id": id if isinstance(id, str) else None, "content": text}
    return {"role": "tool", **called, "tool_name": name if isinstance(name, str) else ""}


def _delta_of(part: Body, calls: CallDeltas) -> Message:
    """Return what a part adds to the message."""
    call = as_dict(part.get("functionCall"))
    return calls.whole(call, "args") if call else text_delta(part.get("text"), part.get("thought"))


def _is_open(part: Body) -> bool:
    """Return whether further pieces of a call will come."""
    return as_dict(part.get("functionCall")).get("willContinue") is True


def _is_piece(part: Body) -> bool:
    """Return whether a part is a piece of a call: these come if `streamFunctionCallArguments` asks for
    them.
    """
    call = part.get("functionCall")
    return isinstance(call, dict) and (
        "partialArgs" in call or "willContinue" in call or not call.get("name")
    )


def _continued(part: Body, more: Body) -> Body:
    """Return a part with a call, and the next piece of it."""
    known = as_dict(part.get("functionCall"))
    call = more["functionCall"]
    arguments = copied(as_dict(known.get("args"))) | as_dict(call.get("args"))
    for piece in dicts_in(call.get("partialArgs")):
        _put(arguments, piece)
    own = {**known, **without(call, ("partialArgs", "willContinue")), "args": arguments}
    own["willContinue"] = call.get("willContinue") is True
    return {**part, **more, "functionCall": own}


def _put(arguments: Body, piece: Body) -> None:
    """Put a value where its JSONPath says; a text goes on with the text that is there."""
    values = [piece[key] for key in ("stringValue", "numberValue", "boolValue") if key in piece]
    steps = [key or quoted or int(n or 0) for key, quoted, n in _STEP.findall(str(piece.get("jsonPath")))]
    within: Any = arguments
    for step, following in pairwise([*steps, None]):
        fits = isinstance(within, list if isinstance(step, int) else dict)
        if not fits:
            return
        if isinstance(step, int):
            step = min(step, len(within))
            within += [None] * (step == len(within))
        before = within[step] if isinstance(step, int) else within.get(step)
        if following is None:
            value = values[0] if values else None
            both = isinstance(before, str) and isinstance(value, str)
            within[step] = f"{before}{value}" if both else value
        elif before is None:
            within[step] = [] if isinstance(following, int) else {}
        within = within[step]


def _joined(parts: list[Body], more: list[Body]) -> list[Body]:
    """Return parts and further ones; a text goes on with the text before, unless that was signed; so does a
    call.
    """
    made = [*parts]
    for part in more:
        last = made[-1] if made else {}
        if _is_piece(part):
            made[-1:] = [_continued(last, part)] if _is_open(last) else [*made[-1:], _continued({}, part)]
            continue
        text = part.get("text")
        before = last.get("text")
        alike = last.keys() <= {"text", "thought"} and last.get("thought") == part.get("thought")
        if isinstance(text, str) and isinstance(before, str) and alike and not part.keys() - _OF_TEXT:
            made[-1] = {**last, **part, "text": before + text}
        else:
            made.append(part)
    return made


def _pieces(parts: list[Body]) -> Iterator[Body]:
    """Yield parts as they are streamed: a text in pieces, with what signs it at the last one."""
    for part in parts:
        text = part.get("text")
        *pieces, last = in_pieces(text) if isinstance(text, str) and text else [text]
        thought = {"thought": part["thought"]} if "thought" in part else {}
        yield from ({"text": piece, **thought} for piece in pieces)
        yield {**part, "text": last} if "text" in part else part
