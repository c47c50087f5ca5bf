"""The ready tools: each one called directly and in a walk, and what they refuse."""

import itertools
import json
import os
import re
from datetime import UTC, datetime

import pytest
from counting import ends
from moved import AtNoon
from ready_tools import CALLS, DOMAINS, NOON
from walks import drive

from zoolab.errors import (
    ExecutionFailed,
    InvalidArguments,
    InvalidInput,
    PermissionDenied,
    ResourceNotFound,
    ToolIOError,
    ToolTimeout,
)
from zoolab.loop import walk
from zoolab.models.scripted import Scripted
from zoolab.policy import Policy
from zoolab.records import Decision, Limits
from zoolab.runs import run
from zoolab_course.worlds import analytics, clock, files
from zoolab_course.worlds.analytics import Analytics, analytics_tools
from zoolab_course.worlds.clock import clock_tools
from zoolab_course.worlds.devops import DevOps, devops_tools
from zoolab_course.worlds.files import file_tools
from zoolab_course.worlds.security import Security, security_tools
from zoolab_course.worlds.support import Support, support_tools
from zoolab_course.worlds.tasks import TaskList, task_tools


@pytest.fixture
def root(tmp_path):
    """A project with a source file, next to a secret that does not belong to it."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "README.md").write_text("# Zoo\n", encoding="utf-8")
    (project / "src" / "main.py").write_text("print('é')\n", encoding="utf-8")
    (project / ".hidden").write_text("hidden", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return project


BY_DOMAIN = {
    domain: [row[1:] for row in rows] for domain, rows in itertools.groupby(CALLS, key=lambda row: row[0])
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_tool_answers_when_called_directly(domain, root):
    tools = DOMAINS[domain](root)
    for name, arguments, expected in BY_DOMAIN[domain]:
        assert tools.execute(name, arguments) == expected


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_tool_answers_in_a_walk(domain, root):
    tools = DOMAINS[domain](root)
    model = Scripted([*([(name, arguments)] for name, arguments, _ in BY_DOMAIN[domain]), "Done."])
    policy = Policy(allow={tool.name for tool in tools})
    last = list(walk("Go.", tools, model, policy=policy, limits=Limits(turns=20)))[-1]
    results = [json.loads(m["content"]) for m in last.messages if m["role"] == "tool"]
    assert [result["data"] for result in results] == [expected for *_, expected in BY_DOMAIN[domain]]
    assert all(result["success"] for result in results)


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_world_is_fresh_and_like_the_others(domain, root):
    first, second = DOMAINS[domain](root), DOMAINS[domain](root)
    assert first == second
    answers = [[tools.execute(*call[:2]) for call in BY_DOMAIN[domain]] for tools in (first, second)]
    assert answers[0] == answers[1]


def test_a_given_world_is_the_one_that_changes():
    devops, support, security, tasks = DevOps({"web": "failed"}), Support(), Security(), TaskList()
    devops_tools(devops).execute("restart_service", {"service": "web"})
    support_tools(support).execute("draft_reply", {"ticket_id": "T-1002", "message": "Sorry"})
    security_tools(security).execute("isolate_host", {"host": "web01"})
    task_tools(tasks).execute("add_task", {"content": "Read"})
    assert devops.services == {"web": "running"}
    assert support.drafts == [
        {"draft_id": "draft_1", "ticket_id": "T-1002", "to": "Grace", "message": "Sorry"}
    ]
    assert (security.isolated, list(tasks.tasks)) == ({"web01"}, ["task_1"])


@pytest.mark.parametrize(
    ("domain", "name", "arguments", "error", "says"),
    [
        ("devops", "ping", {"host": "nowhere"}, ResourceNotFound, "one of"),
        ("devops", "ping", {"host": "db01", "count": 0}, InvalidArguments, "1 to 10"),
        ("devops", "check_http", {"url": "https://nowhere"}, ResourceNotFound, "no site"),
        ("devops", "traceroute", {"host": "nowhere"}, ResourceNotFound, "no route"),
        ("devops", "check_status", {"service": "x"}, ResourceNotFound, "nginx"),
        ("devops", "restart_service", {"service": "x"}, ResourceNotFound, "nginx"),
        ("devops", "restart_service", {"service": "critical-db"}, PermissionDenied, "not restarted"),
        ("devops", "read_logs", {"service": "nginx", "lines": -1}, InvalidArguments, "1 to 100"),
        ("devops", "check_disk_usage", {"host": "x"}, ResourceNotFound, "db01"),
        ("support", "get_ticket", {"ticket_id": "T-9"}, ResourceNotFound, "T-1001"),
        ("support", "draft_reply", {"ticket_id": "T-9", "message": "a"}, ResourceNotFound, "T-1001"),
        ("support", "draft_reply", {"ticket_id": "T-1001", "message": " "}, InvalidArguments, "blank"),
        ("support", "search_kb", {"query": "a", "limit": 0}, InvalidArguments, "1 or more"),
        ("analytics", "describe_table", {"table_name": "x; DROP"}, ResourceNotFound, "customers, orders"),
        ("analytics", "check_data_quality", {"table_name": "x"}, ResourceNotFound, "customers, orders"),
        ("security", "query_siem", {"query": "a", "time_range": "1y"}, InvalidArguments, "24h"),
        ("security", "check_ip_reputation", {"ip": "300.1.1.1"}, InvalidArguments, "is not an IP address"),
        ("security", "isolate_host", {"host": "x"}, ResourceNotFound, "laptop7"),
        ("tasks", "add_task", {"content": ""}, InvalidArguments, "blank"),
        ("tasks", "update_task", {"task_id": "task_9", "status": "pending"}, ResourceNotFound, "task_9"),
        ("tasks", "update_task", {"task_id": "task_1", "status": "done"}, InvalidArguments, "in_progress"),
    ],
)
def test_an_error_says_what_was_expected(domain, name, arguments, error, says, root):
    with pytest.raises(error, match=says):
        DOMAINS[domain](root).execute(name, arguments)


# Permission


@pytest.mark.parametrize(
    ("tools", "name", "arguments"),
    [
        (security_tools, "isolate_host", {"host": "laptop7"}),
        (devops_tools, "restart_service", {"service": "redis"}),
    ],
)
def test_a_tool_of_high_risk_waits_and_is_denied_when_merely_iterated(tools, name, arguments):
    steps = list(walk("Go.", tools(), Scripted([[(name, arguments)], "Not done."])))
    assert [s.record.choice for s in steps if isinstance(s.record, Decision)] == ["pending"]
    result = json.loads(next(m["content"] for m in steps[-1].messages if m["role"] == "tool"))
    assert (result["success"], result["error_type"]) == (False, "permission_denied")


def test_isolate_host_runs_when_a_person_allows_it():
    world = Security()
    model = Scripted([[("isolate_host", {"host": "laptop7"})], "Done."])
    drive(walk("Go.", security_tools(world), model), execute=Decision("once"))
    assert world.isolated == {"laptop7"}
    list(
        walk(
            "Go.",
            security_tools(other := Security()),
            Scripted([[("isolate_host", {"host": "db01"})], "No."]),
        )
    )
    assert other.isolated == set()


def test_what_shows_a_file_is_asked_about(root):
    risks = {tool.name: tool.risk for tool in file_tools(root)}
    assert risks == {"get_file_tree": "safe", "read_file": "medium", "get_outline": "medium"}


# SQL


@pytest.fixture
def select():
    tools = analytics_tools()
    return lambda query: tools.execute("sql_select", {"query": query})


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT 'DROP TABLE x; DELETE' AS word", [["DROP TABLE x; DELETE"]]),
        ("WITH n AS (SELECT 1 AS a) SELECT a + 1 FROM n;", [[2]]),
        ("VALUES (1), (NULL)", [[1], [None]]),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) FROM n",
            [[10]],
        ),
        (
            "SELECT name, count(*) FROM orders JOIN customers c ON c.id = customer_id WHERE c.id = 1",
            [["Ada", 7]],
        ),
        ("SELECT x'ff00', 9e999, cast(x'ff' AS TEXT)", [["x'ff00'", "inf", "\ufffd"]]),
        ("SELECT 1 -- and a remark", [[1]]),
        ("SELECT upper(name) FROM customers WHERE id = 1", [["ADA"]]),
        ("SELECT count(*) FROM sqlite_schema", [[2]]),
    ],
)
def test_reading_works(select, query, rows):
    assert select(query)["rows"] == rows


@pytest.mark.parametrize("query", ["EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT * FROM orders"])
def test_a_query_can_be_explained(select, query):
    assert select(query)["rows"]


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO customers (name) VALUES ('Eve')",
        "REPLACE INTO customers (name) VALUES ('Eve')",
        "UPDATE orders SET amount = 0",
        "DELETE FROM orders",
        "DELETE FROM orders RETURNING *",
        "WITH gone AS (SELECT 1) DELETE FROM orders",
        "/* SELECT */ DROP TABLE orders",
        "ALTER TABLE orders RENAME TO gone",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "CREATE INDEX i ON orders (amount)",
        "ATTACH ':memory:' AS other",
        "DETACH main",
        "VACUUM",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "SAVEPOINT a",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "PRAGMA table_info(orders)",
        "SELECT * FROM pragma_query_only",
        "SELECT load_extension('evil')",
        "SELECT LOAD_Extension('evil', 'entry')",
        "EXPLAIN DELETE FROM orders",
        "SELECT printf('%.*c', 1000000000, 'x')",
        "SELECT Format('%*d', 1000000000, 1)",
        "",
        "-- nothing",
    ],
)
def test_anything_but_reading_is_refused(query):
    world = Analytics()
    before = world.sql_select("SELECT * FROM orders")
    with pytest.raises((PermissionDenied, InvalidArguments)) as caught:
        world.sql_select(query)
    assert isinstance(caught.value, PermissionDenied) or "no such" in str(caught.value)
    assert world.sql_select("SELECT * FROM orders") == before


def test_no_file_is_made(select, tmp_path):
    for query in ("ATTACH '{}' AS other", "VACUUM INTO '{}'"):
        with pytest.raises(PermissionDenied, match="only be read"):
            select(query.format(tmp_path / "made.db"))
    assert list(tmp_path.iterdir()) == []


def test_query_only_stands_behind_the_authorizer():
    world = Analytics()
    world._database.set_authorizer(None)
    with pytest.raises(InvalidArguments, match="readonly"):
        world.sql_select("DELETE FROM orders")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT 1; DROP TABLE orders", "one statement"),
        ("SELEC 1", "syntax error"),
        ("SELECT colour FROM orders", "no such column"),
        ("SELECT * FROM nowhere", "no such table"),
        ("SELECT ?", "binding"),
        ("SELECT 1\0", "null"),
        ("SELECT '\ud800'", "surrogates"),
        ("SELECT '" + "a" * 30_000 + "'", "too (large|big)"),
        ("SELECT zeroblob(1000000000)", "too big"),
        ("SELECT " + "(" * 500 + "1" + ")" * 500, "stack overflow|too large|depth"),
    ],
)
def test_a_query_that_cannot_run_says_why(select, query, says):
    with pytest.raises(InvalidArguments, match=says):
        select(query)
    assert select("SELECT 1")["rows"] == [[1]]


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT max(i) FROM n",
        "SELECT count(*) FROM orders a, orders b, orders c, orders d, orders e, orders f",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT count(instr(hex(zeroblob(4000)), hex(zeroblob(2000)) || i)) FROM n",
    ],
)
def test_a_query_without_end_is_stopped(select, query):
    with ends(), pytest.raises(ToolTimeout, match="takes too long"):
        select(query)
    assert select("SELECT 1")["rows"] == [[1]]


def test_a_large_result_is_cut_and_says_so(select):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    result = select(endless)
    assert (len(result["rows"]), result["truncated"]) == (analytics.MAX_ROWS, True)
    wide = select("SELECT hex(zeroblob(4000)) FROM orders")
    assert wide["truncated"]
    assert 0 < len(json.dumps(wide)) < analytics.MAX_RESULT + 1_000
    assert select("SELECT * FROM orders")["truncated"] is False


def test_queries_side_by_side_do_not_mix():
    queries = ["SELECT count(*) FROM orders", "DELETE FROM orders", "SELECT count(*) FROM customers"]
    model = Scripted([[("sql_select", {"query": query}) for query in queries], "Done."])
    last = list(walk("Go.", analytics_tools(), model))[-1]
    results = [json.loads(m["content"]) for m in last.messages if m["role"] == "tool"]
    assert [r["error_type"] for r in results] == ["none", "permission_denied", "none"]
    assert [r["data"] and r["data"]["rows"] for r in results] == [[[60]], None, [[10]]]


def test_describe_table():
    described = analytics_tools().execute("describe_table", {"table_name": "customers"})
    assert described["row_count"] == 10
    assert described["columns"][0] == {
        "name": "id",
        "type": "INTEGER",
        "primary_key": True,
        "nullable": False,
    }
    assert [column["name"] for column in described["columns"]] == ["id", "name", "email", "country"]


# Files


@pytest.mark.parametrize("path", ["../secret.txt", "src/../../secret.txt", "/etc/passwd", "..", "../nowhere"])
def test_a_path_that_leads_out_is_refused(root, path):
    tools = file_tools(root)
    for name, argument in (("read_file", "path"), ("get_file_tree", "folder")):
        with pytest.raises(PermissionDenied, match="outside the project"):
            tools.execute(name, {argument: path})


def test_a_link_that_leads_out_is_refused_and_not_listed(root):
    (root / "out.txt").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "in.txt").symlink_to(root / "README.md")
    (root / "loop").symlink_to(root / "loop")
    tools = file_tools(root)
    for path in ("out.txt", "up/secret.txt"):
        with pytest.raises(PermissionDenied):
            tools.execute("read_file", {"path": path})
    with pytest.raises((ToolIOError, ResourceNotFound)):
        tools.execute("read_file", {"path": "loop"})
    assert tools.execute("read_file", {"path": "in.txt"}) == "# Zoo\n"
    assert tools.execute("get_file_tree", {}) == ["README.md", "in.txt", "src/main.py"]


def test_rules_match_the_resolved_path(root):
    (root / "in.txt").symlink_to(root / "README.md")
    tools = {tool.name: tool for tool in file_tools(root)}
    at = root.resolve().as_posix()
    for path in ("README.md", "in.txt", "src/../README.md", f"{root}/./README.md"):
        assert tools["read_file"].resource({"path": path}) == f"{at}/README.md"
    assert tools["get_file_tree"].resource({}) == at
    policy = Policy(allow={f"*({at}/src/**)"}, deny={f"*({at}/README.md)"})
    names = [path.name for path in root.iterdir()]
    chosen = {name: policy.decide(tools["read_file"], {"path": name}).choice for name in names}
    assert chosen == {"README.md": "deny", "in.txt": "deny", "src": "pending", ".hidden": "pending"}
    assert policy.decide(tools["read_file"], {"path": "src/main.py"}).choice == "once"
    assert policy.decide(tools["read_file"], {"path": "../secret.txt"}).choice == "deny"


def test_what_is_no_text_is_refused(root):
    (root / "image").write_bytes(b"\x89PNG\xff")
    (root / "zeros").write_bytes(b"a\0b")
    os.mkfifo(root / "pipe")
    tools = file_tools(root)
    for path, says in (
        ("image", "is not a text file"),
        ("zeros", "is not a text file"),
        ("pipe", "regular"),
        ("src", "folder"),
    ):
        with pytest.raises(ToolIOError, match=says):
            tools.execute("read_file", {"path": path})
    with pytest.raises(InvalidArguments, match="is not a valid path"):
        tools.execute("read_file", {"path": "a\0b"})
    for name, argument in (("read_file", "path"), ("get_file_tree", "folder")):
        with pytest.raises(ResourceNotFound):
            tools.execute(name, {argument: "nowhere"})


def test_a_file_of_ten_megabytes_is_read_and_a_larger_one_refused(root):
    (root / "large").write_bytes(b"a" * files.MAX_BYTES)
    tools = file_tools(root)
    assert len(tools.execute("read_file", {"path": "large"})) == 10 * 1024 * 1024
    with (root / "large").open("ab") as file:
        file.write(b"a")
    with pytest.raises(ToolIOError, match="larger than 10 MB"):
        tools.execute("read_file", {"path": "large"})


def test_a_tree_that_is_too_large_names_its_folders(root):
    for number in range(files.MAX_FILES):
        (root / f"{number}").touch()
    with pytest.raises(ExecutionFailed, match="list a folder inside it: src"):
        file_tools(root).execute("get_file_tree", {})
    assert file_tools(root).execute("get_file_tree", {"folder": "src"}) == ["src/main.py"]


def test_the_root_must_be_a_folder(root):
    with pytest.raises(InvalidInput, match="no folder"):
        file_tools(root / "README.md")


# Clock


def test_the_real_clock_tells_the_time_with_its_offset(monkeypatch):
    monkeypatch.setattr(clock, "datetime", AtNoon)
    told = clock_tools().execute("get_current_time", {})
    assert told == datetime(2030, 1, 2, 12).astimezone().isoformat()
    assert datetime.fromisoformat(told).tzinfo is not None


@pytest.mark.parametrize(
    "now", ["2030-01-02T12:00", datetime(2030, 1, 2, 12), datetime(2030, 1, 2, 12, tzinfo=UTC)]
)
def test_a_clock_that_stands_still(now):
    assert clock_tools(now).execute("get_current_time", {}) == NOON


@pytest.mark.parametrize("now", ["noon", 12])
def test_a_clock_needs_a_time(now):
    with pytest.raises(InvalidInput, match="is not a date and time"):
        clock_tools(now)


def test_a_long_file_is_read_part_by_part(root):
    whole = "".join(f"line {n}\u2028 é\n" for n in range(1000)) + "the end"
    (root / "long.txt").write_text(whole, encoding="utf-8", newline="")
    tools, parts = file_tools(root), []
    for offset in range(0, 1001, 300):
        parts.append(tools.execute("read_file", {"path": "long.txt", "offset": offset, "lines": 300}))
    assert "".join(parts) == whole
    assert tools.execute("read_file", {"path": "long.txt", "offset": 1000}) == "the end"
    assert tools.execute("read_file", {"path": "long.txt", "offset": 1001}) == ""
    for wrong in ({"offset": 1002}, {"offset": -1}, {"lines": 0}):
        with pytest.raises(InvalidArguments):
            tools.execute("read_file", {"path": "long.txt", **wrong})


def test_the_notice_of_a_cut_file_says_where_to_read_on(root):
    whole = "".join(f"line {n}\n" for n in range(500))
    (root / "long.txt").write_text(whole, newline="")
    tools, limits = file_tools(root), Limits(result_bytes=1000, turns=50)
    read = ""

    def model(request):
        nonlocal read
        offset = read.count("\n")
        if request.messages[-1]["role"] == "tool":
            content = request.messages[-1]["content"]
            head, _, notice = content.partition("\n[cut: ")
            kept = int(re.search(r"(\d+) whole lines", notice)[1]) if notice else head.count("\n")
            read += "".join(head.splitlines(keepends=True)[:kept])
            if not notice:
                return "Done."
            offset = read.count("\n")
        return [("read_file", {"path": "long.txt", "offset": offset})]

    run("Read.", tools, Scripted([model] * 50), limits=limits, policy=Policy(ask=()), envelope="plain")
    assert read == whole
