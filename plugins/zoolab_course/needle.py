"""Needle behind OpenAI's Chat Completions format: each run of its engine gives one completion.

Needle is one shot: it sees the system message, the last user message and the tools, and chooses calls. It
writes no final answer and does not see results. Its thought comes as `reasoning_content`; when it declines
to call, the thought is its content. All that it wrote is in the completion's `needle.raw`.

A streamed reply is the finished reply in pieces: the engine's own streaming ignores the system message,
the seed and the limit. Ids and times are derived from the request, so that recordings are reproducible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoolab.apis import APIS
from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, digest, encode, excerpt
from zoolab.records import Request
from zoolab_connect.apis.messages import function_in, role_of, text_sent
from zoolab_connect.strict import expect_one_reply

_MAX_TOKENS = 160
_CALL = re.compile(r'\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*+")\s*,\s*"arguments"\s*:\s*')
# Possessive and closed by the end of the text as well: linear on any input.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[{]|[\]}]|,', re.DOTALL)


def complete(body: Mapping[str, Any], engine: Any) -> dict[str, Any]:
    """Return the chat completion that answers a request's body; raises `InvalidInput` if that is malformed.

    `engine` is a `needle_rs.V3Engine`, or has its method `generate`.
    """
    request = APIS["openai"].from_body(body)
    expect_one_reply(request.settings)
    asked = [message for message in request.messages if message["role"] == "user"]
    if not asked or asked[-1].get("content") is None:
        raise InvalidInput(
            "the messages hold no question", expected="a user message with content that is text"
        )
    model = str(body.get("model") or "needle3")
    question = text_sent(asked[-1])
    system = "\n".join(text_sent(message) for message in request.messages if role_of(message) == "system")
    tools = encode(_offered(request))
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    made = engine.generate(
        question,
        tools,
        max_new_tokens=int(_number("max_tokens", _MAX_TOKENS if limit is None else limit, 1, 4096)),
        temperature=float(_number("temperature", body.get("temperature") or 0, 0, 2)),
        seed=int(_number("seed", 42 if body.get("seed") is None else body["seed"], 0, 2**63 - 1)),
        system=system or None,
        constrain=not model.endswith("-raw"),  # a raw model may write anything, others only calls of tools
    )
    written = len(made.get("token_ids") or ())
    positions = int(made.get("positions") or 0)
    if made.get("stop_reason") == "MaxSeqLen" and not written:
        raise InvalidInput("the request is too long", expected=f"fewer than {positions} tokens")
    total = max(positions, written)
    return {
        "id": f"chatcmpl-{digest(canonical(body))}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [_choice(made)],
        "usage": {"prompt_tokens": total - written, "completion_tokens": written, "total_tokens": total},
        "needle": {"raw": made["text"], "stop_reason": made.get("stop_reason")},
    }


def _offered(request: Request) -> list[dict[str, Any]]:
    """Return the tools that may be called. With one tool to choose from, Needle calls that one or none."""
    functions = [function_in(tool, "a tool") for tool in request.tools]
    choice = request.tool_choice
    if choice == "none":
        return []
    offered = [function for function in functions if choice in ("auto", function["name"])]
    if functions and not offered:
        raise InvalidInput(
            f"tool_choice is {excerpt(choice)}, and Needle cannot be made to call a tool",
            expected="auto, none or the name of a tool of the request",
        )
    return offered


def cut_calls(text: str) -> list[tuple[str, str]]:
    """Return the calls in what Needle wrote: names, and arguments as the very text, broken or not."""
    calls: list[tuple[str, str]] = []
    match = _CALL.search(text)
    while match:
        end = _value_end(text, match.end())
        calls.append((match.group(1)[1:-1], text[match.end() : end]))
        match = _CALL.search(text, end)
    return calls


def _value_end(text: str, start: int) -> int:
    depth = 0
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        if token in "]}" or token == ",":
            if depth == 0:
                return match.start()
            depth -= token != ","
            if depth == 0:
                return match.end()
        elif token in "[{":
            depth += 1
    return len(text)


def _choice(made: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(cut_calls(made.get("tool_call") or ""), 1)
    ]
    thought = made.get("reasoning") or ""
    # The limit may come with the last mark of the calls: then nothing of them is missing.
    is_closed = made["text"].rstrip().endswith("</tool_call>")
    cut = made.get("stop_reason") in ("MaxTokens", "MaxSeqLen") and not is_closed
    if calls:
        message = {"role": "assistant", "content": None, "reasoning_content": thought, "tool_calls": calls}
        return {"index": 0, "message": message, "finish_reason": "length" if cut else "tool_calls"}
    declined = made.get("tool_call") == "[]" and thought
    message = {"role": "assistant", "content": thought if declined else made["text"]}
    return {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}


def _number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidInput(f"{name} is {excerpt(value)}", expected=f"a number from {least} to {most}")
    return value
