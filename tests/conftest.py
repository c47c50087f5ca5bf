"""What holds for all tests: the examples of property tests, what may be downloaded, the quick tier."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from zoolab.errors import ZoolabError

# The same code gets the same examples: nobody who runs the tests meets a failure that others do not meet.
# `--hypothesis-profile new` draws new ones, as `.ci/run` does in a second pass, and `thorough` draws 3,000.
# `unshrunk` looks for no smaller example when one fails: of a mutant, it counts only that a test fails.
# The machine may be busy, so no example has a deadline. A failure prints how to repeat it.
settings.register_profile(
    "new", settings.get_profile("default"), deadline=None, print_blob=True, derandomize=False
)
settings.register_profile("thorough", settings.get_profile("new"), max_examples=3000)
settings.register_profile(
    "zoolab", settings.get_profile("default"), deadline=None, print_blob=True, derandomize=True
)
settings.register_profile("unshrunk", settings.get_profile("zoolab"), phases=[Phase.explicit, Phase.generate])
settings.load_profile("zoolab")

MISSING = "needs a download: "
PROJECT = Path(__file__).resolve().parents[1]
#: These files take two thirds of the time: every notebook and every answer of every lab runs there, and
#: processes, servers and installations are started.
LONG = {
    *("test_labs", "test_notebooks", "test_interrupts", "test_local", "test_mcp", "test_mcp_http"),
    *("test_record_course", "test_weights", "test_start", "test_cli_process", "test_recordings"),
    *("test_recording_plan", "test_nothing_lost", "test_experiment_interrupted"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="download what tests need (two models' weights, 127 MB, Berkeley's data, and Pyodide with"
        " wheels, 24 MB); fail if that, or a browser, is missing",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out the files that take longest, but for a sample, and the work that you changed",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`, leave out the long files; what is a sample, or named, or changed, is still run.

    Processes that share the tests begin with the long files, so that all of them end at about the same time.
    """
    if hasattr(config, "workerinput"):
        long = {item.path for item in items if item.path.stem in LONG or item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in long)
    if not config.getoption("quick"):
        return
    changed, named = changed_work(), " ".join(config.args)
    left_out = [
        item
        for item in items
        if item.path.stem in LONG and item.path.stem not in named
        if not any(name in item.name for name in changed) and not item.get_closest_marker("sample")
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def changed_work() -> set[str]:
    """How tests name the notebooks and labs that differ from the last commit, or from main: `[03-schemas`."""
    lists = (
        ["diff", "--name-only", "HEAD"],
        ["diff", "--name-only", "origin/main...HEAD"],
        ["ls-files", "--others", "--exclude-standard"],
    )
    said = [
        subprocess.run(["git", "-C", PROJECT, *words], capture_output=True, text=True, check=False).stdout
        for words in lists
    ]
    paths = [Path(line) for line in "\n".join(said).splitlines() if line]
    labs = {f"[{path.parts[1]}" for path in paths if path.parts[0] == "labs" and len(path.parts) > 2}
    notebooks = {f"[{path.stem}" for path in paths if path.parts[0] == "notebooks" and path.suffix == ".py"}
    return labs | notebooks


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file in one process, but each lab of `test_labs.py` by itself: no other file takes that long."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrLab(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            lab = re.search(r"test_labs\.py::.*\[(l\d+)\b", nodeid)
            return lab[1] if lab else super()._split_scope(nodeid)

    return ByFileOrLab(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Say at the end, in one line, what was left out and how to get it."""
    yield
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    missing = [reason.partition(MISSING)[2] for reason in skipped if MISSING in reason]
    if missing:
        what = "; ".join(sorted({reason.partition("; run")[0] for reason in missing}))
        line = f"{len(missing)} tests were left out: {what}. python3 start.py test --complete downloads it."
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(scope="session")
def download(pytestconfig: pytest.Config) -> Callable[[Callable[[], Any], Callable[[], Any]], Any]:
    """What a test needs from the network: fetched with `--complete`, else found, or the test is left out."""

    def download(find: Callable[[], Any], fetch: Callable[[], Any]) -> Any:
        if pytestconfig.getoption("complete"):
            return fetch()
        try:
            return find()
        except ZoolabError as missing:
            pytest.skip(f"{MISSING}{missing}")

    return download


@pytest.fixture(autouse=True, scope="session")
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What zoolab keeps for its user, here and in the processes of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _main_module_stays() -> Iterator[None]:
    """IPython's shell takes the place of `__main__`, and empties it: no process could be spawned then."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
