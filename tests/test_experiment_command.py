"""`zoolab experiment`: the file, its complaints, and the page."""

import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Shell

from zoolab import Scripted
from zoolab.experiments import experiment
from zoolab.experiments.config import line_of, read_config

SUMS = """
title = "Sums"
repeats = 2
tools = ["add"]

[[cases]]
id = "one"
prompt = "What is 42 + 58?"
expected_tool = "add"
expected_answer = "100"

[[cases]]
id = "=two"
prompt = "Hello!"
expected_tool = ""

[variants.plain]
[variants.mute]
deny = ["add"]
[variants.mute.limits]
turns = 1

[models.m]
kind = "scripted"
replies = [[{name = "add", arguments = {a = 42, b = 58}}], "=It is 100."]

[budget]
requests = 1000
"""


@pytest.fixture
def zoo(capsys):
    return Shell(capsys)


@pytest.fixture
def sums(tmp_path):
    path = tmp_path / "sums.toml"
    path.write_text(SUMS)
    return path


def test_a_file_becomes_results_and_a_page(zoo, sums, tmp_path):
    ran = zoo("experiment", sums, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert "8 of 8 runs" in ran.out
    assert "mute against plain: not decisive" in ran.out
    folder = tmp_path / "sums-results"
    rows = [json.loads(line) for line in (folder / "summary.jsonl").read_text().splitlines()]
    assert [row["success"] for row in rows] == [True, True, False, False, False, False, False, False]
    with (folder / "summary.csv").open() as file:
        cells = list(csv.DictReader(file))
    assert {cell["case_id"] for cell in cells} == {"one", "'=two"}
    page = (folder / "report.html").read_text()
    assert "<h1>Sums</h1>" in page
    assert page.count("data:image/svg+xml") >= 1
    assert not re.findall(r"<script|<link|https?://(?!www\.w3\.org)", page)


def test_results_are_gone_on_with_only_if_that_is_asked(zoo, sums, tmp_path):
    zoo("experiment", sums, "--quiet")
    journal = tmp_path / "sums-results" / "runs.jsonl"
    before = journal.read_bytes()
    again = zoo("experiment", sums, "--quiet")
    assert again.code == 2
    assert "--resume" in again.err
    assert zoo("experiment", sums, "--quiet", "--resume", "--jobs", "1").code == 0
    assert journal.read_bytes() == before


def test_a_budget_that_ends_falls_short(zoo, sums, tmp_path):
    sums.write_text(SUMS.replace("requests = 1000", "requests = 5"))
    ran = zoo("experiment", sums, "--quiet", "--jobs", "1")
    assert ran.code == 1
    assert "budget of 5 requests is spent" in ran.out
    assert "Not done" in (tmp_path / "sums-results" / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("repeats = 2", "repeats = 0", 3, "repeats"),
        ("repeats = 2", "repeat = 2", 3, "repeat"),
        ("repeats = 2", "repeats = = 2", 3, "Invalid value"),
        ('prompt = "Hello!"', "prompt = 7", 14, "cases.1.prompt"),
        ('deny = ["add"]', 'dney = ["add"]', 19, "dney"),
        ("turns = 1", "turns = 0", 21, "turns"),
        ('kind = "scripted"', 'kind = "crystal ball"', 24, "kind"),
        ('tools = ["add"]', 'tools = ["sledgehammer"]', 4, "sledgehammer"),
        ("requests = 1000", "requests = -1", 28, "requests"),
    ],
)
def test_every_complaint_names_the_line(zoo, sums, old, new, line, what):
    sums.write_text(SUMS.replace(old, new, 1))
    ran = zoo("experiment", sums)
    assert ran.code == 2
    assert re.search(rf"line {line}\b", ran.err), ran.err
    assert what in ran.err


def test_cases_may_stand_in_a_file_of_their_own(zoo, sums, tmp_path):
    head, tail = SUMS.partition("[[cases]]")[0], SUMS[SUMS.index("[variants.plain]") :]
    sums.write_text(head + 'cases = "cases.jsonl"\n' + tail)
    (tmp_path / "cases.jsonl").write_text('{"prompt": "Hi"}\n\n{"prompt": "Ho", "expected_tool": ""}\n')
    assert [case["prompt"] for case in read_config(sums).arguments["cases"]] == ["Hi", "Ho"]
    (tmp_path / "cases.jsonl").write_text('{"prompt": "Hi"}\n{"prompt": 3}\n')
    assert "cases.jsonl, line 2" in zoo("experiment", sums).err


@pytest.mark.parametrize("content", ["", "\x00", "[[[", 'cases = []\n[models.m]\nkind = "scripted"\n'])
def test_a_file_that_is_none_is_said_in_one_line(zoo, sums, content):
    sums.write_text(content)
    ran = zoo("experiment", sums)
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_a_cluster_that_is_not_there_is_said(zoo, sums):
    pytest.importorskip("distributed")
    ran = zoo("experiment", sums, "--dask", "nonsense://nowhere:1")
    assert ran.code == 2
    assert "no dask scheduler at nonsense://nowhere:1" in ran.err


@given(st.text(alphabet="[]=\"ab.\n' #", max_size=80), st.lists(st.sampled_from(["a", "b", "0"]), max_size=3))
def test_a_line_is_always_one_of_the_file(text, where):
    assert 1 <= line_of(text, where) <= max(1, len(text.splitlines()))


HOSTILE = "<img src=x onerror=alert(1)>\"'&</style><script>"


def test_what_models_and_people_write_is_escaped():
    def rude(_request):
        raise RuntimeError(HOSTILE)

    case = {"id": HOSTILE, "prompt": HOSTILE, "expected_answer": HOSTILE}
    models = {HOSTILE: rude, "b": lambda: Scripted([HOSTILE])}
    done = experiment([case], {HOSTILE: {}, "v": {}}, models, progress=False)
    page = done.to_html(title=HOSTILE)
    assert "<img src=x" not in page
    assert "<script" not in page
    assert page.count("</style>") == 1
