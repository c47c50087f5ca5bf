"""Kills and full disks for each kind of file that zoolab writes. Run as a program by test_nothing_lost.py.

    killed.py kill KINDS COUNT SEED FOLDER      SIGKILL at COUNT random moments
    killed.py full KINDS COUNT FOLDER           the disk is full at COUNT places of what is written
    killed.py disk KINDS FOLDER                 FOLDER is a small disk; it is full but for 0, 1, 2 ... blocks

A writer writes the things 0, 1, 2 ... and says of each that it is done. `kept` reads the file as zoolab does
and returns the things in it: all that were done have to be there (`lost`), and nothing else (`let_in`) but
the one that was under way. KINDS is "all", or some of them with commas. Prints what was counted as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoolab import Replay, Scripted, Trace, run, tool
from zoolab.errors import InvalidInput, ZoolabError
from zoolab.models.recording import Recording
from zoolab.policy import Permissions, Policy
from zoolab.policy.permissions import PolicyFile
from zoolab.records import Reply
from zoolab_connect.mcp.listing import Listed, read_pins, write_pins
from zoolab_course.weights import Weights, fetch, find
from zoolab_grader.gradebook import ClassGrades, GradeTerms, Kept, Row, Store
from zoolab_grader.judge import CaseGrade, Grade
from zoolab_grader.labs import Case, Lab
from zoolab_grader.report import write_report
from zoolab_study.journal import Journal, JournalReader, run_line
from zoolab_study.pacing import Budget, Ledger, Pace, ReplyCache
from zoolab_study.runner import _cache_file

CONTENT = random.Random(1).randbytes(1_000_000)


@tool
def note(n: int) -> str:
    """Note a number."""
    return f"noted {n} " * 40


def walked(number: int, **given: Any) -> Trace:
    return run(f"{number}", [note], Scripted([[("note", {"n": number})], "Done."]), **given)


class Kind:
    """A file and its writer. One that keeps only the last thing is `whole`; one may only grow."""

    whole = False
    grows = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "file.jsonl"

    def write(self, number: int) -> None:
        raise NotImplementedError

    def kept(self) -> list[int]:
        raise NotImplementedError

    def clear(self) -> None:
        for each in list(self.folder.iterdir()):
            shutil.rmtree(each) if each.is_dir() else each.unlink()


class Saved(Kind):
    whole = True

    def write(self, number: int) -> None:
        walked(number).save(self.path)

    def kept(self) -> list[int]:
        if not self.path.exists():
            return []
        trace = Trace.load(self.path)
        assert trace.answer == "Done."
        return [int(trace.messages[0]["content"])]


class Live(Kind):
    whole = True

    def write(self, number: int) -> None:
        walked(number, trace=Trace(self.path, meta={"n": number}))

    def kept(self) -> list[int]:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return []
        return [Trace.load(self.path).meta["n"]]


class Page(Kind):
    whole = True

    def write(self, number: int) -> None:
        walked(number).to_html(self.path)

    def kept(self) -> list[int]:
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")
        return [int(text.partition("<title>zoolab: ")[2].partition("<")[0])]


class Recorded(Kind):
    grows = True

    def write(self, number: int) -> None:
        run(f"{number}", [], Replay(self.path, live=Scripted(["Done."])))

    def kept(self) -> list[int]:
        if not self.path.exists() or b"\n" not in self.path.read_bytes():
            return []
        return [int(body["messages"][0]["content"]) for body in Recording(self.path).requests]


class Journalled(Kind):
    grows = True

    def write(self, number: int) -> None:
        with Journal(self.path) as journal:
            trace = walked(number)
            trace.run_id = f"{number:028x}"
            journal.append([run_line(trace)])

    def kept(self) -> list[int]:
        if not self.path.exists() or b"\n" not in self.path.read_bytes():
            return []
        places = list(JournalReader(self.path).runs())
        assert len(list(JournalReader(self.path).at(place for _, place in places))) == len(places)
        return [int(name, 16) for name, _ in places]


class Policies(Kind):
    def write(self, number: int) -> None:
        PolicyFile(self.path).add("allow", f"tool_{number}")

    def kept(self) -> list[int]:
        return [int(rule.removeprefix("tool_")) for rule in PolicyFile(self.path).read().allow]


class Audited(Kind):
    grows = True

    def write(self, number: int) -> None:
        if not Permissions(Policy(), audit=self.path).decide(note, {"n": number}).allowed:
            raise InvalidInput("not written down")

    def kept(self) -> list[int]:
        lines = self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []
        read = [json.loads(line) for line in lines if line.endswith(b"\n") and not is_cut(line)]
        return [json.loads(each["arguments"])["n"] for each in read]


def is_cut(line: bytes) -> bool:
    """Whether a line is what a kill left of an entry; two in one would not begin so."""
    cut = not line.endswith(b"}\n")
    assert line.count(b'"time"') == 1
    return cut


class Cached(Kind):
    grows = True

    def write(self, number: int) -> None:
        path = _cache_file(self.path, self.path)
        assert path is not None
        ReplyCache(path).put(f"{number}", Reply({"role": "assistant", "content": f"{number}" * 50}))

    def kept(self) -> list[int]:
        if not self.path.exists():
            return []
        cache, found = ReplyCache(self.path), []
        for number in range(self.path.read_bytes().count(b"\n") + 2):
            reply = cache.get(f"{number}")
            if reply is not None:
                assert reply.text == f"{number}" * 50
                found.append(number)
        return found


class Budgeted(Kind):
    def write(self, number: int) -> None:
        try:
            Ledger(self.path, Pace(), Budget(requests=number + 1)).reserve(1)
        except OSError as error:  # the run says which
            raise InvalidInput(str(error)) from None

    def kept(self) -> list[int]:
        return list(range(json.loads(self.path.read_text())[0])) if self.path.exists() else []


class Pins(Kind):
    whole = True

    def write(self, number: int) -> None:
        write_pins(self.path, "server", [Listed("a", f"{number}", {}), Listed("b", "x" * 3_000, {})])

    def kept(self) -> list[int]:
        pinned = read_pins(self.path, "server")
        return [] if pinned is None else [int(pinned["a"].description)]


class Graded(Kind):
    """A result of the grader, its signature, and the line of its journal."""

    def store(self) -> Store:
        return Store(self.folder, b"a key")

    def write(self, number: int) -> None:
        cases = (CaseGrade("adds", "`add` adds.", 1, 1, True),)
        grade = Grade("l0", f"s{number}.py", "seed", cases, ())
        self.store().save(Kept(grade, "version1", "c" * 64, False))

    def kept(self) -> list[int]:
        return sorted(int(kept.name[1:-3]) for kept in self.store().all())


class Reported(Graded):
    """The page of a class, its tables and the pages of its students."""

    whole = True

    def write(self, number: int) -> None:
        super().write(0)
        lab = Lab("l0", f"Sums {number}", ("add",), cases=(Case("adds", "`add` adds.", "", 1, True, print),))
        rows = (Row("s0.py", 0, (0,)),)
        write_report(
            ClassGrades(lab, GradeTerms("l0", "v", "s"), rows, self.store(), given=frozenset({"s0.py"}))
        )

    def kept(self) -> list[int]:
        page = self.folder / "index.html"
        for each in self.folder.glob("students/*.html"):
            assert each.read_text(encoding="utf-8").rstrip().endswith("</html>")
        if not page.exists():
            return []
        json.loads((self.folder / "grades.json").read_text())
        text = page.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")
        return [int(text.partition("Sums ")[2].partition("<")[0].partition(" ")[0])]


class Fetched(Kind):
    """The weights of a model, from a slow server of this program; what came of them is kept, and checked."""

    whole = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        command = [sys.executable, "-c", SERVER]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.server.stdout is not None
        url = f"http://127.0.0.1:{self.server.stdout.readline().strip()}/model.bin"
        digest = hashlib.sha256(CONTENT).hexdigest()
        told = ("tiny", "Tiny", "MIT", "no-such-wheel==1", "model.bin")
        self.weights = Weights(*told, digest, len(CONTENT), 0, "json")
        self.weights = replace(self.weights, url=url, part_bytes=2_000_000)
        os.environ["ZOOLAB_CACHE"] = str(folder)
        os.environ["PIP_NO_INDEX"] = "1"

    def write(self, number: int) -> None:
        if (self.folder / "number").exists() and number:
            self.weights.path.unlink(missing_ok=True)
        assert fetch(self.weights).read_bytes() == CONTENT
        (self.folder / "number").write_text(f"{number}")

    def kept(self) -> list[int]:
        if self.weights.path.exists():
            assert find(self.weights).read_bytes() == CONTENT
        if self.weights.begun.exists():
            assert CONTENT.startswith(self.weights.begun.read_bytes())
        return []


SERVER = """
import http.server, random, time
CONTENT = random.Random(1).randbytes(1_000_000)
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        for at in range(start, len(CONTENT), 100_000):
            self.wfile.write(CONTENT[at:min(at + 100_000, len(CONTENT))])
            time.sleep(0.002)
    def log_message(self, *_): ...
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
    server.handle_error = lambda *_: None
    print(server.server_port, flush=True)
    server.serve_forever()
