"""Anthropic's Messages: `POST /v1/messages`.

What differs from OpenAI's form, and is made plain on the way:

    system messages    one text at the top level, wherever they stood
    a call             a `tool_use` block of the assistant's turn; its `input` is an object
    a result           a `tool_result` block of a user's turn; results in a row share one turn
    a failed result    says `is_error`
    broken arguments   `{"_raw": "the text"}`, so that they stay visible
    an empty message   left out: the API takes no empty text, nor one of blanks beside calls
    an id              every call needs one
    a schema           every tool needs one
    max_tokens         required; 8192 unless given, which every model on offer takes (1024 cut calls)
    an answer's schema is in `output_config.format`, without limits such as `maximum`; not sent if it uses
                       what the API does not take, such as objects with free keys

What is read from a body or a response of others, and comes back otherwise: texts of one turn are joined,
and stand before its calls; a text between results is a user's message; the calls that the API answers itself,
and `cache_control`, are left out; `is_error` is an `ERROR: ` before the text. Thinking goes back, signed as
it came, before the text and the calls of its message; it is kept under `extra_content.anthropic.thinking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from zoolab.apis.events import in_pieces
from zoolab.apis.interface import ERROR_KINDS, Body, Tell
from zoolab.apis.merging import copied, merge
from zoolab.apis.reading import Reading, as_dict
from zoolab.files import read_table
from zoolab.jsontext import encode, excerpt
from zoolab.jsontext.readonly import plain
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.messages.outgoing import RAW
from zoolab.records.exchange import Reply, Request
from zoolab.schema.parts import subschemas
from zoolab.tokens import Tokens
from zoolab_connect.apis.messages import (
    arguments_object,
    calls_sent,
    in_turns,
    is_error,
    joined_texts,
    objects_kept,
    reply_message,
    text_sent,
)
from zoolab_connect.apis.order import CALL, THINKING, in_order, kept_in_order, laid_out
from zoolab_connect.apis.plain import Manner, Notes, Placed, system_apart
from zoolab_connect.apis.streams import CallDeltas, text_delta
from zoolab_connect.apis.translated import Fields, Translated, our_word

#: The API needs a number. A reply of 1,024 tokens cut calls; all models that are on offer take 8,192.
MAX_TOKENS = 8_192
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_KEYWORDS = read_table("zoolab.schema", "keywords.toml")
#: The schema of a tool without parameters: the API requires one.
_NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({"type": "object", "properties": {}})
#: Where a message keeps its thinking.
_THINKING = ("anthropic", "thinking")


class Anthropic(Translated):
    """Anthropic's Messages."""

    name = "anthropic"
    label = "Anthropic Messages"
    place = 2
    address = "https://api.anthropic.com"
    address_from = "ANTHROPIC_BASE_URL"
    also_from = ("ANTHROPIC_API_BASE",)
    path = "/v1/messages"
    key_from = ("ANTHROPIC_API_KEY",)
    key_header = "x-api-key"
    headers: ClassVar[dict[str, str]] = {"anthropic-version": "2023-06-01"}
    watched = True
    ends: ClassVar[dict[str, str]] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "pause_turn": "incomplete",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "content_filter",
    }
    settings = frozenset({"metadata", "model", "service_tier", "stream", "temperature", "top_p"})
    renamed: ClassVar[dict[str, str]] = {
        "stop": "stop_sequences",
        "max_tokens": "max_tokens",
        "max_completion_tokens": "max_tokens",
    }
    own = frozenset(
        (
            "cache_control",
            "container",
            "context_management",
            "diagnostics",
            "inference_geo",
            "mcp_servers",
            "output_config",
            "output_format",
            "parallel_tool_calls",
            "speed",
            "stop_sequences",
            "thinking",
            "top_k",
            "user_profile_id",
            "workspace_id",
        )
    )

    instead_of_temperature = frozenset(("top_p",))

    _manner = Manner(of_message=lambda message: _thinking_kept(message))
    _system = "system"
    _answer = "output_config"
    _stops = "stop_sequences"
    _arranged = staticmethod(lambda placed, notes: system_apart(_without_blanks(placed, notes), notes))
    _defaults: ClassVar[dict[str, Any]] = {"max_tokens": MAX_TOKENS}
    _tool_types = ("function", "custom")

    def recognises(self, body: Mapping[str, Any]) -> bool:
        tools = body.get("tools") or ()
        return "system" in body or ("max_tokens" in body and any("input_schema" in tool for tool in tools))

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        schema = function.get("parameters")
        described = {key: function[key] for key in ("name", "description") if key in function}
        others = without(function, (*described, "parameters", "input_schema", "type"))
        return {**described, "input_schema": dict(_NO_PARAMETERS) if schema is None else schema, **others}

    def error(self, status: int, said: str, kind: str = "") -> Body:
        kind = kind or f"{ERROR_KINDS.get(status, 'api')}_error"
        return {"type": "error", "error": {"type": kind, "message": said}}

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Join events: blocks grow, by index."""
        answer: Body = {}
        blocks: list[Body] = []
        at: dict[str, Body] = {}
        calls = CallDeltas()
        for event in events:
            place = str(event.get("index"))
            match event:
                case {"type": "message_start", "message": dict(message)}:
                    answer = {**message}
                case {"type": "content_block_start", "content_block": dict(block)}:
                    at[place] = copied(block)
                    blocks.append(at[place])
                    if block.get("type") == "tool_use":
                        tell(calls.begin(place, block))
                case {"type": "content_block_delta", "delta": dict(delta)}:
                    if place not in at:
                        blocks.append(at.setdefault(place, {}))
                    merge(at[place], _grown(delta))
                    tell(text_delta(delta.get("text")) or calls.more(place, delta.get("partial_json")))
                case {"type": "content_block_stop"} if "partial_json" not in at.get(place, {}):
                    # Gateways send the whole input at once.
                    given = at.get(place, {}).get("input")
                    tell(calls.more(place, given if isinstance(given, str) or not given else encode(given)))
                case {"type": "message_delta"}:
                    usage = {**as_dict(answer.get("usage")), **as_dict(event.get("usage"))}
                    answer |= {**without(event, ("type", "delta")), **as_dict(event.get("delta"))}
                    answer["usage"] = usage
                case {"type": "message_stop"}:
                    break
        for block in blocks:
            if text := block.pop("partial_json", ""):
                block["input"] = arguments_object(text)
        return {**answer, "content": blocks}

    def _end_said(self, answer: Body) -> str | None:
        word = answer.get("stop_reason")
        return word if isinstance(word, str) else None

    def events(self, response: Body) -> Iterator[Body]:
        usage = as_dict(response.get("usage"))
        begun = {**response, "content": [], "stop_reason": None, "stop_sequence": None}
        yield {"type": "message_start", "message": {**begun, "usage": {**usage, "output_tokens": 0}}}
        for index, block in enumerate(response["content"]):
            empty, deltas = _block(block)
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
            yield {"type": "content_block_stop", "index": index}
        ended = {key: response.get(key) for key in ("stop_reason", "stop_sequence")}
        yield {
            "type": "message_delta",
            "delta": ended,
            "usage": {"output_tokens": usage.get("output_tokens", 0)},
        }
        yield {"type": "message_stop"}

    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:  # noqa: ARG002
        tokens = Tokens.of(reply.usage)
        cached = min(tokens.cached or 0, tokens.input or 0)
        written = min(tokens.cache_write or 0, (tokens.input or 0) - cached)
        usage = {
            "input_tokens": (tokens.input or 0) - cached - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "output_tokens": tokens.output or 0,
        }
        ended = self.word_of(reply.finish_reason) or body["stop_reason"]
        return {"model": model, "id": f"msg_{id}", "stop_reason": ended, "usage": usage}

    def to_response(self, message: Message) -> dict[str, Any]:
        blocks = _blocks_of(self.normalise_reply(message)[0])
        ended = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": ""}
        usage = {"input_tokens": 0, "output_tokens": 0}
        return {**head, "content": blocks, "stop_reason": ended, "stop_sequence": None, "usage": usage}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        expected = "a message with a list of content blocks"
        content = reading.object(body, expected).get("content")
        if not isinstance(content, list):
            raise reading.junk(expected)
        return _assistant_in(reading.objects(content, expected), reading)

    def written(self, plain: Request) -> dict[str, Any]:
        body = super().written(plain)
        parallel = plain.settings.get("parallel_tool_calls")
        if plain.tools and plain.tool_choice != "none" and isinstance(parallel, bool):
            body["tool_choice"]["disable_parallel_tool_use"] = not parallel
        return body

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        schema = _enforceable(described["schema"])
        return own if schema is None else {"format": {"type": "json_schema", "schema": schema}, **own}

    def read(self, body: Any, reading: Reading) -> Request:
        request = super().read(body, reading)
        choice = body.get("tool_choice")
        single = choice.get("disable_parallel_tool_use") if choice else None
        if not isinstance(single, bool):
            return request
        return replace(request, settings={**request.settings, "parallel_tool_calls": not single})

    def _told_in(self, told: Any, reading: Reading) -> str:
        return _joined_text(told or "", reading, "\n\n")

    def _turns(self, messages: list[Message]) -> list[Message]:
        return [_turn([message for message, _ in turn]) for turn in in_turns(messages)]

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        given = reading.objects(turns, "a list of messages")
        return [message for turn in given for message in _messages_in(turn, reading)]

    def _chosen(self, choice: str) -> dict[str, Any]:
        return {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}

    def _chosen_in(self, choice: Any, reading: Reading) -> str:
        expected = "tool_choice auto, any, none or a tool with a name"
        kind = reading.object(choice, expected).get("type")
        if kind == "tool":
            return reading.text(choice.get("name"), expected)
        return our_word(kind, _CHOICES, reading, expected)

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:  # noqa: ARG002
        function = {key: value for key, value in tool.items() if key not in ("type", "input_schema")}
        schema = tool.get("input_schema")
        return {**function, "parameters": dict(_NO_PARAMETERS) if schema is None else schema}


def _enforceable(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the nearest schema that the API takes: of closed objects, without limits; None if there
    is none.
    """
    made: dict[str, Any] = plain(schema)
    waiting: list[Any] = [made]
    while waiting:
        inner = waiting.pop()
        if not isinstance(inner, dict):
            return None
        for keyword in inner.keys() - set(_KEYWORDS["anthropic"]):
            del inner[keyword]
        if "properties" in inner:
            inner.setdefault("additionalProperties", False)
        is_open = inner.get("type") == "object" and inner.get("additionalProperties") is not False
        if is_open or not inner.keys() & _KEYWORDS["anthropic_shapes"]:
            return None
        waiting += (child for path, child in subschemas(inner) if path != ("additionalProperties",))
    return made


