"""OpenAI's Responses: `POST /responses`.

What differs from OpenAI's Chat Completions, and is made plain on the way:

    the conversation   `input`, a list of items: messages, `function_call`, `function_call_output`
    system messages    the first, if it opens the conversation, is `instructions`; others stay items
    the assistant      a message and its calls are items in a row; so two assistant messages in a row
                       are one, unless both have text
    an empty message   left out
    an id              every call needs one, as its `call_id`
    a tool             flat; `strict` is on unless it is switched off, so False is sent where Chat says
                       nothing; `parameters` is null where there are none
    settings           `max_completion_tokens` is `max_output_tokens`, `reasoning_effort` is in `reasoning`,
                       a schema of the answer is in `text.format`

What is read from a body or a response of others, and comes back otherwise: an `input` of one text is a
user's message; the parts of a message are one text; ids and states of items are left out. Reasoning goes
back with the message that it led to, where it is kept under `extra_content.openai.reasoning`. The call of
a custom tool has its text as the argument `input`, and goes back as it came. A tool without `strict` has
`strict: None` in Chat's form, and goes without again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from zoolab.apis.chat import raw_calls
from zoolab.apis.events import in_pieces
from zoolab.apis.interface import Body, Tell
from zoolab.apis.merging import copied
from zoolab.apis.reading import Reading, as_dict, dicts_in
from zoolab.jsontext import canonical, digest, encode, excerpt
from zoolab.jsontext.values import without
from zoolab.messages import Message
from zoolab.messages.outgoing import RAW
from zoolab.records.exchange import Reply, Request
from zoolab.tokens import Tokens
from zoolab_connect.apis.messages import (
    arguments_text,
    extra,
    json_object,
    kept_as,
    objects_kept,
    reply_message,
)
from zoolab_connect.apis.order import CALL, THINKING, Order, in_order, kept_in_order, laid_out
from zoolab_connect.apis.plain import Manner, Notes, Placed, as_text_of_object, without_empty
from zoolab_connect.apis.streams import CallDeltas, text_delta
from zoolab_connect.apis.translated import Fields, Translated

#: Where a message keeps its reasoning.
_REASONING = ("openai", "reasoning")
#: Where a message keeps the id of the response that OpenAI has stored.
_STORED = ("openai", "response")
#: Marks the call of a custom tool.
_CUSTOM = ("openai", "custom")
_CALLS = ("function_call", "custom_tool_call")
#: How the ids of items begin.
_ITEM_IDS = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}
_TEXTS = ("input_text", "output_text", "text")


#: How the events of texts begin; some servers send them without the event that begins an item.
_OF_TEXT = ("response.output_text.delta", "response.output_text.done", "response.refusal.")
#: The fields of items and parts that grow, and the events that carry them.
_GROWING = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "output_text": ("text", "output_text"),
    "refusal": ("refusal", "refusal"),
}


class Responses(Translated):
    """OpenAI's Responses."""

    name = "responses"
    label = "OpenAI Responses"
    place = 1
    address = "https://api.openai.com/v1"
    address_from = "OPENAI_BASE_URL"
    path = "/responses"
    key_from = ("OPENAI_API_KEY",)
    watched = True
    keeps_replies = True
    ends: ClassVar[dict[str, str]] = {
        "completed": "stop",
        "max_output_tokens": "length",
        "content_filter": "content_filter",
        **dict.fromkeys(("incomplete", "in_progress", "queued"), "incomplete"),
        "failed": "error",
        "cancelled": "error",
    }
    settings = frozenset(
        {
            *("metadata", "model", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention"),
            *("safety_identifier", "service_tier", "store", "stream", "temperature", "top_logprobs"),
            *("top_p", "user", "moderation", "prompt_cache_options"),
        }
    )
    renamed: ClassVar[dict[str, str]] = {
        "max_completion_tokens": "max_output_tokens",
        "max_tokens": "max_output_tokens",
    }
    own = frozenset(
        (
            "access_programs",
            "background",
            "background_options",
            "context_management",
            "conversation",
            "image",
            "include",
            "max_output_tokens",
            "max_tool_calls",
            "reasoning",
            "reasoning_effort",
            "text",
            "truncation",
        )
    )

    _manner = Manner(
        arguments=as_text_of_object,
        roles=("developer",),
        of_message=lambda message: _reasoning_kept(message),
        of_call=lambda call: kept_as(_CUSTOM, _custom_input(call) is not None),
    )
    _system = "instructions"
    _conversation = "input"
    _answer = "text"
    _pairs_results = False
    _tool_types = ("function",)

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "input" in body

    def asks(self, body: Mapping[str, Any]) -> bool:
        """Return whether `input` has a message or a result; requests for embeddings have a list of texts
        there.
        """
        items = dicts_in(body.get("input"))
        return any("role" in item or item.get("type") == "function_call_output" for item in items)

    def tool_form(self, function: Mapping[str, Any]) -> dict[str, Any]:
        others = without(function, ("type", "parameters", "strict"))
        # Strict unless it is switched off; None leaves the choice to the API.
        strict = function.get("strict", False)
        sent = {} if strict is None else {"strict": strict}
        return {"type": "function", **others, "parameters": function.get("parameters"), **sent}

    def outgoing(self, request: Request, model: str, **settings: Any) -> Body:
        """Return the body that goes out. OpenAI stores nothing unless asked: then only what is new
        goes out.
        """
        whole = self.to_body(request, model, **settings)
        if not whole.get("store"):
            return {"store": False, "include": ["reasoning.encrypted_content"], **whole}
        messages = list(request.messages)
        while messages and messages[-1].get("role") != "assistant":
            messages.pop()
        stored = as_dict(extra(messages[-1], *_STORED) if messages else None)
        if stored.get("digest") != _digest(messages):
            return whole
        known = len(self.to_body(replace(request, messages=messages), model, **settings)["input"])
        return {**whole, "input": whole["input"][known:], "previous_response_id": stored.get("id")}

    def incoming(self, request: Request, reply: Reply) -> Reply:
        """Return the reply with the id of a response that OpenAI has stored, for the next request."""
        if reply.sent is None or reply.raw is None or not reply.sent.get("store"):
            return reply
        stored = {"id": reply.raw.get("id"), "digest": _digest([*request.messages, reply.message])}
        own = as_dict(as_dict(reply.message.get("extra_content")).get("openai"))
        return replace(
            reply, message={**reply.message, "extra_content": {"openai": {**own, "response": stored}}}
        )

    def assemble(self, events: Iterable[Body], tell: Tell) -> Body:
        """Join events: the last one holds the whole answer; until it comes, items grow by their place."""
        answer: Body = {}
        items: dict[str, Body] = {}
        calls = CallDeltas()
        for event in events:
            item = as_dict(event.get("item"))
            kind = event.get("type")
            place = str(event.get("output_index", event.get("item_id", item.get("id"))))
            answer = as_dict(event.get("response")) or answer
            match kind, item.get("type"):
                case "response.output_text.delta" | "response.refusal.delta", _:
                    tell(text_delta(event.get("delta")))
                case "response.function_call_arguments.delta", _:
                    tell(calls.more(place, event.get("delta")))
                case "response.function_call_arguments.done", _:
                    tell(calls.more(place, _rest(items.get(place), event.get("arguments"))))
                case "response.output_item.done", "function_call":
                    tell(calls.more(place, _rest(items.get(place), item.get("arguments"))))
                case "response.output_item.added", "function_call":
                    tell(calls.begin(place, {**item, "id": item.get("call_id")}))
                case "response.output_item.done", "custom_tool_call":
                    whole = encode({"input": item.get("input")})
                    tell(calls.begin(place, {**item, "id": item.get("call_id")}, whole))
                case "response.completed" | "response.incomplete", _:
                    return {**answer, "output": answer.get("output") or [*items.values()]}
            if kind == "response.output_item.done" or (item and place not in items):
                items[place] = copied(item)
            elif place in items or str(kind).startswith(_OF_TEXT):
                known = items.setdefault(place, {"type": "message", "role": "assistant", "content": []})
                _grow(known, event)
        return {**answer, "status": "in_progress", "output": [*items.values()]}

    def _end_said(self, answer: Body) -> str | None:
        reason = as_dict(answer.get("incomplete_details")).get("reason")
        status = answer.get("status")
        if status == "completed" and "incomplete" in (
            i.get("status") for i in dicts_in(answer.get("output"))
        ):
            status = "incomplete"
        return next((word for word in (reason, status) if isinstance(word, str)), None)

    def _is_whole(self, answer: Body) -> bool:
        return answer.get("status") != "in_progress"

    def events(self, response: Body) -> Iterator[Body]:
        return ({**event, "sequence_number": n} for n, event in enumerate(_unnumbered(response)))

    def _response_fields(self, body: Body, reply: Reply, model: str, id: str, created: int) -> Body:
        output = [
            {**item, "id": f"{_ITEM_IDS[item['type']]}_{id}_{number}"} if item["type"] in _ITEM_IDS else item
            for number, item in enumerate(body["output"], start=1)
        ]
        head = {"model": model, "id": f"resp_{id}", "created_at": created}
        fields: Body = {**head, "output": output, "usage": None}
        tokens = Tokens.of(reply.usage)
        if tokens.known is not None:
            fields["usage"] = {
                "input_tokens": tokens.input or 0,
                "input_tokens_details": {
                    "cached_tokens": tokens.cached or 0,
                    "cache_write_tokens": tokens.cache_write or 0,
                },
                "output_tokens": tokens.output or 0,
                "output_tokens_details": {"reasoning_tokens": tokens.reasoning or 0},
                "total_tokens": tokens.known,
            }
        if reason := self.word_of(reply.finish_reason):
            fields |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        return fields

    def to_response(self, message: Message) -> dict[str, Any]:
        items = _items_of(self.normalise_reply(message)[0])
        output = [_output_item(item, f"item_{number}") for number, item in enumerate(items, 1)]
        head = {"id": "resp_1", "object": "response", "created_at": 0, "status": "completed", "model": ""}
        asked = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}}
        nothing = dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p"))
        return {**head, "output": output, **asked, **nothing}

    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """Join the texts, and leave out the calls that the API answers itself."""
        expected = "a response with a list of output items"
        output = reading.object(body, expected).get("output")
        if not isinstance(output, list):
            raise reading.junk(expected)
        items = reading.objects(output, expected)
        texts = [_text_in(item.get("content"), reading) for item in items if item.get("type") == "message"]
        calls = [_call_in(item, reading) for item in items if item.get("type") in _CALLS]
        reasoning = [item for item in items if item.get("type") == "reasoning"]
        order = [each for item in items if (each := _in_order(item, reading))]
        return {**reply_message("".join(texts), calls), **kept_in_order(_REASONING, reasoning, order)}

    def _turns(self, messages: list[Message]) -> list[dict[str, Any]]:
        items = [item for message in messages for item in _items_of(message)]
        custom = {str(item.get("call_id")) for item in items if item.get("type") == "custom_tool_call"}
        for item in items:
            if item.get("type") == "function_call_output" and str(item["call_id"]) in custom:
                item["type"] = "custom_tool_call_output"
            if item.get("type") == "function_call":
                item["arguments"] = arguments_text(item["arguments"])
        return items

    def _turns_in(self, turns: Any, reading: Reading) -> list[Message]:
        items = [{"role": "user", "content": turns}] if isinstance(turns, str) else turns
        messages: list[Message] = []
        for item in reading.objects(items, "an input of text or items"):
            message = _message_in(_unwrapped(item), reading)
            if message is not None:
                _add(messages, message)
        return messages

    def _arranged(self, placed: list[Placed], notes: Notes) -> list[Message]:
        """Join assistant messages in a row where their items would be read as one."""
        made: list[Message] = []
        for index, message in without_empty(placed, notes):
            if _add(made, message):
                notes.add("messages_merged", ("messages", index))
        return made

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        fields = super()._fields(settings)
        effort = settings.get("reasoning_effort")
        if effort is not None:
            fields.setdefault("reasoning", {"effort": effort})
        return fields

    def _answer_asked(self, described: dict[str, Any], own: Fields) -> Fields:
        return {"format": {"type": "json_schema", **described}, **own}

    def _settings_in(self, fields: Fields) -> Fields:
        settings = super()._settings_in(fields)
        reasoning = settings.get("reasoning")
        if isinstance(reasoning, dict) and reasoning.keys() == {"effort"} and reasoning["effort"] is not None:
            settings["reasoning_effort"] = settings.pop("reasoning")["effort"]
        return settings

    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:  # noqa: ARG002
        function = {key: value for key, value in tool.items() if key != "type"}
        if function.get("parameters") is None:
            function.pop("parameters", None)
        if function.setdefault("strict", None) is False:
            del function["strict"]
        return function


