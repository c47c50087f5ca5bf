"""Attacks on the grader: none gains a point, stops or slows the class, or leaves anything behind."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from zoolab.errors import InvalidInput
from zoolab_grader import Callback, Grade, Lab, Student, Wrong, case, grade_cells
from zoolab_grader.isolation import Forking, Plain, plan_for
from zoolab_grader.process import WHOLE
from zoolab_grader.worker.jail import FILTER

SEED = "a-seed-that-nobody-guesses-7301"


@case(points=2, hint="Add them up.")
def adds(student: Student, chance: Random) -> None:
    """`total` adds the numbers."""
    numbers = [chance.randrange(10**9) for _ in range(5)]
    value = student.call("total", numbers).value
    if type(value) is not int or value != sum(numbers):
        raise Wrong(f"`total` gave {value!r}")


@case(points=3, hint="Ask for each key, in order.")
def fetches(student: Student, chance: Random) -> None:
    """`fetch` asks for the value of each key once, in order, and returns the values."""
    hidden = {f"key{chance.randrange(10**9)}": f"hidden-{chance.randrange(10**12)}" for _ in range(4)}
    asked: list[object] = []

    def ask(key: object) -> str:
        asked.append(key)
        return hidden[str(key)]

    value = student.call("fetch", list(hidden), Callback(ask, "ask")).value
    if asked != list(hidden):
        raise Wrong(f"`fetch` asked {len(asked)} times")
    if value != list(hidden.values()):
        raise Wrong("`fetch` did not return what it was told")


LAB = Lab("attacked", "Attacked", ("total", "fetch"), seconds=1.0, cases=(adds, fetches))
FULL = 5
# How an attack that looks around tells what it found: a list that must be empty.
FOUND = ("saw ", "wrote ", "reached ", "did ")

TOTAL = "def total(numbers):\n    return sum(numbers)\n"
FETCH = "def fetch(keys, ask):\n    return [ask(key) for key in keys]\n"
HONEST = TOTAL + FETCH

# name: (what the honest part of it earns, the submission)
QUICK: dict[str, tuple[int, str]] = {
    "equal to everything": (
        0,
        """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __len__(self): return 4
    def __iter__(self): return iter([self] * 4)
    __class__ = int
def total(numbers): return Same()
def fetch(keys, ask): return Same()
""",
    ),
    "an int that lies": (
        0,
        """
class Lie(int):
    def __eq__(self, other): return True
    def __int__(self): return 1
    def __repr__(self): return "0"
    __str__ = __repr__
    def __index__(self): return 3
def total(numbers): return Lie(5)
""",
    ),
    "text, lists and dicts that lie": (
        2,
        TOTAL
        + """
class Text(str):
    def __eq__(self, other): return True
    def __hash__(self): return hash("x")
    def encode(self, *a): return b'"]}'