def _turn(messages: list[Message]) -> Message:
    role = messages[0]["role"]
    if role == "tool":
        return {"role": "user", "content": list(map(_result_block, messages))}
    structured = messages[0].keys() & {"tool_calls", "extra_content"}
    return {"role": role, "content": _blocks_of(messages[0]) if structured else messages[0]["content"]}


def _blocks_of(message: Message) -> list[dict[str, Any]]:
    thinking = _thinking_of(message)
    order = in_order(message, "anthropic", len(thinking))
    return [
        {"type": "text", "text": each} if what == "text" else each
        for what, each in laid_out(order, thinking, text_sent(message), map(_tool_use, calls_sent(message)))
    ]


def _tool_use(call: tuple[str | None, str, dict[str, Any]]) -> dict[str, Any]:
    id, name, arguments = call
    return {"type": "tool_use", **({"id": id} if id else {}), "name": name, "input": arguments}


def _without_blanks(placed: list[Placed], notes: Notes) -> list[Placed]:
    """Return messages without texts of blanks beside calls, which the API refuses."""
    made = []
    for index, message in placed:
        text = message["content"] if message["role"] == "assistant" else None
        if text and not text.strip() and message.keys() - {"role", "content"}:
            notes.add("empty_content", ("messages", index, "content"), "it is left out: it is blank")
            thinking = _thinking_of(message)
            order = (
                each for each in in_order(message, "anthropic", len(thinking)) if each in (THINKING, CALL)
            )
            message = {**message, "content": None, **kept_in_order(_THINKING, thinking, order)}
        made.append((index, message))
    return made


