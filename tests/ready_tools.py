"""The ready tools by domain, and an example call of each: a new tool gets a row in `CALLS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoolab.tools import ToolRegistry
from zoolab_course.worlds.analytics import analytics_tools
from zoolab_course.worlds.clock import clock_tools
from zoolab_course.worlds.devops import devops_tools
from zoolab_course.worlds.files import file_tools
from zoolab_course.worlds.security import security_tools
from zoolab_course.worlds.support import support_tools
from zoolab_course.worlds.tasks import task_tools

NOON = "2030-01-02T12:00:00+00:00"

#: Makes the tools of a domain; those of `files` need a folder.
DOMAINS: dict[str, Callable[[Path], ToolRegistry]] = {
    "devops": lambda _root: devops_tools(),
    "support": lambda _root: support_tools(),
    "analytics": lambda _root: analytics_tools(),
    "security": lambda _root: security_tools(),
    "files": file_tools,
    "clock": lambda _root: clock_tools(NOON),
    "tasks": lambda _root: task_tools(),
}

#: The domain, the tool, its arguments, and what it returns. In order: a later call may need an earlier one.
CALLS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("devops", "ping", {"host": "db01", "count": 2}, "db01: 2 packets sent, 2 received, 1 ms"),
    ("devops", "ping", {"host": "backup01"}, "backup01: 1 packets sent, 0 received"),
    ("devops", "check_http", {"url": "https://example.com/"}, 200),
    ("devops", "traceroute", {"host": "backup01"}, ["gateway", "switch-3"]),
    ("devops", "check_status", {"service": "redis"}, "redis is stopped"),
    ("devops", "restart_service", {"service": "redis"}, "redis was restarted"),
    ("devops", "check_status", {"service": "redis"}, "redis is running"),
    ("devops", "read_logs", {"service": "redis", "lines": 1}, ["12:00:00 info restarted"]),
    ("devops", "check_disk_usage", {"host": "db01"}, {"/": "37%", "/data": "94%"}),
    (
        *("support", "get_ticket", {"ticket_id": "T-1003"}),
        {
            "id": "T-1003",
            "customer": "Alan",
            "status": "closed",
            "subject": "Slow export",
            "text": "The export of reports takes ten minutes.",
        },
    ),
    ("support", "search_kb", {"query": "gorilla"}, []),
    (
        *("support", "draft_reply", {"ticket_id": "T-1001", "message": "Hello"}),
        {"draft_id": "draft_1", "ticket_id": "T-1001"},
    ),
    (
        *("analytics", "sql_select", {"query": "SELECT id, name FROM customers LIMIT 1"}),
        {"columns": ["id", "name"], "rows": [[1, "Ada"]], "truncated": False},
    ),
    (
        *("analytics", "check_data_quality", {"table_name": "orders"}),
        {
            "table": "orders",
            "row_count": 60,
            "nulls": {"amount": 1},
            "duplicate_rows": 2,
            "outliers": {"amount": [9999.0]},
        },
    ),
    (
        *("security", "check_ip_reputation", {"ip": "203.0.113.66"}),
        {"ip": "203.0.113.66", "verdict": "malicious", "score": 97, "reason": "password guessing"},
    ),
    ("security", "query_siem", {"query": "laptop7", "time_range": "15m"}, []),
    ("security", "isolate_host", {"host": "laptop7"}, "laptop7 is isolated from the network"),
    ("security", "isolate_host", {"host": "laptop7"}, "laptop7 was already isolated from the network"),
    ("files", "get_file_tree", {}, ["README.md", "src/main.py"]),
    ("files", "get_file_tree", {"folder": "src"}, ["src/main.py"]),
    ("files", "read_file", {"path": "src/main.py"}, "print('é')\n"),
    (
        *("files", "get_outline", {"path": "README.md"}),
        {"entries": [], "reason": "only Python (.py) has outlines"},
    ),
    ("clock", "get_current_time", {}, NOON),
    ("tasks", "list_tasks", {}, []),
    ("tasks", "add_task", {"content": "Read"}, "task_1"),
    ("tasks", "add_task", {"content": "Write"}, "task_2"),
    ("tasks", "update_task", {"task_id": "task_1", "status": "completed"}, "task_1 is completed"),
    (
        *("tasks", "list_tasks", {}),
        [
            {"id": "task_1", "status": "completed", "content": "Read"},
            {"id": "task_2", "status": "pending", "content": "Write"},
        ],
    ),
]
