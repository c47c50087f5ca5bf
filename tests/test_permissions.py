"""What people allow: remembered as they said, denied by rules whatever they said, and written down."""

import dataclasses
import json
import os
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from moved import AtNoon
from shell import KEY

from zoolab import Scripted, ToolRegistry, run, tool, with_tools
from zoolab.errors import InvalidInput, LockHeld, PermissionDenied
from zoolab.files import locked, write_whole
from zoolab.jsontext import encode
from zoolab.policy import Permissions, Policy
from zoolab.policy import permissions as permissions_module
from zoolab.policy.permissions import MAX_BYTES, MAX_RULES, PolicyFile, policies_path
from zoolab.policy.rules import definition
from zoolab.records import Decision
from zoolab.tools import Tool

SCHEMA = {"type": "object"}
READ = Tool("read_file", "Read.", SCHEMA, print, "medium", resource=lambda given: given["path"])
WIPE = Tool("wipe", "Wipe.", SCHEMA, print, "high")
LOST = Tool("lost", "Lost.", SCHEMA, print, "medium", resource=lambda given: given["nothing"])

A, B = {"path": "/srv/a*.txt"}, {"path": "/srv/ab.txt"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config" / "policies.json"


def written(path, **lists):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, **lists}), encoding="utf-8")


def kept(path):
    return json.loads(path.read_text(encoding="utf-8"))