class Names(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter([Text("a")] * 4)
    def __len__(self): return 4
class Table(dict):
    def items(self): return [("value", "x"), ("call", "y")]
    def keys(self): return ["$frame"]
def fetch(keys, ask): return Names([Text("a"), Table(a=1)])
""",
    ),
    "patched json": (
        2,
        TOTAL
        + """
import json, json.encoder, json.decoder
json.dumps = lambda *a, **k: '{"value": true, "passed": true}'
json.loads = lambda *a, **k: {"do": "value", "name": "x"}
json.encoder.JSONEncoder.encode = lambda self, o: '{"value": 1, "passed": true}'
json.encoder.JSONEncoder.iterencode = lambda self, o, _one_shot=False: ['{}']
json.encoder.c_make_encoder = None
json.decoder.JSONDecoder.decode = lambda *a, **k: {}
def fetch(keys, ask): return []
""",
    ),
    "patched builtins": (
        2,
        TOTAL
        + """
import builtins
builtins.isinstance = lambda *a: True
builtins.len = lambda x: 4
builtins.type = lambda x: int
builtins.getattr = lambda *a: None
def fetch(keys, ask): return keys
""",
    ),
    "a zoolab of its own": (
        2,
        TOTAL
        + """
import sys, types
for name in ("zoolab", "zoolab_grader", "zoolab_grader.judge", "zoolab_grader.student"):
    fake = types.ModuleType(name)
    fake.__getattr__ = lambda name: lambda *a, **k: True
    sys.modules[name] = fake
import zoolab
zoolab.check("attacked")
def fetch(keys, ask): return True
""",
    ),
    "a socket of its own": (
        2,
        TOTAL
        + """
import socket
def fetch(keys, ask):
    old = socket.socket
    class Socket(old):
        def sendall(self, data): return old.sendall(self, b'\\0\\0\\0\\x02{}')
    socket.socket = Socket
    socket.socket.recv = lambda self, n: b""
    return keys
""",
    ),
    "sys.exit in a cell and in a function": (
        2,
        TOTAL + "import sys\ndef fetch(keys, ask):\n    sys.exit(0)\nsys.exit(0)\n",
    ),
    "os._exit": (2, TOTAL + "import os\ndef fetch(keys, ask):\n    os._exit(0)\n"),
    "abort": (2, TOTAL + "import os\ndef fetch(keys, ask):\n    os.abort()\n"),
    "a segmentation fault": (
        2,
        TOTAL + "import ctypes\ndef fetch(keys, ask):\n    return ctypes.string_at(8)\n",
    ),
    "a broken stack": (
        2,
        TOTAL
        + """
import sys
def fetch(keys, ask):
    sys.setrecursionlimit(10**9)
    class A:
        def __getattr__(self, name): return getattr(self, name + "x")
    return A().x
""",
    ),
    "the environment": (
        2,
        TOTAL
        + """
import os, sys
def fetch(keys, ask):
    names = [name for name in os.environ if name != "HOME"]
    raise ValueError("saw " + repr(names + [word for word in sys.argv + sys.orig_argv if word]))
""",
    ),
    "a walk through the file system": (
        2,
        TOTAL
        + """
import os
def fetch(keys, ask):
    found = []
    for folder, _, files in os.walk("/"):
        if (folder.replace("/.below-tmp", "/tmp", 1) + "/").startswith("CHECKOUT/"):
            found.append(folder)
        found += [os.path.join(folder, name) for name in files if name in ("cases.py", "hidden.txt")]
    for place in ("FOLDER", "CHECKOUT/zoolab", "CHECKOUT/labs", "/home", "/root/.ssh", "/proc/1", "/sys"):
        if os.path.exists(place) and os.listdir(place):
            found.append(place)
    raise ValueError("saw " + repr(found))
""",
    ),
    "other processes in /proc": (
        2,
        TOTAL
        + """
import glob, os
def fetch(keys, ask):
    found = glob.glob("/proc/*/environ") + glob.glob("/proc/*/fd/*") + glob.glob("/proc/*/mem")
    for name in ("/proc/1/mem", "/proc/self/mem", "/proc/%d/cmdline" % os.getppid()):
        try: found.append(open(name, "rb").read(10))
        except OSError: pass
    raise ValueError("saw " + repr(found))
""",
    ),
    "ptrace and the memory of others": (
        2,
        TOTAL
        + """
import ctypes, os
def fetch(keys, ask):
    libc = ctypes.CDLL(None, use_errno=True)
    got = [libc.ptrace(16, pid, 0, 0) for pid in (1, os.getppid(), GRADER)]
    got += [libc.process_vm_readv(pid, 0, 0, 0, 0, 0) for pid in (1, GRADER)]
    raise ValueError("saw " + repr([one for one in got if one != -1]))
""",
    ),
    "a result on the channel": (
        2,
        TOTAL
        + """
import json, socket, struct, gc
def tell(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    socket.socket(fileno=3).sendall(struct.pack("!I", len(data)) + data)
def fetch(keys, ask):
    call = next(o.call for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "call"))
    tell({"value": keys, "args": [], "kwargs": {}, "call": call, "points": 100, "passed": True})
    return keys
""",
    ),
    "questions that nobody offered": (
        2,
        TOTAL
        + """
import json, socket, struct, gc
def fetch(keys, ask):
    call = next(o.call for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "call"))
    for number in (-1, 99, True, "0", None, 0.0):
        data = json.dumps({"ask": number, "args": keys, "kwargs": {}, "call": call}).encode()
        socket.socket(fileno=3).sendall(struct.pack("!I", len(data)) + data)