def _thinking_kept(message: Mapping[str, Any]) -> dict[str, Any]:
    thinking = _thinking_of(message)
    return kept_in_order(_THINKING, thinking, in_order(message, "anthropic", len(thinking)))


def _thinking_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [block for block in objects_kept(message, _THINKING) if _is_thinking(block)]


def _is_thinking(block: dict[str, Any]) -> bool:
    """Return whether a block is thinking that can go back: without its signature, the API refuses it."""
    kind = block.get("type")
    return kind == "redacted_thinking" or (kind == "thinking" and isinstance(block.get("signature"), str))


def _result_block(message: Message) -> dict[str, Any]:
    text = text_sent(message)
    block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
    return {**block, "is_error": True} if is_error(text) else block


def _messages_in(turn: dict[str, Any], reading: Reading) -> list[Message]:
    """Return the messages of a turn: a user's one may hold several results."""
    role = turn.get("role")
    content = turn.get("content")
    if role not in ("system", "user", "assistant"):
        raise reading.junk("messages of system, user and assistant")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = reading.objects(blocks, "content that is text or blocks")
    if role == "assistant":
        return [_assistant_in(blocks, reading)]

    def read(block: dict[str, Any]) -> Message | str:
        result = block.get("type") == "tool_result" and role == "user"
        return _result_in(block, reading) if result else _text_in(block, reading)

    return joined_texts(map(read, blocks), role)


