"""A question that a reader answers before running the next cell, and the answer that the cell computes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped
from zoolab.show.frontend import show_widget


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
        """Show buttons if there are widgets, and the question as text, which a saved notebook keeps."""
        from IPython import display as shown

        display: Any = shown.display
        self._buttons = self._buttons or _radio_buttons(self)
        if self._buttons is None:
            display({"text/html": self._repr_html_(), "text/plain": str(self)}, raw=True)
            return
        bundle = self._buttons._repr_mimebundle_()
        widget, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        style = f"<style>{read_shipped('zoolab_course', 'question.css')}</style>"
        data = {**widget, "text/plain": str(self), "text/html": self._repr_html_()}
        show_widget(data, metadata, f'<div class="zoolab-question">{style}')

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(str(option))}</li>" for option in self.options)
        return f"<p><b>Predict first:</b> {escape(self.question)}</p><ul>{items}</ul>"

    def __repr__(self) -> str:
        return "\n".join([f"Predict first: {self.question}", *(f"  - {option}" for option in self.options)])


class Revealed:
    """A prediction beside what really happened."""

    def __init__(self, prediction: Prediction, actual: Any, because: str) -> None:
        choice = prediction.choice
        #: Whether the prediction was right; None if there was none.
        self.right: bool | None = None if choice is None else choice == actual
        said = {None: "You made no prediction.", True: "You said so.", False: f"You said: {choice}."}
        self._actual, self._comment = f"{actual}.", f"{said[self.right]} {because}".rstrip()

    def __repr__(self) -> str:
        return f"{self._actual} {self._comment}"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self._actual)}</b> {escape(self._comment)}</p>"


def predict(question: str, options: Sequence[Any]) -> Prediction:
    """Ask the reader before the next cell runs.

    A cell that is run again, as after a click on an answer, gives the same prediction, with what was chosen.

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
    asked = Prediction(question, options)
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    for shown in reversed(list(shell.user_ns.get("_oh", {}).values()) if shell is not None else []):
        if isinstance(shown, Prediction) and (shown.question, shown.options) == (question, asked.options):
            return shown
    return asked


def _radio_buttons(prediction: Prediction) -> Any:
    """Return buttons that set `prediction.choice`; None where there are no widgets."""
    try:
        widget = _question_widget()
    except ImportError:
        return None

    def choose(change: dict[str, Any]) -> None:
        prediction.choice = prediction.options[change["new"]] if change["new"] >= 0 else None

    labels = [str(option) for option in prediction.options]
    chosen = prediction.options.index(prediction.choice) if prediction.choice in prediction.options else -1
    buttons = widget(question=prediction.question, labels=labels, chosen=chosen)
    buttons.observe(choose, names="chosen")
    return buttons


@cache
def _question_widget() -> Any:
    import anywidget
    import traitlets

    class Question(anywidget.AnyWidget):
        """One group of radio buttons with a label, in which the arrow keys choose; -1 stands for none."""

        _esm = read_shipped("zoolab_course", "question.js")

        question = traitlets.Unicode().tag(sync=True)
        labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
        chosen = traitlets.Int(-1).tag(sync=True)

        @traitlets.validate("chosen")
        def _known(self, proposal: dict[str, int]) -> int:
            return proposal["value"] if -1 <= proposal["value"] < len(self.labels) else -1

    return Question