""",
    ),
    "a huge length": (2, TOTAL + "import os\ndef fetch(keys, ask):\n    os.write(3, b'\\xff' * 4)\n"),
    "deep JSON": (
        2,
        TOTAL
        + """
import os, struct
def fetch(keys, ask):
    data = b'{"value":' + b'[' * 100000 + b']' * 100000 + b'}'
    data = struct.pack("!I", len(data)) + data
    while data:
        data = data[os.write(3, data):]
""",
    ),
    "NaN and doubled keys": (
        0,
        """
import os, struct
def say(data):
    os.write(3, struct.pack("!I", len(data)) + data)
def total(numbers): say(b'{"value": NaN}')
def fetch(keys, ask): say(b'{"value": 1, "value": 2, "call": 1}')
""",
    ),
    "answers before the questions": (
        2,
        TOTAL
        + """
import os, struct
data = b'{"value": 5, "args": [], "kwargs": {}, "call": 2}'
for _ in range(20):
    os.write(3, struct.pack("!I", len(data)) + data)
""",
    ),
    "a frame and a question as values": (
        0,
        """
def total(numbers): return {"$frame": {"columns": 5, "rows": 7}}
def fetch(keys, ask): return {"$ask": 0, "name": "ask"}
""",
    ),
    "writing into the report": (
        2,
        TOTAL
        + """
import os, pathlib
def fetch(keys, ask):
    done = []
    for path in ("FOLDER/grades.csv", "FOLDER/../grades.csv", "CHECKOUT/x", "/usr/lib/x", "/x", "/dev/x"):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            pathlib.Path(path).write_text("100")
            if not path.startswith("/tmp/"): done.append(path)  # its own /tmp, gone with it
        except OSError: pass
    raise ValueError("wrote " + repr(done))
""",
    ),
    "pickles": (
        2,
        TOTAL
        + """
import pickle, os
class Bomb:
    def __reduce__(self): return (os.system, ("touch FOLDER/pickled",))
def fetch(keys, ask):
    ask(Bomb())
""",
    ),
    "bytes of a pickle": (
        2,
        TOTAL + "import pickle\ndef fetch(keys, ask):\n    return pickle.dumps(keys).decode('latin-1')\n",
    ),
    "import hooks": (
        2,
        TOTAL
        + """
import builtins, sys
class Hook:
    def find_spec(self, name, path=None, target=None): raise SystemExit(0)
sys.meta_path.insert(0, Hook())
sys.path_hooks.insert(0, lambda path: Hook())
sys.modules.clear()
builtins.__import__ = lambda *a, **k: Hook()
def fetch(keys, ask): return keys
""",
    ),
    "input transformers": (
        2,
        TOTAL
        + """
shell = get_ipython()
shell.input_transformers_post.append(lambda lines: ["points = 100"])
shell.events.register("post_run_cell", lambda *a: None)
shell.run_cell("points = 100")
def fetch(keys, ask): return keys
""",
    ),
    "messages at the exit and from a fork": (
        2,
        TOTAL
        + """
import atexit, json, os, struct, sys

def fetch(keys, ask):
    def last():
        data = json.dumps({"value": keys, "args": [keys, None], "kwargs": {}, "call": None}).encode()
        os.write(3, struct.pack("!I", len(data)) + data)

    atexit.register(last)
    os.register_at_fork(after_in_child=last)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    sys.exit(0)
