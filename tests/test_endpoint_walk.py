"""zoolab's own walk against every endpoint report, in five APIs, plain and streamed."""

from __future__ import annotations

from typing import Any

import pytest

from zoolab import OpenAIModel, Trace, run, tool
from zoolab.errors import ZoolabError
from zoolab.repair import RuleRepair
from zoolab_connect.endpoint import Endpoint, ReportedCase, all_cases, endpoint
from zoolab_connect.providers import PROVIDERS


@tool
def get_weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"ran get_weather(city={city}, days={days})"


@tool
def get_time() -> str:
    """The time of the day."""
    return "ran get_time()"


@tool
def cleanup(path: str = "/data", older_than_days: int = 0) -> str:
    """Delete old files."""
    return f"ran cleanup(path={path}, older_than_days={older_than_days})"


TOOLS = {each.name: each for each in (get_weather, get_time, cleanup)}


def model_for(server: Endpoint, case: ReportedCase, stream: bool) -> Any:
    """A model of zoolab that asks the endpoint of a case."""
    settings = {name: value for name, value in case.settings.items() if name != "response_format"}
    if case.api == "chat":
        import openai

        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        return OpenAIModel("any", client=client, stream=stream, **settings)
    base = server.url + ("/v1" if case.api == "responses" else "")
    return PROVIDERS[case.api]("any", base_url=base, api_key="none", stream=stream, **settings)


def walk(server: Endpoint, case: ReportedCase, stream: bool, **options: Any) -> Trace | None:
    """The trace of a walk through a case; None if it ended with an error before its first step."""
    if "response_format" in case.settings:
        options["answer_schema"] = case.settings["response_format"]["json_schema"]["schema"]
    offered = [TOOLS[name] for name in case.tools]
    try:
        return run(case.prompt, offered, model_for(server, case, stream), **options)
    except ZoolabError as error:
        return getattr(error, "trace", None)


def has_an_answer(trace: Trace | None) -> bool:
    """Whether a walk says that it ended with an answer, and that nothing was strange about its last reply."""
    if trace is None or trace.outcome != "answer":
        return False
    replies = [step.reply for step in trace.steps if step.reply is not None]
    return not replies[-1].notes


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("id", all_cases())
def test_walk_passes_every_case(id: str, stream: bool) -> None:
    case = all_cases()[id]
    with endpoint(case) as server:
        trace = walk(server, case, stream)
        verdict = server.verdict(has_an_answer(trace))
    assert verdict.ok, f"{verdict}; {case.must}"


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_walk_with_a_repair_sends_back_what_servers_take(stream: bool) -> None:
    case = all_cases()["chat-repairable-arguments"]
    with endpoint(case) as server:
        assert has_an_answer(walk(server, case, stream, repair=RuleRepair()))
        assert server.verdict().ok, str(server.verdict())
