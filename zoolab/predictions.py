"""A question that a reader answers before running the next cell, and the answer that the cell computes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from zoolab.errors import InvalidInput


class Prediction:
    """What a reader expects; made by `predict`, settled by `reveal`.

    In a notebook it shows radio buttons; anywhere else the question as text, and `choose` answers it.
    """

    def __init__(self, question: str, options: Sequence[Any]) -> None:
        self.question = question
        self.options = tuple(options)
        #: The option that was chosen, or None.
        self.choice: Any = None
        self._buttons: Any = None

    def choose(self, option: Any) -> Prediction:
        """Answer in code, where there are no buttons to press."""
        if option not in self.options:
            raise InvalidInput(f"{option!r} is no option", expected=", ".join(map(repr, self.options)))
        self.choice = option
        return self

    def reveal(self, actual: Any, because: str = "") -> Revealed:
        """Compare with what was computed; `because` is one sentence on why it is so."""
        return Revealed(self, actual, because)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Buttons where there are widgets; the question and its options everywhere."""
        texts = {"text/plain": str(self), "text/html": self._as_html()}
        if self._buttons is None:
            self._buttons = _radio_buttons(self)
        if self._buttons is None:
            return texts
        bundle = self._buttons._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, **texts}, metadata

    def _as_html(self) -> str:
        items = "".join(f"<li>{escape(str(option))}</li>" for option in self.options)
        return f"<p><b>Predict first:</b> {escape(self.question)}</p><ul>{items}</ul>"

    def __str__(self) -> str:
        lines = [f"Predict first: {self.question}", *(f"  - {option}" for option in self.options)]
        return "\n".join(lines)

    __repr__ = __str__


class Revealed:
    """A prediction beside what really happened."""

    def __init__(self, prediction: Prediction, actual: Any, because: str) -> None:
        self.prediction = prediction
        self.actual = actual
        self.because = because

    @property
    def right(self) -> bool | None:
        """Whether the prediction was right; None if there was none."""
        choice = self.prediction.choice
        return None if choice is None else choice == self.actual

    def __str__(self) -> str:
        said = {
            None: "You made no prediction.",
            True: "You said so.",
            False: f"You said: {self.prediction.choice}.",
        }[self.right]
        return " ".join(part for part in (f"{self.actual}.", said, self.because) if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return (
            f"<p><b>{escape(str(self.actual))}.</b> {escape(str(self).removeprefix(f'{self.actual}. '))}</p>"
        )


def predict(question: str, options: Sequence[Any]) -> Prediction:
    """Ask the reader before the next cell runs.

    >>> guess = predict("How many messages will there be?", [2, 3, 4])
    >>> guess
    Predict first: How many messages will there be?
      - 2
      - 3
      - 4
    >>> guess.choose(3).reveal(4, because="Each call and each result is one.")
    4. You said: 3. Each call and each result is one.
    """
    if len(options) < 2:
        raise InvalidInput("a question with one answer", expected="at least two options")
    return Prediction(question, options)


def _radio_buttons(prediction: Prediction) -> Any:
    """Buttons that set `prediction.choice`; None where there are no widgets."""
    try:
        import ipywidgets  # type: ignore[import-untyped]
    except ImportError:
        return None

    labels = [(str(option), option) for option in prediction.options]
    buttons = ipywidgets.RadioButtons(
        options=labels, value=prediction.choice, layout={"width": "max-content"}
    )
    question = ipywidgets.HTML(f"<b>Predict first:</b> {escape(prediction.question)}")

    def chosen(change: dict[str, Any]) -> None:
        prediction.choice = change["new"]

    buttons.observe(chosen, names="value")
    return ipywidgets.VBox([question, buttons])
