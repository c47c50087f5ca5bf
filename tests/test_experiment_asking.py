"""How an experiment asks its models: at a pace, within a budget, again if refused, and nothing twice."""

import re
import threading

import httpx
import openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from moved import Moved
from server import Answer, completion, serving

from zoolab import OpenAIModel, Scripted
from zoolab.errors import InvalidInput, ModelError
from zoolab.records import Reply, Request
from zoolab_study import Budget, Experiment, Pace, experiment, pacing
from zoolab_study.pacing import Asker, BudgetSpent, Ledger, ReplyCache, Spent, Terms, patience, retry_after

CASES = [{"id": str(n), "prompt": f"Say {n}."} for n in range(6)]


def ask(server, cases=CASES[:1], variants=None, **options):
    client = openai.OpenAI(base_url=server.url, api_key="none")
    model = OpenAIModel("m", client=client)
    return experiment(cases, variants, {"m": model}, progress=False, scorers=(), **options)


def usage(prompt, answer):
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": answer}}


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 500)), min_size=1, max_size=60),
    st.integers(1, 120),
    st.integers(100, 5_000),
)
@example(asks=[(0.0, 0), (0.0, 101), (0.0, 0)], requests=2, tokens=100)
def test_no_minute_has_more_requests_or_tokens_than_the_pace(asks, requests, tokens):
    pace, spent, now, made = Pace(requests, tokens), Spent(), 0.0, []
    for pause, size in asks:
        now += pause
        at = spent.reserve(now, size, pace, Budget())
        assert at >= now
        made.append((at, size))
    for start, _ in made:
        within = [size for at, size in made if start <= at < start + 60 - 1e-6]
        assert len(within) <= requests
        assert sum(within[:-1]) <= tokens


def test_workers_that_share_a_ledger_keep_to_its_budget_together(tmp_path):
    passed = []

    def work():
        ledger = Ledger(tmp_path / "ledger", Pace(), Budget(requests=20))
        for _ in range(10):
            try:
                ledger.reserve(1)
            except BudgetSpent:
                return
            passed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 20


def test_requests_are_spread_evenly(monkeypatch):
    clock, times = Moved(), []
    monkeypatch.setattr(pacing, "time", clock)

    def model(_request):
        times.append(clock.time() - 1_900_000_000)
        return Reply({"role": "assistant", "content": "Hi"})

    experiment(CASES, None, {"m": model}, progress=False, scorers=(), pace=Pace(requests=1_200), workers=1)
    assert times == pytest.approx([0, 0.05, 0.1, 0.15, 0.2, 0.25], abs=1e-3)


def test_a_refusal_is_waited_for_as_long_as_the_endpoint_says(tmp_path):
    waits, refused = [], Answer({"error": {"message": "busy"}}, 429, headers={"retry-after": "4"})
    failed = Answer({"error": {}}, 500, headers={"retry-after-ms": "9000"})
    with serving(refused, failed, completion("Hi")) as server:
        model = OpenAIModel("m", base_url=server.url, api_key="none", max_retries=0)
        reply = Asker(Terms(tmp_path), sleep=waits.append).ask(
            model, Request([{"role": "user", "content": "Hi"}])
        )
    assert reply.message["content"] == "Hi"
    # And at most a second more, so that not all of those that were refused come back at once.
    assert [4 <= waits[0] <= 5, 9 <= waits[1] <= 10, len(waits)] == [True, True, 2]


def test_an_experiment_asks_again_after_a_refusal():
    refused = Answer({"error": {"message": "busy"}}, 429, headers={"retry-after-ms": "1"})
    failed = Answer({"error": {}}, 500, headers={"retry-after-ms": "1"})
    with serving(refused, failed, completion("Hi")) as server:
        done = ask(server)
        assert (done.summary["said"].tolist(), len(server.asked)) == (["Hi"], 3)


@pytest.mark.parametrize("code", [400, 401, 404])
def test_what_will_not_get_better_is_not_asked_again(code):
    with serving(Answer({"error": {"message": "no"}}, code)) as server:
        done = ask(server)
        assert (done.summary["outcome"].tolist(), len(server.asked)) == (["model_error"], 1)


