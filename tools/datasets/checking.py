"""Do the local models still say what was recorded? Bit by bit, or where it differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tools.datasets.asking import Askers, offered
from tools.datasets.outputs import question_of, raw_of
from zoolab.errors import InvalidInput
from zoolab.jsontext import canonical, excerpt
from zoolab.models.recording import Recording, shipped
from zoolab.records import Request
from zoolab_course.local import LocalModel
from zoolab_study.datasets.loading import rows_of, selection_tools

_Item = TypeVar("_Item")
_AROUND = 24
_BODY = ("model", "messages", "tools", "tool_choice")


@dataclass(frozen=True, slots=True)
class Check:
    """One recorded answer, and how to ask for it again: both give what a model wrote, as plain data."""

    source: str
    id: str
    recorded: dict[str, Any]
    ask: Callable[[], dict[str, Any]]

    def difference(self) -> str:
        """Return where the answer of now differs from the recorded one; empty where it is the same."""
        now = self.ask()
        wrong = (key for key in self.recorded if canonical(self.recorded[key]) != canonical(now.get(key)))
        key = next(wrong, None)
        return "" if key is None else f"{key} {_apart(self.recorded[key], now.get(key))}"


def sources() -> list[str]:
    """Return what can be checked: the shipped recordings of the local models, and the data sets that they
    wrote.

    >>> {"starter", "selection-outputs"} <= set(sources())
    True
    """
    headers = {name: Recording(path).header for name, path in shipped().items()}
    real = [name for name, header in headers.items() if header.made == "recorded" and _is_local(header.model)]
    return [*real, *_CHECKS]


def checks(only: Sequence[str] = (), sample: int | None = None) -> Iterator[Check]:
    """Yield the recorded answers of these sources, by default of all; of each at most `sample`, evenly
    spread.

    Raises:
        InvalidInput: There is no such source.

    >>> [check.source for check in checks(["starter"], sample=2)]
    ['starter', 'starter']
    """
    known = sources()
    unknown = [name for name in only if name not in known]
    if unknown:
        raise InvalidInput(f"no recording is named {unknown[0]!r}", expected=", ".join(known))
    askers = Askers()
    for name in only or known:
        makes = _CHECKS.get(name)
        found = list(makes(askers) if makes else _of_recording(name, shipped()[name]))
        yield from _spread(found, sample)


def _of_recording(name: str, path: Path) -> Iterator[Check]:
    recording = Recording(path)
    model = LocalModel(recording.header.model)
    for number, body in enumerate(recording.requests, 1):
        response = recording.response(recording.key_of(body)) or {}
        yield Check(name, f"request {number}", _choice(response), _asker(model, body))


def _is_local(model: str | None) -> bool:
    return model is not None and all(part.startswith(("needle", "smollm2")) for part in model.split("+"))


def _asker(model: Any, body: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: _choice(model(request_from(body)).raw or {})


def request_from(body: dict[str, Any]) -> Request:
    """Return the request that has this body.

    >>> request_from({"model": "m", "messages": [], "seed": 1}).settings
    {'seed': 1}
    """
    choice = body.get("tool_choice") or "auto"
    settings = {key: value for key, value in body.items() if key not in _BODY}
    named = choice if isinstance(choice, str) else choice["function"]["name"]
    return Request(body["messages"], tuple(body.get("tools") or ()), named, settings)


def _choice(response: dict[str, Any]) -> dict[str, Any]:
    choice = response["choices"][0]
    return {"finish_reason": choice["finish_reason"], "message": choice["message"]}


def _of_outputs(askers: Askers) -> Iterator[Check]:
    tools = selection_tools()
    for row in rows_of("selection-outputs"):
        question = question_of(row)
        request = question.request(offered(question.tools, tools))
        recorded = {"finish_reason": row["finish_reason"], "raw": row["raw"]}
        yield Check("selection-outputs", row["id"], recorded, _written(askers, question.model, request))


def _of_trials(askers: Askers) -> Iterator[Check]:
    for row in rows_of("trials"):
        recorded = {"finish_reason": row["finish_reason"], "raw": row["raw"]}
        yield Check(
            "trials", row["id"], recorded, _written(askers, row["model"], request_from(row["request"]))
        )


def _written(askers: Askers, model: str, request: Request) -> Callable[[], dict[str, Any]]:
    def ask() -> dict[str, Any]:
        reply = askers.of(model)(request)
        return {"finish_reason": reply.finish_reason, "raw": raw_of(reply)}

    return ask


_CHECKS: dict[str, Callable[[Askers], Iterator[Check]]] = {
    "selection-outputs": _of_outputs,
    "trials": _of_trials,
}


def _spread(items: Sequence[_Item], most: int | None) -> Sequence[_Item]:
    if most is None or most >= len(items):
        return items
    return [items[number * len(items) // most] for number in range(most)]


def _apart(recorded: Any, now: Any) -> str:
    """Return where two values part, with a little around it."""
    one, other = (value if isinstance(value, str) else canonical(value) for value in (recorded, now))
    same = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    begin = max(0, same - _AROUND)
    shown = (excerpt(text[begin : same + _AROUND], 2 * _AROUND + 8) for text in (one, other))
    return "differs at character {}: recorded {}, now {}".format(same, *shown)
