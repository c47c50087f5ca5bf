"""A model behind an `openai.OpenAI` that refuses what real endpoints refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zoolab.apis import APIS
from zoolab.apis.chat import completion_of, error_body
from zoolab.apis.conversation import check_conversation
from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt
from zoolab.models.about import about
from zoolab.models.transport import offline_client
from zoolab.records import Model

if TYPE_CHECKING:
    import openai


def strict_client(model: Model) -> openai.OpenAI:
    """Return an `openai.OpenAI` that answers through `model`, and with 400 if a conversation is broken.

    No network: the rules are those of `check_conversation`, written by hand after what real endpoints
    refuse; the words of the error are ours, its form is theirs.
    """

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        problems = check_conversation(body.get("messages") or [])
        if problems:
            said = problems[0].message
            param = problems[0].pointer.strip("/").replace("/", ".")
            return 400, error_body(said, param=param)
        expect_one_reply(body)
        return 200, completion_of(model(APIS["openai"].from_body(body)))

    return offline_client(answer, model=about(model).name)


def expect_one_reply(body: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` if a request asks for several replies: a model here gives one."""
    if body.get("n") not in (None, 1):
        raise InvalidInput(f"n is {excerpt(body['n'])}", expected="1, or no n: ask again for another reply")
