"""What a model says of itself, by attributes that have defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from zoolab.records import Model, Reply, Request
from zoolab.tools import ToolRegistry


class About:
    """What a model says of itself: each property is an attribute that a model may have, with its default.

    An attribute is read when it is asked for, and never set.
    """

    __slots__ = ("_model",)

    def __init__(self, model: object) -> None:
        self._model = model

    def _said(self, name: str, default: Any = None) -> Any:
        return getattr(self._model, name, default)

    @property
    def model(self) -> str | None:
        """The name of the model, as an endpoint is asked for it; None if the model does not say it."""
        said = self._said("model")
        return said if isinstance(said, str) else None

    @property
    def name(self) -> str:
        """What to call the model: its `model`, or its `name`, or the name of its class."""
        said = (self._said("model"), self._said("name"), type(self._model).__name__)
        return next(name for name in said if isinstance(name, str) and name)

    @property
    def who(self) -> str:
        """Who answers, for people and for recordings; by default the name."""
        return str(self._said("who") or self.name)

    @property
    def made(self) -> Literal["recorded", "authored", "unknown"]:
        """Where the replies come from: "recorded" from a real model, "authored" by a hand."""
        said: Literal["recorded", "authored", "unknown"] = self._said("made")
        return said if said in ("recorded", "authored") else "unknown"

    @property
    def calls(self) -> Literal["native", "text", "auto"]:
        """Where the model's calls are: in `tool_calls`, in its text, or in either."""
        said: Literal["native", "text", "auto"] = self._said("calls")
        return said if said in ("text", "auto") else "native"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the model adds to every request."""
        said = self._said("settings")
        return dict(said) if isinstance(said, Mapping) else {}

    @property
    def deterministic(self) -> bool:
        """Whether the same request at temperature 0 always gets the same reply."""
        return bool(self._said("deterministic"))

    @property
    def on_this_machine(self) -> bool:
        """Whether the model runs here: to ask it takes time, and costs nothing else."""
        return bool(self._said("on_this_machine"))

    @property
    def shared(self) -> bool:
        """Whether several threads may ask the model at once."""
        return bool(self._said("shared"))

    @property
    def body(self) -> Callable[[Request], dict[str, Any]] | None:
        """Makes the body of a request as the model sends it."""
        said = self._said("body")
        return said if callable(said) else None

    @property
    def equip(self) -> Callable[[ToolRegistry], ToolRegistry] | None:
        """Changes the tools of a walk before it begins, as `Faulty` does."""
        said: Callable[[ToolRegistry], ToolRegistry] | None = self._said("equip")
        return said if callable(said) else None

    @property
    def client(self) -> Any:
        """The client of the openai package through which the model is asked."""
        return self._said("client")

    @property
    def recording(self) -> Any:
        """The `Recording` that the model answers from."""
        return self._said("recording")


def about(model: object) -> About:
    """Read a model's optional attributes; a plain function has none, so the defaults hold."""
    return About(model)


class Wrapper:
    """A model around another one: what it does not say of itself, the inner one says."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    def __call__(self, request: Request) -> Reply:
        return self._inner(request)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)