def entries(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# Memory


@pytest.mark.parametrize(
    ("choice", "later"), [("once", "pending"), ("session", "session"), ("always", "session")]
)
def test_each_decision_holds_as_long_as_it_says(choice, later):
    permissions = Permissions()
    assert permissions.settle(READ, A, Decision(choice)).allowed
    assert permissions.decide(READ, A).choice == later
    assert permissions.decide(READ, B).choice == "pending"
    assert permissions.decide(WIPE, {}).choice == "pending"


def test_a_tool_that_names_nothing_is_allowed_as_a_whole_and_one_that_cannot_tell_for_the_call():
    permissions = Permissions()
    assert permissions.settle(WIPE, {"disk": "a"}, Decision("session")).allowed
    assert permissions.decide(WIPE, {"disk": "b"}).choice == "session"
    assert permissions.settle(LOST, {}, Decision("session")).allowed
    assert permissions.decide(LOST, {}).choice == "pending"


def test_a_scope_is_broader_than_the_call():
    permissions = Permissions()
    permissions.settle(READ, A, Decision("session", scope="/srv/*.txt"))
    assert permissions.decide(READ, B).choice == "session"
    assert permissions.decide(READ, {"path": "/srv/x/b.txt"}).choice == "pending"


def test_a_scope_that_is_no_pattern_allows_nothing():
    settled = Permissions().settle(READ, A, Decision("session", scope="a\\b"))
    assert (settled.choice, "not a pattern" in settled.reason) == ("deny", True)


def test_what_waits_says_what_is_asked():
    assert Permissions().decide(READ, A).resource == "/srv/a*.txt"
    waiting = Permissions().decide(LOST, {"x": 1})
    assert (waiting.risk, waiting.resource, waiting.arguments) == ("medium", "", {"x": 1})
    assert "cannot tell what it touches" in waiting.reason
    assert Permissions().decide(WIPE, {}).resource is None


def test_a_rule_that_denies_beats_what_a_person_says_and_what_was_granted(path):
    deny = Permissions(Policy(deny=["read_file(/srv/**)"]))
    assert deny.settle(READ, A, Decision("once")).choice == "deny"
    permissions = Permissions(path=path)
    permissions.settle(READ, A, Decision("session"))
    permissions.settle(READ, A, Decision("always"))
    PolicyFile(path).add("deny", "read_*(/srv/**)")
    assert permissions.decide(READ, A).reason == "policies.json denies read_file: read_*(/srv/**)"
    assert permissions.settle(READ, A, Decision("always")).choice == "deny"
    assert Permissions(Policy(allow=["*"], ask=()), path).decide(READ, A).choice == "deny"


def test_threads_forget_nothing_of_each_other():
    permissions = Permissions()
    paths = [{"path": f"/{n}"} for n in range(200)]

    def grant(some):
        for each in some:
            permissions.settle(READ, each, Decision("session"))

    threads = [threading.Thread(target=grant, args=(paths[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {permissions.decide(READ, each).choice for each in paths} == {"session"}


# policies.json


def test_always_is_for_good_and_for_what_was_touched(path):
    assert Permissions(path=path).settle(READ, A, Decision("always")).choice == "always"
    rule = rf"read_file(/srv/a\*.txt)#{definition(READ)}"
    assert kept(path) == {"version": 1, "allow": [rule], "deny": []}
    another = Permissions(path=path)
    assert [another.decide(READ, each).choice for each in (A, B)] == ["always", "pending"]


def test_nothing_is_written_unless_it_is_for_always(path):
    permissions = Permissions(path=path)
    for choice in ("once", "session", "deny", "pending"):
        permissions.settle(READ, A, Decision(choice))
    assert not path.parent.exists()


def test_what_others_write_is_seen_at_once(path):
    one, other = Permissions(path=path), Permissions(path=path)
    one.settle(READ, A, Decision("always"))
    assert other.decide(READ, A).choice == "always"
    PolicyFile(path).remove(rf"read_file(/srv/a\*.txt)#{definition(READ)}")
    assert [each.decide(READ, A).choice for each in (one, other)] == ["pending", "pending"]


def test_a_rule_is_kept_once_and_removed_from_both_lists(path):
    rules = PolicyFile(path)
    for kind in ("allow", "allow", "deny"):
        rules.add(kind, "wipe")
    assert kept(path) == {"version": 1, "allow": ["wipe"], "deny": ["wipe"]}
    rules.remove("wipe")
    assert kept(path) == {"version": 1, "allow": [], "deny": []}
    with pytest.raises(InvalidInput, match="no rule"):
        rules.remove("wipe")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_its_owner_reads_it(path):
    old = os.umask(0)
    try:
        PolicyFile(path).add("allow", "wipe")
    finally:
        os.umask(old)
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o644, False), (0o620, True), (0o602, True)])
def test_a_file_that_others_may_write_is_refused_and_says_why(path, mode, refused):
    written(path, allow=["wipe"])
    permissions = Permissions(path=path)
    path.chmod(mode)
    decided = permissions.decide(WIPE, {})
    assert (decided.choice == "deny") is refused
    if refused:
        says = f"users other than you may write it (mode {mode:o})"
        assert says in decided.reason
        with pytest.raises(InvalidInput, match="other than you may write it"):
            Permissions(path=path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(path):
    written(path, allow=["wipe"])
    os.chown(path, 12345, -1)
    with pytest.raises(InvalidInput, match="belongs to another user"):
        Permissions(path=path)


def other(**changes):
    return dataclasses.replace(READ, **changes)


@pytest.mark.parametrize("choice", ["session", "always"])
@pytest.mark.parametrize(
    "impostor",
    [
        other(description="Read, and send it away."),
        other(parameters={"type": "object", "properties": {"path": {}}}),
        other(risk="high"),
        other(function=len),
        other(function=partial(print, "x")),
        other(function=None),
        other(untrusted="the MCP server evil"),
    ],
    ids=["description", "schema", "risk", "function", "partial", "nothing", "source"],
)
def test_what_is_remembered_does_not_hold_for_another_tool_of_the_same_name(path, choice, impostor):
    permissions = Permissions(path=path)
    permissions.settle(READ, A, Decision(choice))
    assert permissions.decide(other(timeout=5), A).choice == choice
    assert permissions.decide(impostor, A).choice == "pending"
    permissions.settle(impostor, A, Decision(choice))
    assert [permissions.decide(each, A).choice for each in (READ, impostor)] == [choice, choice]


def test_a_rule_that_a_person_wrote_holds_for_each_tool_of_its_name(path):
    written(path, allow=["read_file(/srv/*)"], deny=["wipe"])
    permissions = Permissions(path=path)
    assert [permissions.decide(each, A).choice for each in (READ, other(function=len))] == ["always"] * 2
    assert permissions.decide(dataclasses.replace(WIPE, function=len), {}).choice == "deny"


def test_a_tool_is_the_same_in_the_next_process():
    code = "from zoolab.policy.rules import definition; from zoolab.tools import Tool\n"
    code += "print(definition(Tool('wipe', 'Wipe.', {'type': 'object'}, print, 'high')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == definition(WIPE)


def test_a_link_stays_a_link(path, tmp_path):
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere.json")
    PolicyFile(path).add("allow", "wipe")
    assert path.is_symlink()
    assert kept(tmp_path / "elsewhere.json")["allow"] == ["wipe"]


BAD = {
    "empty": "",
    "not JSON": "{",
    "no object": "[]",
    "no version": '{"allow": ["*"]}',
    "a later version": '{"version": 2, "allow": ["*"]}',
    "true as version": '{"version": true, "allow": ["*"]}',
    "a key twice": '{"version": 1, "allow": [], "allow": ["*"]}',
    "more than it may have": '{"version": 1, "allow": ["*"], "deny": [], "when": {}}',
    "one bad rule": '{"version": 1, "allow": ["*", "rm("]}',
    "no list": '{"version": 1, "allow": "*"}',
    "too many": json.dumps({"version": 1, "allow": ["*"] * (MAX_RULES + 1)}),
    "too large": '{"version": 1, "allow": ["*"]}' + " " * MAX_BYTES,
    "deeply nested": '{"version": 1, "allow": ' + "[" * 100_000,
    "no UTF-8": b'{"version": 1, "allow": ["\xff"]}',
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_understood_allows_nothing_and_is_left_alone(path, name):
    permissions, safe = Permissions(path=path), Tool("safe", "Safe.", SCHEMA, print)
    path.parent.mkdir()
    before = BAD[name] if isinstance(BAD[name], bytes) else BAD[name].encode()
    path.write_bytes(before)
    with pytest.raises(InvalidInput, match=r"cannot be used: .*; correct it, or move it away") as caught:
        Permissions(path=path)
    assert "\n" not in str(caught.value)
    for each in (READ, safe):
        denied = permissions.decide(each, A)
        assert (denied.choice, "cannot be used" in denied.reason) == ("deny", True)
    assert permissions.settle(READ, A, Decision("always")).choice == "deny"
    with pytest.raises(InvalidInput):
        PolicyFile(path).add("allow", "wipe")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path)], ids=["folder", "pipe"]
)
def test_what_is_no_file_is_refused_without_waiting(path, make):
    path.parent.mkdir()
    make(path)
    with pytest.raises(InvalidInput, match=r"not a regular file|cannot read"):
        Permissions(path=path)


def test_a_lock_is_waited_for_and_not_for_ever(tmp_path):
    lock = tmp_path / "lock"
    with locked(lock), pytest.raises(LockHeld, match="held by another process"), locked(lock, 0.05):
        pass
    with locked(lock, 0):
        pass


def test_where_there_is_no_place_for_it_nothing_is_allowed_for_good(tmp_path):
    permissions = Permissions(path=tmp_path / "file" / "policies.json")
    (tmp_path / "file").write_text("", encoding="utf-8")
    for decision in (permissions.settle(READ, A, Decision("always")), permissions.decide(READ, A)):
        assert (decision.choice, str(tmp_path) in decision.reason) == ("deny", True)


@pytest.mark.parametrize("name", ["policies.json", "audit.jsonl"])
def test_a_program_that_goes_to_another_folder_keeps_its_files(tmp_path, monkeypatch, name):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    permissions = Permissions(**{"path" if name == "policies.json" else "audit": name})
    monkeypatch.chdir("other")
    permissions.settle(WIPE, {}, Decision("always"))
    assert "wipe" in (tmp_path / name).read_text(encoding="utf-8")
    assert [*Path().iterdir()] == []


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_is_told_as_such(path):
    path.parent.mkdir()
    path.write_text('{"version": 1, "allow": ["wipe"]}'.ljust(MAX_BYTES), encoding="utf-8")
    assert Permissions(path=path).decide(WIPE, {}).choice == "always"
    path.write_text('{"version": 1, "allow": ["wipe"]}'.ljust(MAX_BYTES + 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match="it is larger than 1024 KB"):
        Permissions(path=path)


def test_a_full_file_keeps_what_it_has(path):
    written(path, allow=[f"rule_{number}" for number in range(MAX_RULES)])
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="is full"):
        PolicyFile(path).add("deny", "wipe")
    assert path.read_bytes() == before
    settled = Permissions(path=path).settle(READ, A, Decision("always"))
    assert (settled.choice, "always cannot be kept" in settled.reason) == ("deny", True)


def test_the_users_own_file_is_where_the_platform_keeps_such(path, monkeypatch):
    monkeypatch.setenv("ZOOLAB_CONFIG", str(path.parent))
    Permissions.of_user().settle(WIPE, {}, Decision("always"))
    assert kept(path)["allow"] == [f"wipe#{definition(WIPE)}"]
    monkeypatch.delenv("ZOOLAB_CONFIG")
    assert policies_path().parts[-2:] == ("zoolab", "policies.json") or os.name == "nt"


REMEMBER = """
import sys
from zoolab.policy.permissions import PolicyFile
for number in range(15):
    PolicyFile(sys.argv[1]).add(("allow", "deny")[number % 2], f"tool_{sys.argv[2]}_{number}")
"""


def test_processes_forget_nothing_of_each_other(path):
    commands = [[sys.executable, "-c", REMEMBER, path, str(number)] for number in range(8)]
    running = [subprocess.Popen(command) for command in commands]
    assert [process.wait(60) for process in running] == [0] * 8
    known = kept(path)
    assert sorted(known["allow"] + known["deny"]) == sorted(
        f"tool_{p}_{n}" for p in range(8) for n in range(15)
    )
    assert {each.name for each in path.parent.iterdir()} == {"policies.json", "policies.json.lock"}


# The audit log


def test_every_decision_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(permissions_module, "datetime", AtNoon)
    log = tmp_path / "audit.jsonl"
    permissions = Permissions(Policy(deny=["lost"], allow=["read_file(/pub/**)"]), audit=log)
    safe = Tool("safe", "Safe.", SCHEMA, print)
    permissions.decide(safe, {})
    permissions.decide(READ, {"path": "/pub/a"})
    permissions.decide(LOST, {})
    for choice in ("pending", "once", "deny", "session"):
        assert permissions.decide(READ, A).choice == "pending"
        permissions.settle(READ, A, Decision(choice, "so be it"))
    permissions.decide(READ, A)
    permissions.settle(LOST, {}, Decision("once"))
    permissions.settle(READ, B, Decision("deny", "nobody restarts a database on Friday"))
    permissions.settle(READ, B, Decision("deny", "no", by="nobody"))
    assert [(e["tool"], e["choice"], e["who"]) for e in entries(log)] == [
        ("safe", "once", "rule"),
        ("read_file", "once", "rule"),
        ("lost", "deny", "rule"),
        ("read_file", "deny", "nobody"),
        ("read_file", "once", "person"),
        ("read_file", "deny", "person"),
        ("read_file", "session", "person"),
        ("read_file", "session", "rule"),
        ("lost", "deny", "rule"),
        ("read_file", "deny", "person"),
        ("read_file", "deny", "nobody"),
    ]
    entry = entries(log)[4]
    assert list(entry) == ["time", "tool", "risk", "resource", "arguments", "choice", "reason", "who"]
    assert entry["resource"] == "/srv/a*.txt"
    assert json.loads(entry["arguments"]) == A
    assert entry["time"] == "2030-01-02T12:00:00+00:00"


def test_a_call_that_deny_denies_is_written_down(tmp_path):
    log = tmp_path / "audit.jsonl"

    @tool(risk="high")
    def erase(disk: str) -> str:
        """Erase a disk."""
        return disk

    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    registry = ToolRegistry([erase, ping])
    registry.deny("ping")
    replies = [[("erase", {"disk": "a"}), ("erase", "[broken"), ("ping", {}), ("nothing", {})], "Done."]
    permissions = Permissions(Policy(allow=["*"]), audit=log)
    trace = run("Go.", registry, Scripted(replies), policy=permissions, deny=["erase"])
    trace.fork(1, model=Scripted([[("erase", {"disk": "b"})], "Done."]))
    model = with_tools(Scripted(["Done."]), registry, policy=permissions, deny=["erase"])
    with pytest.raises(PermissionDenied):
        model.call_tool("erase", {"disk": "c"})
    assert [(e["tool"], e["arguments"], e["choice"], e["who"]) for e in entries(log)] == [
        ("erase", '{"disk":"a"}', "deny", "rule"),
        ("erase", "{}", "deny", "rule"),
        ("ping", "{}", "deny", "rule"),
        ("erase", '{"disk":"b"}', "deny", "rule"),
        ("erase", '{"disk":"c"}', "deny", "rule"),
    ]


def test_always_without_a_place_to_keep_it_says_so(path, tmp_path):
    log = tmp_path / "audit.jsonl"
    settled = Permissions(audit=log).settle(READ, A, Decision("always", "I trust it"))
    assert (settled.choice, settled.by) == ("session", "person")
    assert settled.reason == "I trust it; it holds for this session only, because no policies.json keeps it"
    assert entries(log)[0]["choice"] == "session"
    assert Permissions(path=path).settle(READ, A, Decision("always", "I trust it")).reason == "I trust it"


@tool(risk="high")
def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} was restarted"


