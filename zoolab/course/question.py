"""The radio buttons of a question: one group with a label, in which the arrow keys choose."""

from __future__ import annotations

import anywidget
import traitlets

from zoolab.files import read_shipped


class Question(anywidget.AnyWidget):
    """Radio buttons; `chosen` is the number of the label that was chosen, -1 for none."""

    _esm = read_shipped("zoolab.course", "question.js")

    question = traitlets.Unicode().tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)

    @traitlets.validate("chosen")
    def _known(self, proposal: dict[str, int]) -> int:
        return proposal["value"] if -1 <= proposal["value"] < len(self.labels) else -1
