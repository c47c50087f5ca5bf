"""An endpoint that refuses a broken conversation, with an error 400, as large providers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zoolab.loop.about import about
from zoolab.models.assembly import completion_of
from zoolab.models.transport import error_body, expect_one_reply, offline_client
from zoolab.records import Model
from zoolab.wire import FORMATS
from zoolab.wire.pairing import check_conversation

if TYPE_CHECKING:
    import openai

__all__ = ["check_conversation", "strict_client"]


def strict_client(model: Model) -> openai.OpenAI:
    """An `openai.OpenAI` that answers through `model`, and with 400 if a conversation is broken.

    No network: the rules are those of `check_conversation`, written by hand after what real endpoints
    refuse; the words of the error are ours, its form is theirs.
    """

    def answer(read: Callable[[], dict[str, Any]], _key: str | None) -> tuple[int, dict[str, Any]]:
        body = read()
        problems = check_conversation(body.get("messages") or [])
        if problems:
            said, param = problems[0].message, problems[0].pointer.strip("/").replace("/", ".")
            return 400, error_body(said, param=param)
        expect_one_reply(body)
        return 200, completion_of(model(FORMATS["openai"].from_body(body)))

    return offline_client(answer, model=about(model).name)
