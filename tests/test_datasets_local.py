"""The real local models say again what was recorded of them; a sample of each source."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tools.datasets.__main__ import run as make
from tools.datasets.asking import Askers
from tools.datasets.checking import checks
from zoolab.records import Request
from zoolab.toolbox.catalog import tools_named
from zoolab_course import weights
from zoolab_course.local import LocalModel

pytestmark = [pytest.mark.local, pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def models(download: Callable[..., Any]) -> None:
    """The weights, or no test."""
    for name in ("needle", "smollm2"):
        pytest.importorskip(weights.weights_of(name).runtime)
        download(partial(weights.find, name), partial(weights.fetch, name))


@pytest.mark.parametrize("source", ["starter", "domains", "doctor", "selection-outputs", "trials"])
def test_the_models_say_what_was_recorded(source: str) -> None:
    assert [check.difference() for check in checks([source], sample=1)] == [""]


def test_the_command_says_how_many_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["rebuild", "recordings", "--check", "--only", "doctor", "--sample", "1"]
    assert make(asked) == 0
    assert capsys.readouterr().out == "doctor: 1 of 1 the same\n"


def test_all_layers_are_the_local_model_and_fewer_are_another() -> None:
    request = Request([{"role": "user", "content": "Add 42 and 58."}], tuple(tools_named("add").schemas()))
    whole = LocalModel("needle")(request)
    askers = Askers()
    assert askers.of("needle3-L20")(request).message == whole.message
    assert askers.of("needle3-L6")(request).raw["needle"] != whole.raw["needle"]
