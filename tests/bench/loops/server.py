"""An OpenAI-compatible endpoint on loopback: asks for `add` as often as the prompt says, then is done.

The prompt holds `run-MARK-ROUNDS`; replies are counted by mark. Prints its address.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

MARK = re.compile(rb"run-(\d+)-(\d+)")


def message(body: bytes, number: int, rounds: int) -> dict[str, Any]:
    """The reply with this number. smolagents ends by a tool of its own, `final_answer`."""
    name, arguments = "add", {"a": number, "b": 58}
    if number == rounds:
        if b'"final_answer"' not in body:
            return {"role": "assistant", "content": "done"}
        name, arguments = "final_answer", {"answer": "done"}
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def completion(told: dict[str, Any]) -> bytes:
    """A whole response."""
    reason = "tool_calls" if told.get("tool_calls") else "stop"
    response = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": told, "finish_reason": reason}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    return json.dumps(response).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers each POST in one piece, on a connection that is kept."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    told: ClassVar[Counter[bytes]] = Counter()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        found = MARK.search(body)
        assert found is not None
        mark, rounds = found.groups()
        content = completion(message(body, self.told[mark], int(rounds)))
        self.told[mark] += 1
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    server.serve_forever()