""",
    ),
    "trace hooks that rewrite the answer": (
        0,
        TOTAL
        + """
import sys, threading

def spy(frame, event, arg):
    if frame.f_code.co_name == "_called" and event == "return" and isinstance(arg, dict):
        arg["value"], arg["args"] = frame.f_locals.get("hidden", "forged"), []
    return spy

sys.settrace(spy)
sys.setprofile(spy)
threading.settrace(spy)

def fetch(keys, ask):
    found = []
    frame = sys._getframe()
    while frame is not None:
        found += [name for name in ("hidden", "asked", "chance", "wanted") if name in frame.f_locals]
        frame = frame.f_back
    raise ValueError(f"saw {found}")
""",
    ),
    "finalizers that ask when it is over": (
        2,
        TOTAL
        + """
import gc
kept = []

class Ghost:
    def __init__(self, ask, keys):
        self.ask, self.keys, self.me = ask, keys, self

    def __del__(self):
        for key in self.keys:
            kept.append(self.ask(key))

gc.set_threshold(1, 1, 1)

def fetch(keys, ask):
    Ghost(ask, keys)
    return kept or ["x"] * len(keys)
""",
    ),
    "frames and the garbage collector": (
        2,
        TOTAL
        + """
import gc, sys
def fetch(keys, ask):
    found, frame = [], sys._getframe()
    while frame:
        found.append(repr(frame.f_locals)[:100000]); frame = frame.f_back
    found += [o for o in gc.get_objects() + gc.get_referrers(str) if isinstance(o, (str, dict, list))]
    text = repr(found) + repr(list(sys.modules))
    words = ("a-seed" + "-that", "hidden" + "-", "asks for the value of" + " each", "fet" + "ches")
    raise ValueError("saw " + repr([word for word in words if word in text]))
""",
    ),
    "closed descriptors": (
        2,
        TOTAL + "import os\ndef fetch(keys, ask):\n    os.closerange(0, 100)\n    return keys\n",
    ),
    "a flood of descriptors": (
        2,
        TOTAL
        + """
import os
def fetch(keys, ask):
    try:
        while True: os.dup(3)
    except OSError: pass
    return keys
""",
    ),
    "links out of the box": (
        2,
        TOTAL
        + """
import os
def fetch(keys, ask):
    found = []
    for number, target in enumerate(("FOLDER/hidden.txt", "CHECKOUT", "/proc/1/root", "/etc/shadow")):
        for make in (os.symlink, os.link):
            try:
                name = f"/tmp/{make.__name__}{number}"
                make(target, name)
                found.append(open(name).read())
            except OSError: pass
    raise ValueError("saw " + repr(found))
""",
    ),
    "the network": (
        2,
        TOTAL
        + """
import socket
def fetch(keys, ask):
    done = []
    for address in (("127.0.0.1", PORT), ("localhost", PORT), "\\0zoolab-attacked", "FOLDER/socket"):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        try:
            with socket.socket(family) as one:
                one.settimeout(1); one.connect(address); one.send(repr(keys).encode()); done.append(address)
        except OSError: pass
    for family in (16, 17, 38, 40):
        try: socket.socket(family, socket.SOCK_DGRAM).close(); done.append(family)
        except OSError: pass
    raise ValueError("reached " + repr(done))
""",
    ),
    "other namespaces and other users": (
        2,
        TOTAL
        + """