def _assistant_in(blocks: list[dict[str, Any]], reading: Reading) -> Message:
    """Return the assistant's message that blocks make; the calls that the API answers itself are left out."""
    texts = [reading.text(block.get("text")) for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    made = [reading.call(call.get("id"), call.get("name"), call.get("input")) for call in calls]
    thinking = list(filter(_is_thinking, blocks))
    order = [each for block in blocks if (each := _in_order(block))]
    return {**reply_message("".join(texts), made), **kept_in_order(_THINKING, thinking, order)}


def _in_order(block: dict[str, Any]) -> str | int:
    """Return what a block is in the order of its message; nothing if it is left out."""
    if _is_thinking(block):
        return THINKING
    if block.get("type") == "text":
        return len(block["text"])
    return CALL if block.get("type") == "tool_use" else 0


def _joined_text(content: Any, reading: Reading, between: str) -> str:
    if isinstance(content, str):
        return content
    return between.join(_text_in(block, reading) for block in reading.objects(content, "text or blocks"))


def _result_in(block: dict[str, Any], reading: Reading) -> Message:
    text = _joined_text(block.get("content", ""), reading, "")
    if block.get("is_error") is True and not is_error(text):
        text = f"ERROR: {text}"
    return {"role": "tool", "tool_call_id": reading.text(block.get("tool_use_id"), "an id"), "content": text}


def _text_in(block: dict[str, Any], reading: Reading) -> str:
    kind = block.get("type")
    if kind == "text":
        return reading.text(block.get("text"))
    return reading.stand_in(kind, block, f"text, tool_use and tool_result, not {excerpt(kind)}")


def _grown(delta: Body) -> Body:
    """Return what a delta adds to its block: a citation goes to the list of them."""
    fields = without(delta, ["type"])
    listed = {f"{key}s": [value] for key, value in fields.items() if isinstance(value, dict)}
    return listed | {key: value for key, value in fields.items() if not isinstance(value, dict)}


def _block(block: Body) -> tuple[Body, list[Body]]:
    """Return a block as it begins, and its deltas; one that does not grow comes whole."""
    match block:
        case {"type": "text", "text": str(text)}:
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in in_pieces(text)]
        case {"type": "thinking", "thinking": str(thinking), "signature": signature}:
            deltas = [{"type": "thinking_delta", "thinking": part} for part in in_pieces(thinking)]
            signed = {"type": "signature_delta", "signature": signature}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signed]
        case {"type": "tool_use", "input": dict(given)}:
            # Arguments that are no JSON object stream as the model wrote them.
            raw = given.get(RAW)
            text = raw if isinstance(raw, str) and arguments_object(raw) == given else encode(given)
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *in_pieces(text))]
            return {**block, "input": {}}, deltas
    return block, []