def test_patience_ends_after_so_many_retries():
    with serving(Answer({"error": {"message": "busy"}}, 503, headers={"retry-after-ms": "1"})) as server:
        done = ask(server, pace=Pace(retries=2))
        assert (done.summary["outcome"].tolist(), len(server.asked)) == (["model_error"], 3)


def test_who_asks_for_an_hour_is_not_waited_for():
    with serving(Answer({"error": {"message": "busy"}}, 429, headers={"retry-after": "3600"})) as server:
        done = ask(server).summary
        assert done["outcome"].tolist() == ["model_error"]
        assert "busy, and asks to wait 3,600 s; expected at most 600 s" in done["error"][0]
        assert len(server.asked) == 1


@pytest.mark.parametrize("tells", [True, False])
def test_a_long_wait_is_told_once_to_who_watches(tmp_path, capsys, tells):
    waits, refused = [], Answer({"error": {"message": "busy"}}, 429, headers={"retry-after": "300"})
    with serving(refused, refused, completion("Hi")) as server:
        model = OpenAIModel("m", base_url=server.url, api_key="none", max_retries=0)
        asker = Asker(Terms(tmp_path, tells=tells), sleep=waits.append)
        reply = asker.ask(model, Request([{"role": "user", "content": "Hi"}]))
    told = capsys.readouterr().err
    assert reply.message["content"] == "Hi"
    assert [300 <= wait <= 301 for wait in waits] == [True, True]
    assert told.count("\n") == (1 if tells else 0)
    assert told == "" or re.match("zoolab: the model is asked again in 30[01] s: .*busy", told)


def test_pauses_grow_and_are_random():
    failed = ModelError("lost")
    failed.__cause__ = ConnectionError()
    assert [patience(failed, attempt, max) for attempt in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert patience(failed, 3, min) == 0

    # A class is known by what it is, and not by its name.
    named_alike = ModelError("of another library")
    named_alike.__cause__ = type("APIConnectionError", (Exception,), {})("gone")
    assert patience(named_alike, 0, max) is None
    line = ModelError("the line broke")
    line.__cause__ = httpx.ReadError("gone")
    assert patience(line, 0, max) == 0.5
    assert patience(ModelError("the script has no reply to request"), 0, max) is None


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text(max_size=30)))
def test_any_retry_after_is_seconds_or_nothing(headers):
    told = retry_after(headers, 0.0)
    assert told is None or 0 <= told < float("inf")


@pytest.mark.parametrize(
    ("header", "now", "told"),
    [
        ("Fri, 27 Nov 2026 04:00:03 GMT", 1795752000.5, 2.5),
        ("Fri, 27 Nov 2026 04:00:03 GMT", 1795752099.0, 0.0),
        ("Fri, 27 Nov 2026 05:00:03 +0100", 1795752000.0, 3.0),
        ("soon", 0.0, None),
    ],
)
def test_retry_after_may_be_a_date(header, now, told):
    assert retry_after({"retry-after": header}, now) == told


def test_a_run_that_broke_off_is_asked_again_with_the_same_journal(tmp_path):
    path = tmp_path / "runs.jsonl"
    with serving(completion("Hi"), Answer({"error": {"message": "down"}}, 500), completion("Ho")) as server:
        first = ask(server, CASES[:2], journal=path, pace=Pace(retries=0), workers=1)
        assert first.summary["outcome"].tolist() == ["answer", "model_error"]
        second = ask(server, CASES[:2], journal=path, pace=Pace(retries=0), workers=1)
        assert second.summary["outcome"].tolist() == ["answer", "answer"]
        assert (len(server.asked), len(Experiment.load(path))) == (3, 2)