def restarts():
    return Scripted([[("restart", {"service": "cron"})], "Done."])


def test_a_person_sees_that_always_holds_for_the_session_only(path):
    ends = "it holds for this session only, because no policies.json keeps it"
    trace = run("Go.", [restart], restarts(), ask=lambda _: Decision("always"))
    assert [step.record for step in trace.steps if isinstance(step.record, Decision)] == [
        Decision("session", ends)
    ]
    page = trace.to_html()
    protocol = trace.to_markdown()
    stepped = trace.to_html(interactive=True)
    assert all(ends in text for text in (page, protocol, stepped))
    kept = run(
        "Go.", [restart], restarts(), policy=Permissions(path=path), ask=lambda _: Decision("always", "yes")
    )
    assert [step.record for step in kept.steps if isinstance(step.record, Decision)] == [
        Decision("always", "yes")
    ]
    again = trace.fork(0, model=restarts(), ask=lambda _: Decision("always"))
    assert ends in again.to_markdown()
    decided = [
        (step.record, replayed.record)
        for step, replayed in zip(trace.steps, trace.replay().steps, strict=True)
    ]
    assert all(one == other for one, other in decided if isinstance(one, Decision))


def broken(path):
    path.parent.mkdir()
    path.write_text("{", encoding="utf-8")


