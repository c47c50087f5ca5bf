"""A question that a reader answers before running the next cell, and the answer that the cell computes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape
from typing import Any

from zoolab.errors import InvalidInput

# Buttons need a kernel. In a saved notebook the question as text takes their place, and that of the
# notebook's own line about a dead widget.
_INSTEAD_OF_BUTTONS = """<style>
.jp-OutputArea:has(.widget-radio) > .jp-OutputArea-child:has(.zoolab-question),
.jp-OutputArea:has(.zoolab-question):not(:has(.widget-radio))
  > .jp-OutputArea-child:has(> .jupyter-widgets) {
  display: none;
}
</style>"""


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
            raise InvalidInput(f"{option!r} is not an option", expected=", ".join(map(repr, self.options)))
        self.choice = option
        return self

    def reveal(self, actual: Any, because: str = "") -> Revealed:
        """Compare with what was computed; `because` is one sentence on why it is so."""
        return Revealed(self, actual, because)

    def _ipython_display_(self) -> None:
        """Buttons where there are widgets; and the question as text, which a saved notebook keeps."""
        from IPython import display as shown

        display: Any = shown.display
        if self._buttons is None:
            self._buttons = _radio_buttons(self)
        if self._buttons is None:
            display({"text/html": self._repr_html_(), "text/plain": str(self)}, raw=True)
            return
        buttons = self._buttons._repr_mimebundle_()
        display({**buttons, "text/plain": str(self)}, raw=True)
        kept = f'<div class="zoolab-question">{_INSTEAD_OF_BUTTONS}{self._repr_html_()}</div>'
        display({"text/html": kept, "text/plain": ""}, raw=True)

    def _repr_html_(self) -> str:
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
    if len(options) < 2 or isinstance(options, str):
        raise InvalidInput("the question has only one option", expected="a list of at least two options")
    return _asked_before(question, options) or Prediction(question, options)


def _asked_before(question: str, options: Sequence[Any]) -> Prediction | None:
    """The same question, if it was shown: Shift+Enter after a click on an answer runs its cell again."""
    if "IPython" not in sys.modules:
        return None
    import IPython

    shell: Any = IPython.get_ipython()
    shown = list(shell.user_ns.get("_oh", {}).values()) if shell is not None else []
    same = (each for each in reversed(shown) if isinstance(each, Prediction) and each.question == question)
    return next((each for each in same if each.options == tuple(options)), None)


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