def _items_of(message: Message) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        said = {"call_id": message["tool_call_id"], "output": message["content"]}
        return [{"type": "function_call_output", **said}]
    reasoning = _reasoning_of(message)
    text = message["content"] or ""
    calls = raw_calls(message)
    return [
        {"role": message["role"], "content": each} if what == "text" else each
        for what, each in laid_out(_order_of(message), reasoning, text, map(_call_item, calls))
    ]


def _call_item(call: dict[str, Any]) -> dict[str, Any]:
    own = {"call_id": call["id"]} if "id" in call else {}
    text = _custom_input(call)
    if text is None:
        return {"type": "function_call", **own, **call["function"]}
    return {"type": "custom_tool_call", **own, "name": call["function"]["name"], "input": text}


def _order_of(message: Mapping[str, Any]) -> Order:
    return in_order(message, "openai", len(_reasoning_of(message)))


def _reasoning_kept(message: Mapping[str, Any]) -> dict[str, Any]:
    return kept_in_order(_REASONING, _reasoning_of(message), _order_of(message))


def _in_order(item: dict[str, Any], reading: Reading) -> str | int:
    """Return what an item is in the order of its message; nothing if it is left out."""
    kind = item.get("type")
    if kind == "message":
        return len(_text_in(item.get("content"), reading))
    if kind == "reasoning":
        return THINKING
    return CALL if kind in _CALLS else 0