def folder(path):
    path.mkdir(parents=True)


def denying(path):
    written(path, deny=["restart"])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (broken, "cannot be used: it is not JSON"),
        (folder, "Is a directory"),
        (denying, "policies.json"),
    ],
)
def test_the_model_reads_of_no_file_and_the_person_does(path, tmp_path, spoil, why, recwarn):
    log = tmp_path / "audit.jsonl"
    permissions = Permissions(path=path, audit=log)
    spoil(path)
    trace = run("Go.", [restart], restarts(), policy=permissions, ask=lambda _: Decision("once"))
    assert "restart did not run: the policy denies it" in trace.messages[-2]["content"]
    said = encode(trace.messages)
    assert not [word for word in (str(tmp_path), "policies", "JSON", "file", "directory") if word in said]
    assert why in entries(log)[-1]["reason"]
    assert why in trace.to_html()
    assert why in trace.errors[0].message
    warned = [str(each.message) for each in recwarn]
    assert all(why in each and str(path) in each for each in warned)
    assert bool(warned) == (spoil is not denying)


def test_the_model_does_not_read_why_always_cannot_be_kept(tmp_path):
    permissions = Permissions(path=tmp_path / "file" / "policies.json")
    (tmp_path / "file").mkdir(mode=0o500)
    (tmp_path / "file" / "policies.json.lock").mkdir()  # no lock can be had
    with pytest.warns(UserWarning, match="always cannot be kept: .*file"):
        trace = run("Go.", [restart], restarts(), policy=permissions, ask=lambda _: Decision("always"))
    assert '"restart did not run: the policy denies it"' in trace.messages[-2]["content"]
    assert "always cannot be kept" in trace.to_html()


