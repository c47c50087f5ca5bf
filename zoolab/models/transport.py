"""The real openai client without a network: a transport for whichever HTTP library it speaks through.

openai 3.x speaks through httpx2, 2.x through httpx, and each refuses the other's client. What is
needed of them is the same: their transport that asks a function.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from zoolab.apis import APIS
from zoolab.apis.chat import chunks_of, completion_of, error_body
from zoolab.apis.conversation import check_conversation
from zoolab.apis.events import server_sent
from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.models.about import about
from zoolab.records import Model

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


def strict_client(model: Model) -> openai.OpenAI:
    """Return an `openai.OpenAI` that answers through `model`, and with 400 if a conversation is broken.

    No network: the rules are those of `check_conversation`, written by hand after what real endpoints
    refuse; the words of the error are ours, its form is theirs.
    """

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        problems = check_conversation(body.get("messages") or [])
        if problems:
            said, param = problems[0].message, problems[0].pointer.strip("/").replace("/", ".")
            return 400, error_body(said, param=param)
        expect_one_reply(body)
        return 200, completion_of(model(APIS["openai"].from_body(body)))

    return offline_client(answer, model=about(model).name)


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


def expect_one_reply(body: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` if a request asks for several replies: a model here gives one."""
    if body.get("n") not in (None, 1):
        raise InvalidInput(f"n is {excerpt(body['n'])}", expected="1, or no n: ask again for another reply")


def http_library() -> Any:
    """Return the HTTP library of the installed openai client: httpx2 or httpx."""
    import openai

    return importlib.import_module(openai.DefaultHttpxClient.__bases__[0].__module__.partition(".")[0])
