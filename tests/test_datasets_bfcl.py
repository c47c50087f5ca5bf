"""Berkeley's own data: all of its tools can be defined, and its answers meet their schemas."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from zoolab import Tool
from zoolab.errors import InvalidInput
from zoolab.steps.validate import check_arguments
from zoolab.tools import name_for_apis
from zoolab_study.datasets import bfcl, load
from zoolab_study.datasets.berkeley import (
    CATEGORIES,
    WHEEL,
    as_schema,
    berkeley_tool,
    data_files,
    fetch_bfcl,
    first_answer,
    rows_in,
)

#: Answers of Berkeley's own that their schema refuses: an enum without the value, a text for a number.
INCONSISTENT = 20


@pytest.fixture(scope="module")
def data(download: Callable[..., Any]) -> None:
    """Berkeley's data, or no test."""
    download(lambda: bfcl("live_parallel"), fetch_bfcl)


def functions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool that Berkeley describes, those of several turns too: its file, and it as it is written."""
    for name, text in data_files().items():
        if name.startswith("multi_turn_func_doc/"):
            yield from ((name, row) for row in rows_in(text))
        elif name.startswith("BFCL_v4_") and "format_sensitivity" not in name:
            yield from ((name, each) for row in rows_in(text) for each in row.get("function", ()))


@pytest.mark.usefixtures("data")
def test_it_has_the_columns_of_our_own_cases_and_three_more() -> None:
    frame = bfcl()
    assert list(frame.columns) == [*load("selection-cases").columns, "category", "functions", "ground_truth"]
    assert len(frame) > 3_500
    assert set(frame.category) == set(CATEGORIES)
    assert frame.id.is_unique
    called = frame[frame.tool.notna()]
    assert all(tool in names for tool, names in zip(called.tool, called.offered, strict=True))
    assert set(frame[frame.tool.isna()].category) == {"irrelevance", "live_irrelevance", "live_relevance"}


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_every_tool_of_theirs_can_be_defined() -> None:
    made = {}
    for name, written in functions():
        category = Path(name).stem.removeprefix("BFCL_v4_")
        function = berkeley_tool(written, category)["function"]
        made[json.dumps(function, sort_keys=True)] = function
    assert len(made) > 1_500
    for function in made.values():
        Tool.from_schema(function["name"], function["description"], function["parameters"])


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_their_answers_meet_their_schemas_but_for_those_they_got_wrong() -> None:
    refused = []
    frame = bfcl()
    for row in frame[frame.tool.notna()].itertuples():
        function = next(each["function"] for each in row.functions if each["function"]["name"] == row.tool)
        tool = Tool.from_schema(function["name"], function["description"], function["parameters"])
        if not check_arguments(json.dumps(row.arguments), tool).ok:
            refused.append(row.id)
    assert len(refused) <= INCONSISTENT, refused


@pytest.mark.usefixtures("data")
def test_one_category_alone() -> None:
    assert set(bfcl("live_parallel").category) == {"live_parallel"}


def test_data_that_is_not_here_or_another_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOOLAB_CACHE", str(tmp_path))
    with pytest.raises(InvalidInput, match="data is not here; run: zoolab datasets fetch bfcl"):
        bfcl("parallel")
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        archive.writestr("bfcl_eval/data/BFCL_v4_parallel.json", "{}")
    for use in (lambda: bfcl("parallel"), fetch_bfcl):
        with pytest.raises(InvalidInput, match="is not the wheel of bfcl-eval"):
            use()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (
            {"type": "dict", "properties": {"type": {"type": "any"}}},
            {"type": "object", "properties": {"type": {}}},
        ),
        ({"type": "tuple", "items": {"type": "float"}}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "ArrayList", "items": {"type": "String"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "string", "enum": ["dict"]}, {"type": "string", "enum": ["dict"]}),
    ],
)
def test_their_types_are_translated_and_nothing_else(written: dict[str, Any], meant: dict[str, Any]) -> None:
    assert as_schema(written) == meant


def test_names_with_dots_are_those_of_a_tool() -> None:
    assert name_for_apis("spotify.play") == "spotify_play"
    java = {"type": "dict", "properties": {"on": {"type": "Boolean", "description": "Whether."}}}
    function = berkeley_tool({"name": "A.set", "description": "Set it.", "parameters": java}, "simple_java")
    on = function["function"]["parameters"]["properties"]["on"]
    assert on == {"type": "string", "description": "Whether. Written as Java, of type Boolean."}


def test_the_first_answer_leaves_out_what_may_be_left_out() -> None:
    parameters = {"required": ["a"], "properties": {"a": {}, "b": {}}}
    tools = [{"function": {"name": "f", "parameters": parameters}}]
    truth = [{"f": {"a": ["", 1], "b": ["", 2], "c": [[{"x": [3]}]]}}]
    assert first_answer(truth, tools) == ("f", {"a": "", "c": [{"x": 3}]})