def test_the_model_reads_what_a_person_says():
    trace = run("Go.", [restart], restarts(), ask=lambda _: Decision("deny", "not during the day"))
    assert "restart did not run: not during the day" in trace.messages[-2]["content"]


def test_what_the_model_reads_never_says_how_to_get_around_the_person(path):
    @tool(risk="high")
    def erase() -> str:
        """Erase."""
        return "erased"

    written(path, allow=["erase"])
    permissions = Permissions(path=path)
    path.write_text("{", encoding="utf-8")

    @tool
    def forward() -> str:
        """Forward."""
        return with_tools(Scripted([]), [erase]).call_tool("erase", {})

    script = [[("erase", {}), ("forward", {})], "Done."]
    for options in ({"policy": permissions}, {}, {"deny": ["erase"]}):
        trace = run("Go.", [erase, forward], Scripted(script), envelope="plain", **options)
        first, second = [message["content"] for message in trace.messages if message["role"] == "tool"]
        assert ("nobody allowed it" in second) is ("policy" not in options)
        for word in ("--", "=", "zoolab policy", "move it away", "chmod", "allow("):
            assert word not in first + second


def test_no_secret_and_no_flood_is_written_down(tmp_path):
    log = tmp_path / "audit.jsonl"
    given = {
        "path": f"https://ada:lovelace@host/?api_key={KEY}",
        "password": "hunter22",
        "n": "x\n\u2028" * 9_000,
    }
    Permissions(audit=log).settle(READ, given, Decision("once", f"Bearer {KEY}"))
    line = log.read_text(encoding="utf-8")
    assert (line.count("\n"), len(line) < 4_000) == (1, True)
    for secret in (KEY, "hunter22", "lovelace"):
        assert secret not in line