def test_a_spent_budget_stops_cleanly_and_the_rest_can_be_done_later(tmp_path):
    path = tmp_path / "runs.jsonl"
    with serving(completion("Hi")) as server:
        first = ask(server, CASES, journal=path, budget=Budget(requests=4), workers=2)
        assert (len(first), len(first.unfinished), len(server.asked)) == (4, 2, 4)
        assert "budget of 4 requests is spent" in first.stopped
        # Which two are left depends on which of the workers is quicker.
        assert len({place.case for place in first.unfinished}) == 2
        second = ask(server, CASES, journal=path, budget=Budget(requests=4), workers=2)
        assert (len(second), second.unfinished, second.stopped, len(server.asked)) == (6, [], "", 6)


def test_a_budget_of_tokens_counts_what_the_endpoint_says():
    with serving(completion("Hi", **usage(90, 10))) as server:
        done = ask(server, CASES, budget=Budget(tokens=250), workers=1)
        assert len(server.asked) == len(done) == 3
        assert "250 tokens" in done.stopped


def test_a_reply_that_was_paid_for_is_asked_for_once(tmp_path):
    both = {"plain": {}, "patient": {"limits": {"turns": 9}}, "polite": {"system": "Be polite."}}
    with serving(completion("Hi")) as server:
        options = {"cache": tmp_path / "cache.jsonl", "budget": Budget(requests=100)}
        done = ask(server, CASES[:2], both, **options)
        assert (len(done), len(server.asked)) == (6, 4)
        ask(server, CASES[:2], both, **options)
        assert len(server.asked) == 4


def test_repeats_and_seeds_never_share_an_answer(tmp_path):
    with serving(completion("Hi")) as server:
        for seed in (0, 1, 1):
            ask(server, repeats=3, seed=seed, cache=tmp_path / "cache.jsonl")
        assert len(server.asked) == 6


def test_a_script_is_never_cached(tmp_path):
    models = {"script": lambda: Scripted(["Hi"])}
    experiment(CASES, None, models, progress=False, cache=tmp_path / "cache.jsonl")
    assert not (tmp_path / "cache.jsonl").exists()


def test_a_cache_with_a_torn_or_a_strange_line_still_works(tmp_path):
    path = tmp_path / "cache.jsonl"
    with serving(completion("Hi")) as server:
        ask(server, CASES[:2], cache=path)
        path.write_bytes(b'{"key":"x","reply":3}\nnonsense\n' + path.read_bytes()[:-9])
        ask(server, CASES[:2], cache=path)
        assert len(server.asked) == 3
        ask(server, CASES[:2], cache=path)
        assert len(server.asked) == 3


def test_two_workers_see_each_others_replies(tmp_path):
    one, other = (ReplyCache(tmp_path / "cache.jsonl") for _ in range(2))
    assert other.get("k") is None
    one.put("k", Reply({"role": "assistant", "content": "Hi"}, "stop", {"prompt_tokens": 1}))
    assert (
        other.get("k")
        == one.get("k")
        == Reply({"role": "assistant", "content": "Hi"}, "stop", {"prompt_tokens": 1})
    )


def test_a_real_model_may_be_made_by_a_function_and_is_made_once():
    made = []
    with serving(completion("Hi")) as server:

        def model():
            made.append(1)
            return OpenAIModel("m", client=openai.OpenAI(base_url=server.url, api_key="none"))

        experiment(CASES, None, {"m": model}, progress=False, workers=1)
    assert len(made) == 1


@pytest.mark.parametrize(
    "wrong", [lambda: Pace(requests=0), lambda: Pace(retries=-1), lambda: Budget(tokens=-1)]
)
def test_a_pace_or_a_budget_that_cannot_be_meant_is_said(wrong):
    with pytest.raises(InvalidInput, match="expected"):
        wrong()


def test_a_journal_can_be_read_while_it_is_written(tmp_path):
    seen = []

    def model(request: Request):
        path = tmp_path / "runs.jsonl"
        seen.append(len(Experiment.load(path)))
        return Reply({"role": "assistant", "content": request.messages[-1]["content"]})

    experiment(CASES, None, {"m": model}, progress=False, journal=tmp_path / "runs.jsonl", workers=1)
    assert seen == sorted(seen)
    assert seen[0] == 0 < seen[-1]