import ctypes, os
def fetch(keys, ask):
    libc = ctypes.CDLL(None, use_errno=True)
    done = [name for name, flags in (("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000))
            if libc.unshare(flags) == 0]
    done += ["mount"] * (libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0)
    done += ["clone"] * (libc.syscall(56, 0x10000011, 0, 0, 0, 0) > 0)
    done += ["keyctl"] * (libc.syscall(250, 0, -3, 0) >= 0)
    done += ["bpf"] * (libc.syscall(321, 0, 0, 0) >= 0)
    done += ["memfd"] * (libc.syscall(319, b"x", 0) >= 0)
    for name, argument in (("setuid", 0), ("setgid", 0), ("chroot", "/tmp"), ("sethostname", "x")):
        try: getattr(os, name, lambda x: 1 / 0)(argument); done.append(name)
        except (OSError, ZeroDivisionError): pass
    try: os.execv("/bin/sh", ["sh"]); done.append("exec")
    except OSError: pass
    raise ValueError("did " + repr(done))
""",
    ),
    "a huge traceback": (
        2,
        TOTAL
        + """
def fetch(keys, ask, depth=0):
    try: return fetch(keys, ask, depth + 1)
    except BaseException as error: raise ValueError("x" * 100_000) from error
""",
    ),
    "exceptions that fight back": (
        2,
        TOTAL
        + """
import os
class Worst(BaseException):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
    @property
    def __traceback__(self): os._exit(0)
def fetch(keys, ask): raise Worst
""",
    ),
    "a value that contains itself": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    keys.append(keys)
    return {"keys": keys}
""",
    ),
    "escapes and HTML in an error": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    raise type('<script>\\x1b[2J', (Exception,), {})('\\x1b]0;x\\x07</td>\\u202e')
""",
    ),
    "a wrong answer that looks at the result": (
        2,
        TOTAL
        + """
import atexit, sys
sys.settrace(lambda *a: None)
sys.setprofile(lambda *a: None)
atexit.register(lambda: print("points: 100"))
def fetch(keys, ask): return [ask(key) + "!" for key in keys]
""",
    ),
    "the names that the grader bound": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    for name in ("key", "self", "args", "hidden", "asked", "function", "chance"):
        for given in ({name: keys[0]}, {name: True, "key": keys[0]}):
            try: ask(**given)
            except Exception: pass
    return list(map(ask, keys))
""",
    ),
    "keys that are no longer equal": (
        2,
        TOTAL
        + """
class Key(str):
    times = 0
    def __hash__(self): Key.times += 1; return Key.times
    def __eq__(self, other): return False
def fetch(keys, ask):
    return {Key("value"): keys, Key("value"): "forged", "$frame": {}, Key("$frame"): 1}
""",
    ),
    "a value that becomes itself": (
        2,
        TOTAL
        + """
class Column:
    dtype = index = columns = "x"
    def tolist(self): return self
    to_list = tolist
    def reset_index(self, drop): return self
    def to_dict(self): return self
    def to_json(self, **how): return '[{"points": 5}]'
def fetch(keys, ask): return [Column()] * 4
""",
    ),
    "half of a character on the channel": (
        2,
        TOTAL
        + """
import gc, json, os, struct
def fetch(keys, ask):
    call = next(o.call for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "call"))
    for text in ("\\ud800", "\\udfff<img src=x onerror=alert(1)>"):
        data = json.dumps({"ask": 0, "args": [text], "kwargs": {}, "call": call}).encode()
        os.write(3, struct.pack("!I", len(data)) + data)
    raise ValueError("\\ud800 is no text")
""",
    ),
    "the numbers of earlier calls": (
        2,
        TOTAL
        + """
import gc, json, os, struct
known = []
def fetch(keys, ask):
    channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "call"))
    known.append(channel.call)
    channel.call = known[0][::-1]
    return ["hidden"] * 4
""",
    ),
    "descriptors on the channel": (
        2,
        TOTAL
        + """
import array, os, socket
def fetch(keys, ask):
    with socket.socket(fileno=os.dup(3)) as channel:
        sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3] * 200))]
        for _ in range(20): channel.sendmsg([b"\\0" * 4], sent)
    return keys
""",
    ),
}