def test_lone_surrogates_are_written_down(tmp_path):
    Permissions(audit=tmp_path / "a").settle(READ, {"path": "\ud800"}, Decision("once"))
    assert entries(tmp_path / "a")[0]["resource"] == "\ud800"


def test_what_cannot_be_written_down_does_not_run(tmp_path):
    log = tmp_path / "audit.jsonl"
    permissions = Permissions(Policy(allow=["wipe"]), tmp_path / "policies.json", log)
    log.unlink()
    log.mkdir()
    for decided in (permissions.decide(WIPE, {}), permissions.settle(READ, A, Decision("always"))):
        assert (decided.choice, "cannot be written down" in decided.reason) == ("deny", True)
    assert not (tmp_path / "policies.json").exists()
    with pytest.raises(InvalidInput, match="cannot write"):
        Permissions(audit=log)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_allows_nothing(tmp_path):
    permissions = Permissions(Policy(ask=()), audit=tmp_path / "audit.jsonl")
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").symlink_to("/dev/full")
    assert permissions.decide(WIPE, {}).choice == "deny"


LOG = """
import sys, threading
from zoolab.policy import Permissions, Policy
from zoolab.policy import permissions as permissions_module
from zoolab.tools import Tool
tool = Tool("note", "Note.", {"type": "object"}, print)
permissions = Permissions(audit=sys.argv[1])
def many(thread):
    for number in range(50):
        permissions.decide(tool, {"by": sys.argv[2], "thread": thread, "number": number, "x": "x" * 1500})
threads = [threading.Thread(target=many, args=(n,)) for n in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def test_lines_of_threads_and_processes_do_not_mix(tmp_path):
    log = tmp_path / "audit.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", LOG, log, str(number)]) for number in range(3)]
    assert [process.wait(60) for process in running] == [0] * 3
    given = [json.loads(entry["arguments"]) for entry in entries(log)]
    assert len({(each["by"], each["thread"], each["number"]) for each in given}) == len(given) == 450


FILLED = """
import json, resource, signal, sys
from pathlib import Path
from zoolab.policy import Permissions, Policy
from zoolab.policy import permissions as permissions_module
from zoolab.tools import Tool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path(sys.argv[1])
tool = Tool("note", "Note.", {"type": "object"}, print)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
tried, lost = 0, []
for room in range(0, 260, 2):
    path.unlink(missing_ok=True)
    permissions = Permissions(Policy(), audit=path)
    written = [n for n in range(2) if permissions.decide(tool, {"n": n}).allowed]
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, before[1]))
    written += [n for n in range(2, 4) if permissions.decide(tool, {"n": n}).allowed]
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    written += [n for n in range(4, 6) if permissions.decide(tool, {"n": n}).allowed]
    kept = [json.loads(json.loads(line)["arguments"])["n"] for line in path.read_text().splitlines()]
    tried += 1
    if kept != written:
        lost.append([room, kept, written])
