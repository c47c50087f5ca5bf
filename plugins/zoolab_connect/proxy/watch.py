"""Watch a program: who answers it, and what of that is broken on purpose."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from zoolab.errors import InvalidInput, ReplayMiss
from zoolab.files import make_folder
from zoolab.models.about import about
from zoolab.models.recording import Header
from zoolab.models.replay import Replay
from zoolab.records import Message, Model, Reply, Request
from zoolab.runs import Trace
from zoolab.secrets import scrub
from zoolab_connect.faulty.kinds import FAULTS, FaultPlan, make_plan
from zoolab_connect.faulty.model import Faulty, name_without_ids
from zoolab_connect.proxy.addresses import endpoints_of
from zoolab_connect.proxy.answering import AnsweredBy
from zoolab_connect.proxy.exchange import Upstream
from zoolab_connect.proxy.forwarding import Forward, endpoint_model
from zoolab_connect.proxy.recorder import RECORDING
from zoolab_connect.proxy.seen import TOOLS, Seen

#: The faults that reach a program through its traffic; those of tools do not.
TRAFFIC_FAULTS = tuple(name for name, kind in FAULTS.items() if kind.stage in ("request", "tool_call"))


@dataclass(frozen=True, slots=True)
class Edit:
    """Another reply to one request of a program that was watched: by conversation and turn, both from 1."""

    conversation: int
    turn: int
    message: Message


class _Recorded:
    """What an earlier watch wrote to a folder; `edit` is a reply that is to be another one."""

    def __init__(self, folder: Path, edit: Edit | None) -> None:
        self._replay = Replay(folder / RECORDING)
        self._edit = edit
        self._edited = ""
        self.header = self._replay.recording.header
        if edit is not None:
            turns = Trace.load(folder / f"{edit.conversation:03}.jsonl").turns
            if not 1 <= edit.turn <= len(turns):
                what = f"conversation {edit.conversation} has no turn {edit.turn}"
                raise InvalidInput(what, expected=f"1 to {len(turns)}")
            self._edited = self._key(turns[edit.turn - 1].request)

    def _key(self, request: Request) -> str:
        return self._replay.recording.key_of(self._replay.body(request))

    def answer(self, live: Model | None, request: Request) -> Reply:
        """Answer a program as it was answered then; `live` answers what is not recorded."""
        if self._edit is not None and self._key(request) == self._edited:
            return Reply(self._edit.message)
        try:
            # What was recorded is in the form of Chat, whatever the program speaks.
            return replace(self._replay(request), raw=None)
        except ReplayMiss:
            if live is None:
                raise
            return live(request)


class _FaultyAgain(Faulty):
    """For programs that ask again: each attempt of a request is drawn anew, so an error may pass."""

    def __init__(self, model: Model, plan: FaultPlan, attempts: Mapping[str, Iterator[int]]) -> None:
        super().__init__(model, plan.rates, plan.seed, times=plan.times)
        self._attempts = attempts

    def __call__(self, request: Request) -> Reply:
        plan = self.plan
        attempt = next(self._attempts[name_without_ids(request)])
        if not plan.allows(attempt):
            return self.inner(request)
        seed = f"{plan.seed}, attempt {attempt + 1}" if attempt else plan.seed
        return Faulty(self.inner, plan.rates, seed, times=plan.times)(request)


def watch(
    to: Model | str | None = None,
    *,
    folder: str | Path | None = None,
    replay: str | Path | None = None,
    live: bool = False,
    edit: Edit | None = None,
    faults: Iterable[str] | Mapping[str, float] = (),
    seed: int | str = 0,
    times: int | None = None,
    port: int = 0,
) -> Seen:
    """Watch what a program asks models, whatever it is written with.

    Clients of OpenAI (Chat Completions and Responses), Anthropic (Messages), Gemini and Ollama that are made
    within the `with` pass through here, and each conversation becomes a trace. A program of its own is
    started with `seen.run([...])`.

    Args:
        to: Who answers: a model of zoolab, or the address of an endpoint, as a client of OpenAI needs it; by
            default what `OPENAI_BASE_URL` and the like say, or the providers' own addresses.
        folder: A new or empty folder for a file a conversation, and a recording of all of them. Secrets
            are taken out.
        replay: The folder of an earlier watch: it answers, without a network and without a key. Functions of
            the program that are marked with `zoolab.taped` give what they gave; others run again.
        live: Whether `to` answers what `replay` does not hold.
        edit: With `replay`, a reply that is another one.
        faults: Faults of `Faulty` that are to happen in the replies, with their rates.
        seed: As for `Faulty`.
        times: As for `Faulty`; and so many attempts of the same request have a fault at most.
        port: The port of `seen.url`, for programs that read no environment variable; 0 is a free one.

    Raises:
        InvalidInput: The folder is not empty, or holds no recording; a fault is not known; or `to` or `edit`
            has no part in this.

    >>> import openai
    >>> from zoolab import Scripted
    >>> with watch(to=Scripted(["Hello"])) as seen:
    ...     asked = [{"role": "user", "content": "Hi"}]
    ...     said = openai.OpenAI().chat.completions.create(model="any", messages=asked)
    >>> said.choices[0].message.content, seen.traces[0].answer
    ('Hello', 'Hello')
    """
    plan = traffic_plan(faults, seed, times)
    attempts: Mapping[str, Iterator[int]] = defaultdict(count)
    if replay is None and (live or edit is not None):
        raise InvalidInput("live and edit are for a replay", advice="name the folder: replay=...")
    if replay is not None and to is not None and not live:
        raise InvalidInput("both to= and replay= are given", advice="add live=True: to= answers the rest")
    recorded = None if replay is None else _Recorded(Path(replay), edit)
    tools = None if replay is None else Path(replay) / TOOLS
    tape = tools if tools is not None and tools.is_file() else None
    place = None if folder is None else Path(folder)
    if place is not None:
        make_folder(place)
        if any(place.iterdir()):
            raise InvalidInput(f"{place} is not empty", expected="a folder that is new or empty")

    def model_of(live: Model | None) -> Model:
        """Return who answers, if `live` is what a request may reach."""
        model: Any = live if recorded is None else partial(recorded.answer, live)
        return _FaultyAgain(model, plan, attempts) if plan.rates else model

    # What was broken or written by hand is never passed off as what a model said.
    changed = bool(plan.rates) or edit is not None
    address, given = (to, None) if isinstance(to, str) else ("", to)
    endpoints = endpoints_of(os.environ, address)
    if given is not None or (recorded is not None and not live):
        model = model_of(given)
        said = about(model)
        made: Literal["recorded", "authored"] = "recorded" if said.made == "recorded" else "authored"
        header = Header(made, said.model or "", said.who) if recorded is None else recorded.header
        header = replace(header, made="authored") if changed else header
        answered = AnsweredBy(model, in_part=recorded is not None)
        return Seen(answered, place, header, endpoints, key="none", port=port, tape=tape)
    forward = Forward(endpoints)
    upstream: Upstream = forward
    answers = recorded is not None or bool(plan.rates)
    if answers:
        upstream = AnsweredBy(
            model_for=lambda asked: model_of(endpoint_model(forward, asked)),
            otherwise=forward,
            in_part=recorded is not None,
        )
    header = Header("authored" if changed else "recorded", "", scrub(endpoints[0].address))
    ended = forward.close
    return Seen(
        upstream,
        place,
        header,
        endpoints,
        forwards=True,
        carried=not answers,
        port=port,
        ended=ended,
        tape=tape,
    )


def traffic_plan(
    faults: Iterable[str] | Mapping[str, float], seed: int | str = 0, times: int | None = None
) -> FaultPlan:
    """Return the plan for faults of the traffic; `InvalidInput` if one is not known, or one of tools."""
    plan = make_plan(faults, seed, times)
    for name in plan.rates:
        if name not in TRAFFIC_FAULTS:
            what = f"the fault {name} is one of tools, and tools run in the program"
            raise InvalidInput(what, expected="some of " + ", ".join(TRAFFIC_FAULTS))
    return plan
