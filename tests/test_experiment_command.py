"""`zoolab experiment`: the file, its complaints, and the page."""

import base64
import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server import Answer, Asked, TestServer
from shell import Shell
from walks import TOOLS

from zoolab import Scripted
from zoolab_connect.faulty import FAULTS
from zoolab_study import experiment
from zoolab_study.config import EXPERIMENT, line_of_key, read_config
from zoolab_study.scorers import SCORERS

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


def test_runs_that_break_off_fall_short_and_one_is_said(zoo, sums):
    models = '[models.kept]\nkind = "recording"\n'
    sums.write_text(SUMS.replace("42 + 58", "42 + 58, friend") + models)
    ran = zoo("experiment", sums, "--quiet")
    assert ran.code == 1
    assert "8 of 16 runs broke off; the case one, plain, kept: replay_miss: starter.jsonl holds no" in ran.err


class HalfDown(TestServer):
    """Answers, but refuses what a polite variant asks."""

    def next_answer(self, asked: Asked) -> Answer:
        message = {"role": "assistant", "content": "100"}
        reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        polite = "polite" in str(asked.body)
        refused = Answer({"error": {"message": "boom"}}, 400)
        return refused if polite else Answer({**reply, "choices": choices})


def test_an_outage_of_a_part_is_said_beside_the_results(zoo, sums, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    server = HalfDown([])
    try:
        begin, _, _ = SUMS.replace('deny = ["add"]', 'system = "Be polite"').partition("[models.m]")
        model = f'[models.m]\nkind = "openai"\nname = "m"\nbase_url = "{server.url}"\n'
        sums.write_text(begin + model)
        ran = zoo("experiment", sums, "--quiet", "--jobs", "1")
    finally:
        server.close()
    assert "4 of 8 runs broke off; the case one, mute, m: model_error" in ran.err
    assert "--resume asks them again" in ran.err


def test_a_model_that_nobody_hears_is_said_before_anything_runs(zoo, sums):
    models = '[models.gone]\nkind = "openai"\nname = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    sums.write_text(SUMS[: SUMS.index("[models.m]")] + models)
    ran = zoo("experiment", sums, "--quiet")
    assert ran.code == 2
    assert 'the model "gone": cannot reach http://127.0.0.1:9' in ran.err
    assert ran.err.count("\n") == 1
    assert not sums.with_name("sums-results").exists()


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
        ("requests = 1000", "requests = -1", 28, "requests: expected a number above 0"),
        ("requests = 1000", "request = 10", 28, "do you mean requests"),
        ("[variants.plain]", "[variant.plain]", 17, "do you mean variants"),
        ("[models.m]", "[model.m]", 23, "do you mean models"),
        (
            'expected_tool = "add"',
            'expected_tool = "dad"',
            9,
            '"dad", which is not offered; expected one of add',
        ),
        ('expected_tool = "add"', 'expectd_tool = "add"', 9, '"expectd_tool"; expected expected_tool'),
        ('expected_answer = "100"', "expected_answer = {is = 100}", 10, "a text or a number or a list"),
        ('expected_answer = "100"', 'expected_calls = "add"', 10, "expected a list of calls"),
        ('id = "=two"', 'id = "one"', 13, 'two cases have the id "one"'),
        ('deny = ["add"]', 'descriptions = {dad = "Plus."}', 19, 'describes "dad"; expected one of add'),
        ('deny = ["add"]', 'descriptions = {add = {text = "Plus."}}', 19, "expected a text"),
        ('deny = ["add"]', 'faults = ["gremlins"]', 19, "faults.0"),
        ('deny = ["add"]', "faults = {gremlins = 0.5}", 19, "faults"),
        ('deny = ["add"]', 'tool_choice = "dad"', 19, "one of auto, required, none, add"),
        (
            "replies = [[",
            "replies = [3, [",
            25,
            "replies.0: expected a text or a list or a table, received 3",
        ),
        ("replies = [[", "name = 'm'\nreplies = [[", 25, "name: expected only kind, replies"),
        ('kind = "scripted"\n', 'kind = "local"\nname = "nedle"\n#', 25, "nedle"),
        ('kind = "scripted"\nreplies', 'kind = "recording"\npath = "nowhere"\n#', 25, "nowhere"),
        (
            'kind = "scripted"\nreplies',
            'kind = "scripted"\n#',
            23,
            "replies: expected a list, received nothing",
        ),
    ],
)
def test_every_complaint_names_the_line(zoo, sums, old, new, line, what):
    sums.write_text(SUMS.replace(old, new, 1))
    ran = zoo("experiment", sums)
    assert ran.code == 2
    assert re.search(rf"line {line}\b", ran.err), ran.err
    assert what in ran.err


def test_words_of_a_case_do_not_decide_which_line_is_named(zoo, sums):
    """The id is wrong, and it is the name of another key."""
    sums.write_text(SUMS.replace('id = "one"', 'id = "prompt"').replace('id = "=two"', 'id = "prompt"'))
    ran = zoo("experiment", sums)
    assert 'line 13: two cases have the id "prompt"' in ran.err


