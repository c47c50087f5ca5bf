"""A model that plays a script on loopback, in three APIs, whole or streamed, as it is asked.

Nothing here comes from zoolab: the bodies have the forms that the APIs document.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from provider_bodies import REASONING, anthropic, message_item, pieces, responses, responses_stream
from provider_bodies import sse as events
from server import Answer, Asked, TestServer, call, calling, chunk, completion, sse

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Turn:
    """What the model says in one reply: a text, or calls."""

    text: str = ""
    calls: tuple[Call, ...] = ()


ADDS = Turn(calls=(("add", {"a": 2, "b": 3}), ("add", {"a": 4, "b": 5})))
MULTIPLIES = Turn(calls=(("multiply", {"a": 5, "b": 9}),))
ANSWER = Turn("The result is 45.")
#: Two rounds of calls, the first with two calls in one reply.
TASK = (ADDS, MULTIPLIES, ANSWER)
#: The same, after a call whose arguments do not meet the schema.
TASK_WITH_MISTAKE = (Turn(calls=(("add", {"a": 2, "b": "three"}),)), *TASK)


class Player(TestServer):
    """Answers the first request with the first turn, and so on; after the last, with 500."""

    def __init__(self, script: Sequence[Turn]) -> None:
        super().__init__([""])
        self.script = script
        self._each = threading.Lock()

    def next_answer(self, asked: Asked) -> Answer:
        with self._each:
            super().next_answer(asked)
            number = len(self.asked)
        if number > len(self.script):
            return Answer({"error": {"message": "the script is over", "type": "server_error"}}, status=500)
        turn, body = self.script[number - 1], asked.body
        offered = [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())]
        if not turn.calls and "final_answer" in offered:
            # smolagents wants the answer as a call.
            turn = Turn(calls=(("final_answer", {"answer": turn.text}),))
        path = asked.path.partition("?")[0].removeprefix("/v1")
        whole, streamed = FORMS[path](turn, number, body)
        if not body.get("stream"):
            return Answer(whole)
        return Answer(streamed, cuts=cuts(streamed))

    @property
    def root(self) -> str:
        """The address without a path."""
        return self.url.removesuffix("/v1")


def cuts(stream: str) -> tuple[int, ...]:
    """Where the events of a stream end, in bytes."""
    ends, at = [], 0
    for event in stream.replace("\r\n", "\n").split("\n\n"):
        at += len(event.encode()) + 2 + ("\r\n" in stream) * (event.count("\n") + 2)
        ends.append(at)
    return tuple(ends)


def in_chat(turn: Turn, number: int, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A reply in Chat Completions."""
    calls = [call(name, json.dumps(given), f"call_{number}{n}") for n, (name, given) in enumerate(turn.calls)]
    said: dict[str, Any] = calling(*calls) if calls else {"role": "assistant", "content": turn.text}
    own = {"id": f"chatcmpl-{number}", "model": body["model"]}
    whole = completion({**said, "refusal": None}, **own)
    chunks = [chunk({"role": "assistant", "content": "" if turn.text else None}, **own)]
    for n, each in enumerate(calls):
        function = each["function"]
        chunks.append(
            chunk({"tool_calls": [{**each, "index": n, "function": {**function, "arguments": ""}}]}, **own)
        )
        for part in pieces(function["arguments"]):
            chunks.append(chunk({"tool_calls": [{"index": n, "function": {"arguments": part}}]}, **own))
    chunks += [chunk({"content": part}, **own) for part in pieces(turn.text)]
    chunks.append(chunk({}, whole["choices"][0]["finish_reason"], **own))
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**chunk({}, **own), "choices": [], "usage": whole["usage"]})
    return whole, sse(chunks)


def in_responses(turn: Turn, number: int, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A reply in Responses; calls come after a thought."""
    items: list[dict[str, Any]] = [{**REASONING, "id": f"rs_{number}"}] if turn.calls else []
    for n, (name, given) in enumerate(turn.calls):
        names = {"id": f"fc_{number}{n}", "call_id": f"call_{number}{n}", "name": name}
        items.append(
            {"type": "function_call", "status": "completed", **names, "arguments": json.dumps(given)}
        )
    if turn.text:
        items.append({**message_item(turn.text), "id": f"msg_{number}"})
    whole = {**responses(items), "id": f"resp_{number}", "model": body["model"]}
    return whole, responses_stream(whole)


def in_messages(turn: Turn, number: int, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A reply in Anthropic Messages."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text or "I will calculate."}]
    for n, (name, given) in enumerate(turn.calls):
        blocks.append({"type": "tool_use", "id": f"toolu_{number}{n}", "name": name, "input": given})
    whole = anthropic(blocks, "tool_use" if turn.calls else "end_turn")
    whole |= {"id": f"msg_{number}", "model": body["model"]}
    start = {**whole, "content": [], "stop_reason": None}
    said: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
        else:
            empty = {**block, "input": {}}
            parts = ["", *pieces(json.dumps(block["input"]))]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        said.append({"type": "content_block_start", "index": index, "content_block": empty})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        said.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    said.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}})
    return whole, events([*said, {"type": "message_stop"}], named=True)


FORMS = {"/chat/completions": in_chat, "/responses": in_responses, "/messages": in_messages}


@contextmanager
def playing_script(script: Sequence[Turn] = TASK) -> Iterator[Player]:
    """The server for the length of a `with`."""
    server = Player(script)
    try:
        yield server
    finally:
        server.close()
