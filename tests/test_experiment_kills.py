"""Whatever is killed, and whenever: the resumed experiment is the one that nobody disturbed."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from zoolab import Scripted
from zoolab.errors import InvalidInput
from zoolab_study import Case, Experiment, experiment
from zoolab_study.journal import JournalReader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")

#: Kills of drivers and of workers; all fifty with ZOOLAB_KILLS=25.
KILLS = int(os.environ.get("ZOOLAB_KILLS", "4"))
CASES = [Case(f"c{n}", f"Say {n}.") for n in range(60)]
VARIANTS = {"plain": {}, "polite": {"system": "Be polite."}}
REPEATS = 3


class Talk:
    """Answers from its seed, in its own time; says beforehand who it is."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, request):
        Path(os.environ["ZOOLAB_PIDS"], str(os.getpid())).touch()
        time.sleep(0.002)
        return Scripted([f"{request.messages[-1]['content']} {self.seed}"])(request)


def talk(seed):
    return Talk(seed)


def conduct(journal, executor="processes"):
    return experiment(
        CASES,
        VARIANTS,
        {"talk": talk},
        REPEATS,
        executor=executor,
        journal=journal,
        progress=False,
        workers=2,
    )


def told(done):
    """All that does not depend on the clock."""
    traces = [trace.messages for trace in done.traces]
    return done.summary.drop(columns=["duration_ms", "seconds"]).to_dict("records"), traces


@pytest.fixture
def pids(tmp_path, monkeypatch):
    """The folder where workers say who they are."""
    folder = tmp_path / "pids"
    folder.mkdir()
    monkeypatch.setenv("ZOOLAB_PIDS", str(folder))
    return folder


@pytest.fixture
def undisturbed(tmp_path, pids):
    assert pids.is_dir()
    return told(conduct(tmp_path / "undisturbed.jsonl", "threads"))


def grown(path, size, seconds=60):
    """Wait until the file has more than `size` bytes; its size then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(FileNotFoundError):
            if path.stat().st_size > size:
                return path.stat().st_size
        time.sleep(0.001)
    raise AssertionError(f"{path} did not grow beyond {size} bytes")


@pytest.mark.slow
def test_a_killed_driver_loses_nothing_and_leaves_nobody(tmp_path, pids, undisturbed):
    journal, chance = tmp_path / "runs.jsonl", random.Random(0)
    size, drivers = 0, []
    for _ in range(KILLS):
        driver = subprocess.Popen([sys.executable, __file__, str(journal)], start_new_session=True)
        drivers.append(driver.pid)
        with suppress(AssertionError):
            size = grown(journal, size + chance.randrange(1, 8_000), 20)
        driver.kill()
        driver.wait()
        whole = dict(JournalReader(journal).runs())
        assert len(whole) <= len(CASES) * len(VARIANTS) * REPEATS
    done = conduct(journal)
    assert told(done) == undisturbed
    names = [name for name, _ in JournalReader(journal).runs()]
    assert len(names) == len(set(names)), "a run was done twice"
    assert [pid for pid in drivers if outlived(pid)] == []
    wait_until_gone(workers_in(pids))


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path, pids, undisturbed):
    journal, chance, killed = tmp_path / "runs.jsonl", random.Random(1), 0
    driver = subprocess.Popen([sys.executable, __file__, str(journal)])
    while killed < KILLS and driver.poll() is None:
        time.sleep(chance.uniform(0, 0.3))
        workers = workers_in(pids)
        with suppress(ProcessLookupError, IndexError):
            os.kill(chance.choice(workers), signal.SIGKILL)
            killed += 1
            for pid in workers:  # so that the next one to be killed is at work
                (pids / str(pid)).unlink()
    assert driver.wait(timeout=60) == 0
    assert killed >= min(KILLS, 3)
    assert told(Experiment.load(journal))[0] != []
    assert told(conduct(journal)) == undisturbed


@pytest.mark.slow
def test_ctrl_c_ends_the_workers_and_the_same_journal_goes_on(tmp_path, pids, undisturbed):
    journal = tmp_path / "runs.jsonl"
    driver = subprocess.Popen(
        [sys.executable, __file__, str(journal)], start_new_session=True, stderr=subprocess.PIPE
    )
    grown(journal, 8_000)
    os.killpg(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=120)
    assert b"KeyboardInterrupt" in said.splitlines()[-2]
    assert said.splitlines()[-1].startswith(b"abandoned: ")
    wait_until_gone(workers_in(pids))
    assert len(Experiment.load(journal)) < len(CASES) * len(VARIANTS) * REPEATS
    assert told(conduct(journal)) == undisturbed


def wait_until_gone(processes):
    """Wait until none of these processes runs any more."""
    wait_until(lambda: not any(map(psutil.pid_exists, processes)))


def workers_in(pids):
    return [int(path.name) for path in pids.iterdir() if path.name != str(os.getpid())]


def outlived(session, seconds=60):
    """Whether somebody of this session is still there after a while."""
    until = time.monotonic() + seconds
    while members_of(session) and time.monotonic() < until:
        time.sleep(0.02)
    return members_of(session)


def members_of(session):
    """The processes of a session that still run, where the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, own = path.read_text().rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


def deadly(case):
    """A model that ends its process in some cases."""

    def model(request):
        if case.id in ("c3", "c11"):
            os._exit(9)
        return Scripted(["Well."])(request)

    return model


@pytest.mark.slow
def test_a_run_that_kills_its_process_costs_only_itself(tmp_path):
    done = experiment(
        CASES[:20],
        None,
        {"deadly": deadly},
        executor=ProcessPoolExecutor(2),
        journal=tmp_path / "runs.jsonl",
        progress=False,
    )
    ends = done.summary.set_index("case_id")["outcome"]
    assert ends[ends == "crashed"].index.tolist() == ["c3", "c11"]
    assert (ends.drop(["c3", "c11"]) == "answer").all()
    assert done.traces[3].outcome == "crashed"
    assert "(4 times)" in done.traces[3].error


def unable():
    os._exit(1)


def test_a_pool_that_cannot_even_begin_is_an_error():
    with pytest.raises(InvalidInput, match="ended before they did any work"):
        experiment(["Hi"], None, {"talk": talk}, executor=lambda: ProcessPoolExecutor(1, initializer=unable))


def test_what_cannot_travel_to_another_process_is_said():
    class Stuck:
        def __call__(self, request):
            return Scripted(["Hi"])(request)

        def __reduce__(self):
            raise TypeError("I stay here")

    with pytest.raises(InvalidInput, match=r"cannot be sent to other processes: .*I stay here"):
        experiment(["Hi"], None, {"stuck": Stuck()}, executor="processes", progress=False)


@pytest.mark.slow
@pytest.mark.usefixtures("pids")
def test_a_cluster_that_loses_a_worker_loses_nothing(tmp_path, undisturbed):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
        done = conduct(tmp_path / "runs.jsonl", client.get_executor(pure=False, retries=3))
    assert told(done) == undisturbed


if __name__ == "__main__":
    conduct(Path(sys.argv[1]))