def _output_item(item: dict[str, Any], id: str) -> dict[str, Any]:
    if item.get("type") == "reasoning":
        return item
    if item.get("type") in _CALLS:
        return {**item, "id": id, "status": "completed"}
    part = {"type": "output_text", "text": item["content"], "annotations": []}
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _text_in(content: Any, reading: Reading) -> str:
    """Return the text of content that is one text, or parts of text; a refusal is said in words as well."""
    if isinstance(content, str):
        return content
    texts = []
    for part in reading.objects(content, "text, or parts of text"):
        kind = part.get("type")
        if kind in (*_TEXTS, "refusal"):
            texts.append(reading.text(part.get("refusal" if kind == "refusal" else "text")))
        else:
            texts.append(reading.stand_in(kind, part, f"parts of text, not {excerpt(kind)}"))
    return "".join(texts)


def _unwrapped(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item of a request; of a call whose arguments went as text under `_raw`, the object that says
    so.
    """
    arguments = item.get("arguments")
    sent = json_object(arguments) if isinstance(arguments, str) and RAW in arguments else None
    wrapped = sent is not None and sent.keys() == {RAW} and isinstance(sent[RAW], str)
    return {**item, "arguments": sent} if wrapped else item


def _call_in(item: dict[str, Any], reading: Reading) -> dict[str, Any]:
    custom = item.get("type") == "custom_tool_call"
    arguments = {"input": reading.text(item.get("input"))} if custom else item.get("arguments")
    return {**reading.call(item.get("call_id"), item.get("name"), arguments), **kept_as(_CUSTOM, custom)}


def _custom_input(call: Mapping[str, Any]) -> str | None:
    """Return the text that the call of a custom tool came with; None for another call, or if it was
    changed.
    """
    arguments = call["function"].get("arguments")
    if extra(call, *_CUSTOM) is not True or not isinstance(arguments, str):
        return None
    text = (json_object(arguments) or {}).get("input")
    return text if isinstance(text, str) and encode({"input": text}) == arguments else None


def _reasoning_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in objects_kept(message, _REASONING) if item.get("type") == "reasoning"]


def _add(made: list[Message], message: Message) -> bool:
    """Add a message, or join it to the last one if their items would be read as one; True if it was."""
    before = made[-1] if made else message
    order = _order_of(before)
    more = _order_of(message)
    two_texts = before["content"] and message["content"] and THINKING not in (*order[-1:], *more[:1])
    if not made or {before["role"], message["role"]} != {"assistant"} or two_texts:
        made.append(message)
        return False
    calls = [*raw_calls(before), *raw_calls(message)]
    joined = reply_message(f"{before['content'] or ''}{message['content'] or ''}", calls)
    reasoning = [*_reasoning_of(before), *_reasoning_of(message)]
    made[-1] = {**joined, **kept_in_order(_REASONING, reasoning, [*order, *more])}
    return True


def _message_in(item: dict[str, Any], reading: Reading) -> Message | None:
    match item.get("type", "message"):
        case "message" if item.get("role") in ("system", "developer", "user", "assistant"):
            text = _text_in(item.get("content"), reading)
            said = {"role": item["role"], "content": text}
            return reply_message(text, []) if item["role"] == "assistant" else said
        case "function_call" | "custom_tool_call":
            return reply_message(None, [_call_in(item, reading)])
        case "function_call_output" | "custom_tool_call_output":
            id = reading.text(item.get("call_id"), "each output with a call_id")
            return {"role": "tool", "content": _text_in(item.get("output"), reading), "tool_call_id": id}
        case "reasoning":
            return {**reply_message(None, []), **kept_as(_REASONING, [item])}
    kind = item.get("type")
    reading.leave(f"{kind} is not shown", f"messages and function calls, not {excerpt(kind)}")
    return None


def _digest(messages: list[Message]) -> str:
    """Return a name for what was said in a conversation; `extra_content` does not count."""
    return digest(canonical([{**message, "extra_content": None} for message in messages]))


def _unnumbered(response: Body) -> Iterator[Body]:
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield from _item_events(item, {"item_id": item.get("id"), "output_index": index})
    yield {"type": f"response.{response.get('status', 'completed')}", "response": response}


def _grow(item: Body, event: Body) -> None:
    """Add to an item what an event says of it: a part that begins, a further piece of text, or all of it."""
    number = event.get("content_index")
    part = as_dict(event.get("part"))
    if event.get("type") == "response.content_part.added":
        item["content"] = [*dicts_in(item.get("content")), {**part}]
    named, _, stage = str(event.get("type")).removeprefix("response.").rpartition(".")
    kind = next((kind for kind, (_, event_name) in _GROWING.items() if event_name == named), "")
    field, _ = _GROWING.get(kind, ("", ""))
    text = event.get("delta" if stage == "delta" else field)
    if stage not in ("delta", "done") or not isinstance(text, str):
        return
    within = item if kind in _CALLS else _part_at(item, number, kind)
    within[field] = (
        f"{within.get(field) or ''}{text}" if stage == "delta" else text or within.get(field) or ""
    )


def _part_at(item: Body, number: Any, kind: str) -> Body:
    """Return the part of an item at a place; the last one, or a new one, if no part began there."""
    parts = dicts_in(item.get("content"))
    if isinstance(number, int) and 0 <= number < len(parts):
        return parts[number]
    if not parts or parts[-1].get("type") != kind:
        parts = [*parts, {"type": kind}]
        item["content"] = parts
    return parts[-1]


def _rest(item: Body | None, whole: Any) -> str:
    """Return what of the arguments of a call did not come in pieces."""
    came = str(as_dict(item).get("arguments") or "")
    return whole.removeprefix(came) if isinstance(whole, str) and whole.startswith(came) else ""


def _item_events(item: Body, place: Body) -> Iterator[Body]:
    index = place["output_index"]
    kind = item.get("type")
    begun = {**item, "status": "in_progress"} if "status" in item else item
    parts = dicts_in(item.get("content")) if kind == "message" else []
    yield {"type": "response.output_item.added", "output_index": index, "item": _empty(begun)}
    yield from _growth(item, place)
    for number, part in enumerate(parts):
        within = {**place, "content_index": number}
        yield {"type": "response.content_part.added", **within, "part": _empty(part)}
        yield from _growth(part, within)
        yield {"type": "response.content_part.done", **within, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _empty(growing: Body) -> Body:
    if growing.get("type") == "message":
        return {**growing, "content": []}
    field, _ = _GROWING.get(str(growing.get("type")), ("", ""))
    return {**growing, field: ""} if field in growing else growing


def _growth(growing: Body, place: Body) -> Iterator[Body]:
    field, name = _GROWING.get(str(growing.get("type")), ("", ""))
    text = growing.get(field)
    if isinstance(text, str):
        more: Body = {"logprobs": []} if field == "text" else {}
        for delta in in_pieces(text):
            yield {"type": f"response.{name}.delta", **place, "delta": delta, **more}
        yield {"type": f"response.{name}.done", **place, field: text, **more}