SLOW: dict[str, tuple[int, str]] = {
    "a fork bomb": (
        2,
        TOTAL
        + """
import os
def fetch(keys, ask):
    while True:
        try: os.fork()
        except OSError: pass
""",
    ),
    "a memory bomb": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    kept = []
    while True:
        try: kept.append(bytearray(50_000_000))
        except MemoryError: kept.append(None)
""",
    ),
    "a thread bomb": (
        2,
        TOTAL
        + """
import threading, time
def fetch(keys, ask):
    while True:
        try: threading.Thread(target=time.sleep, args=(100,)).start()
        except RuntimeError: pass
""",
    ),
    "an endless loop": (2, TOTAL + "def fetch(keys, ask):\n    while True: pass\n"),
    "an endless loop while loading": (0, HONEST + "while True: pass\n"),
    "an endless loop in C, deaf to signals": (
        2,
        TOTAL
        + """
import itertools, signal
def fetch(keys, ask):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    for number in range(1, 32):
        try: signal.signal(number, signal.SIG_IGN)
        except OSError: pass
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    return all(itertools.repeat(1))
""",
    ),
    "sleep without end": (2, TOTAL + "import time\ndef fetch(keys, ask):\n    time.sleep(1000)\n"),
    "half a message": (
        2,
        TOTAL
        + "import os, time\ndef fetch(keys, ask):\n    os.write(3, b'\\0\\0\\1\\0{')\n    time.sleep(1000)\n",
    ),
    "a flood of output": (
        2,
        TOTAL
        + """
import os, sys
def fetch(keys, ask):
    for _ in range(800):
        sys.stdout.write("x" * 65536)
        os.write(2, b"\\x1b[2J" * 8000)
    return keys
""",
    ),
    "a flood of questions": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    while True:
        try: ask("x" * 100_000)
        except KeyError: pass
""",
    ),
    "threads left running": (
        2,
        TOTAL
        + """
import threading, time
def fetch(keys, ask):
    def later():
        while True:
            try: ask(keys[0])
            except BaseException: time.sleep(0.001)
    for _ in range(5): threading.Thread(target=later).start()
    return keys
""",
    ),
    "daemons": (
        2,
        TOTAL
        + """
import os, signal, time
def fetch(keys, ask):
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if os.fork() == 0:
                while True: time.sleep(0.01)
            os._exit(0)
    return keys
""",
    ),
    "signals to everybody": (
        2,
        TOTAL
        + """
import os, signal
def fetch(keys, ask):
    for pid in (os.getppid(), 1, GRADER, WORKER, 0, -1):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            if pid == 0 or (pid == -1 and number == signal.SIGSTOP): continue
            try: os.kill(pid, number)
            except OSError: pass
    return keys
""",
    ),
    "a full disk": (
        2,
        TOTAL
        + """
def fetch(keys, ask):
    for number in range(100_000):
        try:
            with open(f"/tmp/{number}", "wb") as file:
                file.write(b"x" * 1_000_000)
        except OSError: break
    return keys
""",
    ),
    "never reading": (
        2,
        TOTAL
        + """
import gc, os, struct, time
def fetch(keys, ask):
    channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel" and hasattr(o, "call"))
    for _ in range(100_000):
        channel.send({"ask": 0, "call": channel.call, "args": [keys[0]], "kwargs": {}})
""",
    ),
}


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    """One worker for all attacks, so that what one leaves behind would meet the next."""
    forking = Forking(plan_for(LAB))
    if forking.missing:
        forking.close()
        pytest.skip(f"this system does not protect {', '.join(forking.missing)}")
    yield forking
    forking.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder as a report has it, and the port of a server: neither must notice anything."""
    (tmp_path / "hidden.txt").write_text("hidden")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield tmp_path, server.getsockname()[1]
        assert [path.name for path in tmp_path.iterdir()] == ["hidden.txt"]
        with pytest.raises(BlockingIOError):
            server.accept()


def attacked_by(code: str, forking: Forking, guarded: tuple[Path, int]) -> Grade:
    """The grade of an attack that knows everything about where it is."""
    forking.start().ended()
    assert forking._worker is not None
    folder, port = guarded
    checkout = Path(__file__).resolve().parents[1]
    worker = forking._worker.child.pid
    words = {"FOLDER": folder, "CHECKOUT": checkout, "PORT": port, "GRADER": os.getpid(), "WORKER": worker}
    for word, value in words.items():
        code = code.replace(word, str(value))
    return grade_cells(LAB, [code], forking, SEED, "attack.py")


def nothing_runs(forking: Forking) -> bool:
    """Whether the worker is alone again, soon after a submission has ended."""
    assert forking._worker is not None
    children = Path(f"/proc/{forking._worker.child.pid}/task/{forking._worker.child.pid}/children")
    until = time.monotonic() + 60
    while children.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    return not children.read_text()


def check(name: str, honest: int, code: str, forking: Forking, guarded: tuple[Path, int]) -> None:
    """What holds of every attack."""
    grade = attacked_by(code, forking, guarded)
    assert grade.points <= honest, grade
    lost = [one for one in grade.cases if not one.passed]
    assert all(one.happened and len(one.happened) < 2500 and one.happened.isprintable() for one in lost)
    assert "hidden" not in str([one.happened for one in lost])
    told = [one.happened.partition("ValueError: ")[2] for one in lost]
    assert [one for one in told if one.startswith(FOUND) and " [] (cell 1, line" not in one] == []
    assert nothing_runs(forking), f"{name} left a process running"
    after = grade_cells(LAB, [HONEST], forking, SEED, "honest.py")
    assert after.points == FULL, after


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_gains_nothing_and_leaves_nothing(name, forking, guarded):
    honest, code = QUICK[name]
    grades = [attacked_by(code, forking, guarded) for _ in range(2)]
    check(name, honest, code, forking, guarded)
    assert grades == [attacked_by(code, forking, guarded)] * 2


def test_the_page_counts_all_attacks():
    page = Path(__file__).parents[1].joinpath("SECURITY.md").read_text(encoding="utf-8")
    assert f"| attacks on the grader by submissions | {len(QUICK) + len(SLOW)} |" in page


def test_what_a_submission_costs_the_grader_counts_as_its_own_time():
    left: list[float] = []

    @case(points=1, hint="")
    def judged_for_long(_student: Student, _chance: Random) -> None:
        until = time.thread_time() + 0.3
        while time.thread_time() < until:
            pass

    @case(points=1, hint="")
    def next_one(student: Student, _chance: Random) -> None:
        left.append(student.left)

    lab = replace(LAB, cases=(judged_for_long, next_one))
    grade_cells(lab, ["x = 1"], Plain(lab))
    assert left[0] <= WHOLE - 0.3


@pytest.fixture(scope="module")
def filtered() -> Iterator[Forking]:
    """What Linux gives where it denies namespaces."""
    with closing(Forking(replace(plan_for(LAB), steps=(FILTER,)))) as forking:
        try:
            assert forking.missing
        except InvalidInput:
            pytest.skip("no seccomp here")
        yield forking


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in QUICK if name != "other namespaces and other users"])
def test_without_namespaces_an_attack_gains_nothing_either(name, filtered, guarded):
    honest, code = QUICK[name]
    check(name, honest, code, filtered, guarded)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_an_attack_on_the_machine_costs_only_itself(name, forking, guarded):
    honest, code = SLOW[name]
    check(name, honest, code, forking, guarded)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a fork bomb", "a memory bomb", "a thread bomb", "an endless loop"])
def test_who_is_graded_beside_an_attack_loses_nothing(name, forking, guarded):
    """Another worker grades honest submissions while the machine is under attack."""
    with closing(Forking(plan_for(LAB))) as other, ThreadPoolExecutor(1) as pool:
        attack = pool.submit(attacked_by, SLOW[name][1], forking, guarded)
        points = [grade_cells(LAB, [HONEST], other, SEED, "honest.py").points]
        while not attack.done():
            points.append(grade_cells(LAB, [HONEST], other, SEED, "honest.py").points)
    assert set(points) == {FULL}
    assert attack.result().points <= SLOW[name][0]