"""

KINDS: dict[str, Callable[[Path], Kind]] = {
    "saved trace": Saved,
    "live trace": Live,
    "page": Page,
    "recording": Recorded,
    "journal": Journalled,
    "policies": Policies,
    "audit log": Audited,
    "cache": Cached,
    "budget": Budgeted,
    "pins": Pins,
    "grades": Graded,
    "report": Reported,
    "weights": Fetched,
}


class Count:
    """What was tried and what did not hold. `done` are the things whose writer said so."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.tried = self.under_way = 0
        self.lost: list[str] = []
        self.let_in: list[str] = []
        self.done: list[int] = []
        self.next = 0

    def check(self) -> None:
        """Compare what is in the file with what was done."""
        try:
            kept = self.kind.kept()
        except Exception as error:
            self.lost.append(f"{type(error).__name__}: {error}")
            return
        wanted = self.done[-1:] if self.kind.whole else self.done
        if isinstance(self.kind, Fetched):
            return
        missing = [number for number in wanted if number not in kept]
        begun = missing and self.kind.whole and kept == [self.next]
        if missing and not begun:
            self.lost.append(f"{missing} of {wanted}: {kept}")
        odd = [number for number in kept if number not in wanted and number != self.next]
        if odd or len(set(kept)) < len(kept):
            self.let_in.append(f"{kept} of {wanted}")
        if self.next in kept and self.next not in self.done:
            # It was under way, and came to its end.
            self.under_way += 1
            self.done.append(self.next)
            self.next += 1

    def told(self) -> dict[str, Any]:
        done, under_way = len(self.done), self.under_way
        return {
            "tried": self.tried,
            "done": done,
            "under_way": under_way,
            "lost": self.lost,
            "let_in": self.let_in,
        }