print(json.dumps([tried, lost, written]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits of files")
def test_a_full_disk_merges_no_entries(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FILLED, tmp_path / "audit.jsonl"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "UserWarning: the decision cannot be written down: " in done.stderr
    tried, lost, written = json.loads(done.stdout)
    assert (tried, lost, written[-2:]) == (130, [], [4, 5])


def test_an_entry_begins_on_a_line_of_its_own_after_half_an_entry(tmp_path):
    (tmp_path / "audit.jsonl").write_text('{"time": "20', encoding="utf-8")
    Permissions(audit=tmp_path / "audit.jsonl").settle(WIPE, {}, Decision("once"))
    half, whole = (tmp_path / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert (half, json.loads(whole)["tool"]) == ('{"time": "20', "wipe")


def test_a_walk_is_written_down_and_denied_in_the_middle(tmp_path):
    ran = []

    @tool(risk="medium")
    def note(n: int) -> int:
        """Take a note."""
        ran.append(n)
        path.write_text("{", encoding="utf-8")
        return n

    path, log = tmp_path / "policies.json", tmp_path / "audit.jsonl"
    permissions = Permissions(Policy(allow=["note"]), path, log)
    trace = run(
        "Go.", [note], Scripted([[("note", {"n": 1})], [("note", {"n": 2})], "Done."]), policy=permissions
    )
    assert ran == [1]
    assert [error.code for error in trace.errors] == ["permission_denied"]
    assert "policies.json cannot be used" in trace.errors[0].message
    assert [entry["choice"] for entry in entries(log)] == ["once", "deny"]


# Killed at any moment

KILLED = """
import json, os, sys
from pathlib import Path
from zoolab import Scripted, Trace, run, tool
from zoolab.policy.permissions import PolicyFile
import zoolab.trace.events  # the children would import it until the parent has read a trace

@tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

def walked(words, **given):
    model = Scripted([[("add", {"a": 1, "b": 2})], words])
    return run(words, [add], model, **given)

def die_at(number, work):
    "Do the work in a child that is dead at its number-th call of anything written in C."
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = number
    def count(frame, event, argument):
        nonlocal left
        if event == "c_call":
            left -= 1
            if left < 0:
                os._exit(9)
    sys.setprofile(count)
    work()
    os._exit(0)

def sweep(path, before, work, state, step=1):
    seen = {}
    number = 0
    while True:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)
        code = die_at(number, work)
        told = state()
        # Each draft that a kill left would make the next try one call longer, and the sweep would not end.
        for draft in folder.glob(f".{path.name}.????????????"):
            draft.unlink()
        seen[told] = seen.get(told, 0) + 1
        if code == 0:
            return {"kills": number // step, "seen": seen, "last": told}
        assert code == 9, code
        number += step

folder = Path(sys.argv[1])
what = sys.argv[2]
path = folder / what
if what == "policies.json":
    kept = PolicyFile(path)
    kept.add("allow", "old")
    before = path.read_bytes()
    def state():
        return " ".join(PolicyFile(path).read().allow)
    report = sweep(path, before, lambda: kept.add("allow", "new"), state)
    kept.add("deny", "the_lock_is_free")
elif what == "saved.jsonl":
    new = walked("new")
    before = walked("old").save(path).read_bytes()
    report = sweep(path, before, lambda: new.save(path), lambda: Trace.load(path).answer)
else:
    whole = [step.kind for step in walked("new").steps]
    def state():
        lines = path.read_bytes().split(b"\\n")[:-1] if path.exists() else []
        [json.loads(line) for line in lines]
        if not lines:
            return "nothing"
        kinds = [step.kind for step in Trace.load(path).steps]
        assert kinds == whole[: len(kinds)]
        return f"{len(kinds)} steps"
    report = sweep(path, None, lambda: walked("new", trace=Trace(path)), state, 3)
print(json.dumps(report))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize(
    ("what", "seen", "last", "kills"),
    [
        ("policies.json", {"old", "old new"}, "old new", 100),
        ("saved.jsonl", {"old", "new"}, "new", 100),
        ("live.jsonl", {"nothing", *(f"{n} steps" for n in range(9))}, "8 steps", 100),
    ],
)
def test_who_is_killed_leaves_the_old_file_or_the_new_one(tmp_path, what, seen, last, kills):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path, what], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (set(report["seen"]), report["last"]) == (seen, last)
    assert report["kills"] > kills


def test_a_draft_that_was_left_is_in_nobodys_way(tmp_path):
    write_whole(tmp_path / "a.txt", ["old"])
    (tmp_path / ".a.txt.0").write_text("a draft", encoding="utf-8")
    write_whole(tmp_path / "a.txt", ["new"])
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new"
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "a.txt", (str(1 // n) for n in (1, 0)))
    assert sorted(each.name for each in tmp_path.iterdir()) == [".a.txt.0", "a.txt"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "new"