def test_the_schema_of_a_file_knows_all_faults_and_all_scorers():
    assert EXPERIMENT["$defs"]["fault"]["enum"] == [*FAULTS]
    assert EXPERIMENT["properties"]["scorers"]["items"]["enum"] == sorted(SCORERS)


def test_cases_may_stand_in_a_file_of_their_own(zoo, sums, tmp_path):
    head, tail = SUMS.partition("[[cases]]")[0], SUMS[SUMS.index("[variants.plain]") :]
    sums.write_text(head + 'cases = "cases.jsonl"\n' + tail)
    (tmp_path / "cases.jsonl").write_text('{"prompt": "Hi"}\n\n{"prompt": "Ho", "expected_tool": ""}\n')
    assert [case["prompt"] for case in read_config(sums)[1]["cases"]] == ["Hi", "Ho"]
    (tmp_path / "cases.jsonl").write_text('{"prompt": "Hi"}\n{"prompt": 3}\n')
    assert "cases.jsonl, line 2" in zoo("experiment", sums).err
    for wrong in (
        "id,prompt",
        '{"prompt": "Ho", "tools": ["sledge"]}',
        '{"prompt": "Ho", "expected_tool": "no"}',
    ):
        (tmp_path / "cases.jsonl").write_text(f'{{"prompt": "Hi"}}\n\n{wrong}\n')
        assert "cases.jsonl, line 3" in zoo("experiment", sums).err
    (tmp_path / "cases.jsonl").unlink()
    assert "expected a file with a case a line" in zoo("experiment", sums).err


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
    assert "no dask scheduler answers at nonsense://nowhere:1" in ran.err


@given(st.text(alphabet="[]=\"ab.\n' #", max_size=80), st.lists(st.sampled_from(["a", "b", "0"]), max_size=3))
def test_a_line_is_always_one_of_the_file(text, where):
    assert 1 <= line_of_key(text, where) <= max(1, len(text.splitlines()))


def test_a_page_says_an_error_that_many_runs_share_once():
    def broken(_setup):
        raise KeyError("no such thing")

    cases = [{"id": f"c{n}", "prompt": "Hi", "expected_tool": ""} for n in range(9)]
    models = {"m": lambda: Scripted(["Hello"])}
    page = experiment(cases, {"plain": {}, "broken": broken}, models, progress=False).to_html()
    assert page.count("no such thing") == 1
    assert re.search("<td[^>]*>9</td><td[^>]*>c0, c1, c2, c3, c4, and 4 more</td>", page)
    assert "9 of 9 runs of broken broke off (failed)" in page


def test_a_page_calls_no_error_recovered_where_the_run_failed():
    cases = [{"prompt": "Add 1 and 1.", "expected_tool": "add", "expected_answer": 2}, {"prompt": "Hi"}]
    script = Scripted([[("add", {"a": 1, "b": 1})], "I must not."])
    page = experiment(
        cases, {"mute": {"deny": ["add"]}}, {"m": script}, tools=TOOLS, progress=False
    ).to_html()
    drawn = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)[-1]
    assert "0 of 2 errors recovered" in base64.b64decode(drawn).decode()


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


def test_the_example_that_is_printed_is_an_experiment(zoo, tmp_path):
    printed = zoo("experiment", "--example")
    (tmp_path / "choice.toml").write_text(printed.out, encoding="utf-8")
    title, arguments = read_config(tmp_path / "choice.toml")
    assert (title, len(arguments["cases"])) == ("Better descriptions", 6)
    assert list(arguments["variants"]) == ["plain", "described"]
    ran = zoo("experiment", tmp_path / "choice.toml", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert "12 of 12 runs" in ran.out
    assert "6 cases" in ran.out
    assert "broke off" not in ran.out


def test_without_a_file_the_command_says_where_to_get_one(zoo):
    done = zoo("experiment")
    assert done.code == 2
    assert "zoolab experiment --example prints one" in done.err


def test_a_file_may_ask_for_a_search_of_tools_and_a_structured_answer(tmp_path):
    variant = (
        '[variants.plain]\nretrieve = 1\nfind_tools = true\n[variants.plain.answer_schema]\ntype = "object"\n'
    )
    path = tmp_path / "sums.toml"
    path.write_text(SUMS.replace("[variants.plain]\n", variant).replace("=It is 100.", '{\\"sum\\": 100}'))
    done = experiment(**read_config(path)[1], progress=False)
    traces = [trace for trace in done.traces if trace.meta["variant"] == "plain"]
    assert [trace.value for trace in traces] == [{"sum": 100}] * len(traces)
    assert all("find_tools" in trace.steps[0].record for trace in traces)


def test_a_mark_at_the_start_of_the_file_or_of_its_cases_is_not_read(tmp_path):
    cases = '{"id": "a", "prompt": "Hi"}\n{"id": "b", "prompt": "Ho"}\n'
    (tmp_path / "cases.jsonl").write_text(cases, encoding="utf-8-sig")
    path = tmp_path / "marked.toml"
    told = 'title = "Marked"\ncases = "cases.jsonl"\n[models.m]\nkind = "scripted"\nreplies = ["Hello."]\n'
    path.write_text(told, encoding="utf-8-sig")
    title, arguments = read_config(path)
    assert (title, [case["id"] for case in arguments["cases"]]) == ("Marked", ["a", "b"])
