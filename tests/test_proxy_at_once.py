"""A hundred conversations at once, through one watch."""

from __future__ import annotations

import json
import threading
from itertools import count
from typing import Any

import openai
import pytest
from played import Turn, cuts, in_chat
from server import Answer, Asked, TestServer

from zoolab import watch

pytestmark = pytest.mark.slow


class Many(TestServer):
    """Says in each conversation a number of its own: first in calls, then in its answer."""

    def __init__(self) -> None:
        super().__init__([""])
        self._numbers = count()

    def next_answer(self, asked: Asked) -> Answer:
        messages = asked.body["messages"]
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        number = json.loads(calls[0]["function"]["arguments"])["a"] if calls else next(self._numbers)
        call = ("add", {"a": number, "b": len(calls)})
        turn = Turn(calls=(call,)) if len(calls) < number % 4 else Turn(f"done {number}")
        whole, streamed = in_chat(turn, 10 * number + len(calls), asked.body)
        return Answer(streamed, cuts=cuts(streamed)) if asked.body.get("stream") else Answer(whole)


ADD: Any = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    },
}


def converse(client: openai.OpenAI, stream: bool) -> list[str]:
    """The arguments of the calls of a conversation, and its answer."""
    messages: list[Any] = [{"role": "user", "content": "Add, please."}]
    said: list[str] = []
    while True:
        asked: dict[str, Any] = {"model": "m", "messages": messages, "tools": [ADD]}
        if stream:
            with client.chat.completions.stream(**asked) as events:
                message: Any = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        if not message.tool_calls:
            return [*said, message.content]
        messages.append(message)
        for call in message.tool_calls:
            said.append(call.function.arguments)
            given = json.loads(call.function.arguments)
            result = {"role": "tool", "tool_call_id": call.id, "content": str(given["a"] + given["b"])}
            messages.append(result)


def test_a_hundred_conversations_at_once_are_not_mixed_up():
    server, said = Many(), list[list[str]]()
    together = threading.Barrier(100)

    def run(client: openai.OpenAI, stream: bool) -> None:
        together.wait()
        said.append(converse(client, stream))

    with watch(to=server.url) as seen, openai.OpenAI(api_key="none", max_retries=0) as client:
        threads = [threading.Thread(target=run, args=(client, n % 2 == 0)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    server.close()
    found = [[*(call.arguments for call in trace.tool_calls), str(trace.answer)] for trace in seen.traces]
    assert len(said) == 100
    assert sorted(found) == sorted(said)
    assert [trace.outcome for trace in seen.traces] == ["answer"] * 100
    for trace in seen.traces:
        results = [call.result.message["content"] for turn in trace.turns for call in turn.calls.values()]
        given = [json.loads(call.arguments) for call in trace.tool_calls]
        assert results == [str(each["a"] + each["b"]) for each in given]
