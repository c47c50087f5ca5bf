"""A plain endpoint, a plain pass-through and a client that times both; each in a process of its own."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Seconds between the first piece of a stream and the others.
PAUSE = 0.005


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def content(self) -> bytes:
        return self.rfile.read(int(self.headers["content-length"]))

    def send(self, headers: dict[str, str], pieces: Iterator[bytes]) -> None:
        """Send an answer in chunks, as its pieces come."""
        self.send_response(200)
        for name, value in {**headers, "transfer-encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class Endpoint(Quiet):
    """Answers at once: it repeats what came last in the request."""

    def do_POST(self) -> None:
        body = json.loads(self.content())
        said = f"It is {len(body['messages'])}: {body['messages'][-1]['content'][:40]}"
        head = {"id": "c", "created": 0, "model": body["model"]}
        if body.get("stream"):
            self.send({"content-type": "text/event-stream"}, self.pieces(head, said))
        else:
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {**head, "object": "chat.completion", "choices": [choice]}
            self.send({"content-type": "application/json"}, iter([json.dumps(answer).encode()]))

    def pieces(self, head: dict[str, Any], said: str) -> Iterator[bytes]:
        deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in said.split(" ")), {}]
        for number, delta in enumerate(deltas):
            choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}
            event = {**head, "object": "chat.completion.chunk", "choices": [choice]}
            yield b"data: " + json.dumps(event).encode() + b"\n\n"
            if number == 0:
                time.sleep(PAUSE)
        yield b"data: [DONE]\n\n"


def pass_through(port: int) -> type[Quiet]:
    """The least that a server must do that passes requests on, and answers as they come."""

    class PassThrough(Quiet):
        def setup(self) -> None:
            super().setup()
            self.further = http.client.HTTPConnection("127.0.0.1", port)

        def do_POST(self) -> None:
            kind = {"content-type": "application/json"}
            self.further.request("POST", self.path, self.content(), kind)
            answer = self.further.getresponse()
            pieces = iter(lambda: answer.read1(65536), b"")
            self.send({"content-type": str(answer.headers["content-type"])}, pieces)

    return PassThrough


def conversation(messages: int, size: int) -> list[dict[str, Any]]:
    """So many messages with so many characters in all."""
    text = "A word of what was said so far. " * (size // messages // 32)
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{n}: {text}"} for n in range(messages - 1)]


def times(port: int, path: str, number: int, messages: list[Any], stream: bool) -> Iterator[float]:
    """The milliseconds of each request of one conversation; of a stream, to its first byte."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json"}
    for turn in range(number):
        messages.append({"role": "user", "content": f"Question {turn}?"})
        body = json.dumps({"model": "m", "messages": messages, "stream": stream}).encode()
        began = time.perf_counter()
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read(1)
        to_first = time.perf_counter() - began
        said += answer.read()
        whole = time.perf_counter() - began
        messages.append({"role": "assistant", "content": said_in(said, stream)})
        yield 1000 * (to_first if stream else whole)


def said_in(content: bytes, stream: bool) -> str:
    if not stream:
        return str(json.loads(content)["choices"][0]["message"]["content"])
    events = [line[6:] for line in content.splitlines() if line.startswith(b"data: {")]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events)


def longest(port: int, path: str, number: int, size: int) -> float:
    """The milliseconds of the longest of so many short requests; another process sends a large one."""
    command = [sys.executable, __file__, "large", str(port), path, str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as large:
        assert large.stdin is not None
        assert large.stdout is not None
        large.stdout.readline()
        waits = list[float]()
        for turn in range(number):
            if turn == number // 10:
                large.stdin.write(b"now\n")
                large.stdin.flush()
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"Question {turn}?"}]})
            began = time.perf_counter()
            ask(port, path, body.encode())
            waits.append(time.perf_counter() - began)
            time.sleep(0.02)
    return 1000 * max(waits[10:])


def ask(port: int, path: str, body: bytes) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", path, body, {"content-type": "application/json"})
    said = connection.getresponse().read()
    connection.close()
    return said


def main(words: list[str]) -> None:
    if words[0] == "large":
        port, path, size = words[1:]
        body = json.dumps({"model": "m", "messages": conversation(100, int(size))}).encode()
        print("made", flush=True)
        sys.stdin.readline()
        ask(int(port), path, body)
        return
    if words[0] == "beside":
        first, second, number, size = map(int, words[1:])
        found = [longest(port, "/v1/chat/completions", number, size) for port in (first, second)]
        print(json.dumps(found))
        return
    if words[0] == "time":
        first, second, number, many, size, stream = map(int, words[1:])
        ways = [
            times(port, "/v1/chat/completions", number, conversation(many, size), bool(stream))
            for port in (first, second)
        ]
        # In turn, so that what else the machine does counts for both.
        pairs = list(zip(*ways, strict=True))[10:]
        plain, watched = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(json.dumps([plain, watched]))
        return
    handler = Endpoint if words[0] == "endpoint" else pass_through(int(words[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
