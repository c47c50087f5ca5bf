"""The real openai client without a network: a transport for whichever HTTP library it speaks through.

openai 3.x speaks through httpx2, 2.x through httpx, and each refuses the other's client. What is
needed of them is the same: their transport that asks a function.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from zoolab.apis.chat import chunks_of, error_body
from zoolab.apis.events import server_sent
from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

if TYPE_CHECKING:
    import openai

Body = dict[str, Any]
#: Takes the body of a request; returns a status and a completion, an error, or the chunks of a completion.
Answer = Callable[[Body], tuple[int, Body | list[Body]]]


def offline_client(answer: Answer, host: str = "recording", model: str = "") -> openai.OpenAI:
    """Return an `openai.OpenAI` whose chat completions are answered by a function.

    A request for a stream gets the chunks of the answer; one that came whole is cut. An `InvalidInput` of
    the function is a 400. `host` is how errors name the endpoint, `model` the one model that it lists.
    """
    import openai

    library = http_library()

    def respond(request: Any) -> Any:
        path = request.url.path.removeprefix("/v1")
        if path != "/chat/completions":
            status, listed = models_listed(path, model)
            return library.Response(status, json=listed)
        try:
            body = _read(request.read())
            status, response = answer(body)
        except InvalidInput as problem:
            return library.Response(400, json=error_body(str(problem)))
        if status == 200 and (isinstance(response, list) or body.get("stream") is True):
            chunks = response if isinstance(response, list) else chunks_of(response)
            headers = {"content-type": "text/event-stream"}
            return library.Response(200, headers=headers, content=b"".join(server_sent(chunks, done=True)))
        return library.Response(status, json=response)

    client = library.Client(transport=library.MockTransport(respond))
    base_url = f"http://{host}.invalid/v1"
    return openai.OpenAI(api_key="none", base_url=base_url, http_client=client, max_retries=0)


def _read(content: bytes) -> Body:
    try:
        body = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}", expected="a JSON object") from None
    messages = body.get("messages", []) if isinstance(body, dict) else None
    if not isinstance(messages, list):
        raise InvalidInput(f"the body is {excerpt(body, 200)}", expected="an object with a list of messages")
    return cast("Body", body)


def models_listed(path: str, model: str) -> tuple[int, Body]:
    """Answer `GET /models` and `GET /models/NAME`; answer everything else with 404."""
    known = {"id": model, "object": "model", "created": 0, "owned_by": "zoolab"}
    if path == "/models":
        return 200, {"object": "list", "data": [known]}
    if path == f"/models/{model}":
        return 200, known
    return 404, error_body(f"there is no {path} here; expected /chat/completions, /models or /models/{model}")


def http_library() -> Any:
    """Return the HTTP library of the installed openai client: httpx2 or httpx."""
    import openai

    return importlib.import_module(openai.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])
