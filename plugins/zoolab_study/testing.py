"""A plugin for pytest: `zoolab_trace` keeps the traces of a test, and writes their stories if it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zoolab.runs import Trace

__all__ = ["zoolab_trace"]

KEPT = pytest.StashKey[list[Any]]()


@pytest.fixture
def zoolab_trace(request: pytest.FixtureRequest) -> Callable[[Trace], Trace]:
    """Keep a trace, and return it. If the test fails, its story is written, and the report says where.

        def test_the_agent_adds(zoolab_trace):
            trace = zoolab_trace(run("What is 42 + 58?", [add], model))
            assert trace.answer == "100"

    The page can be stepped through, and holds no secrets. It is written into pytest's temporary folder, which
    `--basetemp` names.
    """
    kept = request.node.stash.setdefault(KEPT, [])
    kept.append(request.getfixturevalue("tmp_path_factory"))

    def keep(trace: Trace) -> Trace:
        kept.append(trace)
        return trace

    return keep


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Name the stories in the report of a test that failed."""
    report: Any = yield
    if report.when == "call" and report.failed and len(item.stash.get(KEPT, [])) > 1:
        temporary, *traces = item.stash[KEPT]
        folder = temporary.mktemp("stories")
        name = re.sub(r"[^\w.-]+", "_", item.nodeid)[-120:]
        for number, trace in enumerate(traces, 1):
            page = folder / f"{name}-{number}.html"
            trace.to_html(page, interactive=True)
            report.sections.append(("zoolab", f"the story of the walk: {page}"))
    return report