def kill(count: Count, times: int, chance: random.Random) -> None:
    """Kill the writer at random moments: each time it writes as many things as it can until then."""
    for _ in range(times):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            for number in range(count.next, sys.maxsize):
                count.kind.write(number)
                os.write(write, b".")
        os.close(write)
        if chance.random() < 0.3:
            os.read(read, 1)
            count.done.append(count.next)
            count.next += 1
        time.sleep(chance.random() ** 2 * 0.06)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the writer ended by itself"
        while acknowledged := os.read(read, 1 << 16):
            count.done += range(count.next, count.next + len(acknowledged))
            count.next += len(acknowledged)
        os.close(read)
        count.tried += 1
        count.check()


def fill(count: Count, limits: Any) -> None:
    """Write with room for more and more; `limits` sets and lifts a limit, and ends when all fits."""
    succeeded = 0
    for limit, lift in limits:
        limit()
        try:
            count.kind.write(count.next)
        except ZoolabError as error:
            count.lost += [] if len(str(error).splitlines()) == 1 else [f"not one line: {error}"]
        else:
            count.done.append(count.next)
            count.next += 1
            succeeded += 1
        finally:
            lift()
        count.tried += succeeded == 0
        count.check()
        count.kind.write(count.next)
        count.done.append(count.next)
        count.next += 1
        count.check()
        if succeeded == 3:
            return


def file_limits(kind: Kind, times: int) -> Any:
    """Limits of a file's size, from nothing that can be written to all of it."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(each.stat().st_size for each in kind.folder.rglob("*") if each.is_file())
    for at in range(times + 10):
        base = kind.path.stat().st_size if kind.grows else 0
        most = base + largest * at // times
        yield (
            lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1])),
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before),
        )


def disk_limits(folder: Path) -> Any:
    ballast = folder.with_name("ballast")

    def take(room: int) -> None:
        free = os.statvfs(folder)
        with ballast.open("wb") as file:
            file.write(b"x" * max(0, (free.f_bavail - room) * free.f_bsize))

    for room in range(100):
        yield lambda room=room: take(room), ballast.unlink


def main(how: str, which: str, *rest: str) -> None:
    told = {}
    for name in KINDS if which == "all" else which.split(","):
        folder = Path(rest[-1]) / name.replace(" ", "-")
        folder.mkdir()
        kind = KINDS[name](folder)
        count = Count(kind)
        kind.write(0)
        count.done, count.next = [0], 1
        if how == "kill":
            kill(count, int(rest[0]), random.Random(f"{name} {rest[1]}"))
        else:
            fill(count, file_limits(kind, int(rest[0])) if how == "full" else disk_limits(folder))
        kind.write(count.next)  # and it goes on
        count.done.append(count.next)
        count.next += 1
        count.check()
        if isinstance(kind, Fetched):
            kind.server.kill()
            kind.server.wait()
        told[name] = count.told()
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
