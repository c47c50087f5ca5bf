"""What a watch costs beside a plain pass-through, and a hundred conversations at once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import openai
import pytest
from played import Turn, cuts, in_chat
from server import Answer, Asked, TestServer

from zoolab import watch

pytestmark = pytest.mark.slow

PASSING = [sys.executable, str(Path(__file__).parent / "passing.py")]
#: Milliseconds at the median of so many requests; the first ten do not count.
MOST, REQUESTS = 5.0, 210


@contextmanager
def started(*words: object) -> Iterator[int]:
    """A server of passing.py in a process of its own; its port."""
    with subprocess.Popen([*PASSING, *map(str, words)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """An endpoint, and a plain pass-through to it."""
    with started("endpoint") as endpoint, started("through", endpoint) as through:
        yield endpoint, through


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "first-byte"])
@pytest.mark.parametrize(("messages", "size"), [(2, 100), (100, 200_000)], ids=["short", "long"])
def test_a_watch_costs_little(ports, tmp_path, messages: int, size: int, stream: bool):
    endpoint, through = ports
    found: list[float] = []
    for attempt in range(5):  # of a machine that does other things, too, the best of five counts
        folder = tmp_path / str(attempt)
        with watch(to=f"http://127.0.0.1:{endpoint}", folder=folder) as seen:
            watched = seen.url.rpartition(":")[2]
            words = ["time", through, watched, REQUESTS, messages, size, int(stream)]
            timed = subprocess.run([*PASSING, *map(str, words)], stdout=subprocess.PIPE, check=True)
        plain, passed = json.loads(timed.stdout)
        print(f"pass-through {plain:.2f} ms, watched {passed:.2f} ms, {passed - plain:.2f} more")
        (trace,) = seen.traces
        assert len(trace.turns) == REQUESTS
        # Where a plain pass-through is slow already, the machine is.
        found.append((passed - plain) / max(MOST, 3 * plain))
        if found[-1] <= 1:
            break
    assert min(found) <= 1


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
