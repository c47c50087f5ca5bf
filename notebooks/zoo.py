# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The zoo
#
# A **tool** is a function that a language model may call. To learn with tools, you need something that they act on. This is a **world**: a few plain Python
# objects that are the same every time. Seven of these worlds live in memory. The eighth is one folder that you choose. None of them uses a network. So a model can break
# nothing that you need, and a recorded conversation always finds the world as it was.
#
# This is a reference. It has eight worlds, and a page for each. Every page shows
#
# - the tools: the name and the description that a model reads, and the **risk**. A person is asked before a call of medium or high risk;
# - the state of the world before the calls;
# - a few calls, with what each returned;
# - what the calls changed in the world. A line with `-` has gone, and a line with `+` is new.
#
# The calls are **scripted**: they come from a list, and no model is asked. Everything else is real. Each call is validated, permitted, run and answered as in
# [01 · One loop](01-one-loop.ipynb). The [reference](reference.md) lists all features of zoolab.

# %%
import pandas as pd

from zoolab import Policy, Scripted, run

pd.set_option("display.max_colwidth", None)


def tools_of(registry):
    "The tools as a table."
    rows = [{"tool": each.name, "risk": each.risk, "description": each.description} for each in registry]
    left = {"selector": "th, td", "props": "text-align: left"}
    return pd.DataFrame(rows).style.hide(axis="index").set_table_styles([left])


# %% [markdown]
# The state of a world is in its public attributes. `state` prints one line for each entry.


# %%
def state(world):
    "One line for each entry of each public attribute."
    lines = []
    for name, value in vars(world).items():
        if name.startswith("_"):
            continue
        if isinstance(value, dict):
            lines += [f"{name}[{key}] = {each}" for key, each in value.items()]
        elif isinstance(value, (list, set, frozenset)):
            lines += [f"{name}: {each}" for each in (value if isinstance(value, list) else sorted(value))]
            lines += [] if value else [f"{name}: none"]
        else:
            lines.append(f"{name} = {value}")
    return lines


def difference(before, after):
    "The lines that have gone, and the new ones."
    changed = [f"- {line}" for line in before if line not in after]
    changed += [f"+ {line}" for line in after if line not in before]
    return changed or ["nothing changed"]


# %% [markdown]
# `visit` makes the calls in one walk. It prints what each call returned, and then what changed in the world. The tools in `allow` run without a question. Other calls
# of medium or high risk need a person. Nobody is there, so they are denied.


# %%
def visit(registry, calls, state_of=list, allow=()):
    "Call by a script, and show what came back and what changed."
    before = state_of()
    script = Scripted([calls, "Done."])
    trace = run("Please.", registry, script, policy=Policy(allow=list(allow)), parallel=False)
    ran = [step for step in trace.steps if step.kind == "execute" and step.status == "ok"]
    values = {step.slot: step.record.value for step in ran}
    errors = {error.slot: error.message for error in trace.errors}
    for call in trace.tool_calls:
        print(call.name, call.arguments)
        answer = str(values[call.slot]) if call.slot in values else f"error: {errors[call.slot]}"
        print("    ->", answer.strip().replace("\n", "\n       "))
    print("In the world:", *difference(before, state_of()), sep="\n    ")


# %% [markdown]
# ## starter
#
# These ten tools are the first that the notebooks use. Their world is a few tables of weather, services, hosts and notes. It never changes. Even a restart only
# says that it happened.

# %%
from zoolab.toolbox.starter import starter_tools

starter = starter_tools()
tools_of(starter)


# %%
def services():
    "The status of each service, as the starter tools report it."
    names = ("nginx", "postgres", "redis", "docker", "cron")
    return [starter.execute("check_status", {"service": name}) for name in names]


print("\n".join(services()))

# %%
visit(
    starter,
    [
        ("add", {"a": 42, "b": 58}),
        ("get_weather", {"city": "Oslo"}),
        ("check_status", {"service": "redis"}),
        ("restart_service", {"service": "redis"}),
        ("check_status", {"service": "redis"}),
    ],
    services,
    allow=["restart_service"],
)

# %% [markdown]
# The tool said "redis was restarted", but redis is stopped as before. So an answer can repeat correctly what a tool said, and still be wrong about the world. In the
# next world a restart changes something.

# %% [markdown]
# ## devops
#
# A small company with hosts, services, web sites, disks and logs. Something is wrong there, and the logs say what it is.

# %%
from zoolab_course.worlds.devops import DevOps, devops_tools

company = DevOps()
tools_of(devops_tools(company))

# %%
print("\n".join(state(company)))

# %%
visit(
    devops_tools(company),
    [
        ("read_logs", {"service": "redis", "lines": 2}),
        ("check_disk_usage", {"host": "db01"}),
        ("restart_service", {"service": "redis"}),
        ("check_status", {"service": "redis"}),
        ("restart_service", {"service": "critical-db"}),
    ],
    lambda: state(company),
    allow=["restart_service"],
)

# %% [markdown]
# The policy allowed both restarts, but the tool refused the second. A tool can have a rule of its own, and no policy can switch it off.

# %% [markdown]
# ## support
#
# A help desk with tickets, articles with solutions, and drafts of replies. The tools write drafts only. A person sends them.

# %%
from zoolab_course.worlds.support import Support, support_tools

desk = Support()
tools_of(support_tools(desk))

# %%
print("\n".join(state(desk)))

# %%
visit(
    support_tools(desk),
    [
        ("get_ticket", {"ticket_id": "T-1001"}),
        ("search_kb", {"query": "password", "limit": 1}),
        ("draft_reply", {"ticket_id": "T-1001", "message": "Please choose 'forgotten password'."}),
        ("draft_reply", {"ticket_id": "T-9", "message": "Hello."}),
    ],
    lambda: state(desk),
)

# %% [markdown]
# ## analytics
#
# The database of a shop, with customers and orders. It is an SQLite database in memory. The tools can only read it, because SQLite refuses every other statement. A few
# errors are hidden in the data.

# %%
from zoolab_course.worlds.analytics import Analytics, analytics_tools

shop = Analytics()
tools_of(analytics_tools(shop))

# %% [markdown]
# Its state is its rows. Here is the number of rows of each table, and the first row:


# %%
def rows_of(world):
    "One line for each row of each table."
    selected = {name: world.sql_select(f"SELECT * FROM {name}")["rows"] for name in ("customers", "orders")}
    return [f"{name}: {row}" for name, rows in selected.items() for row in rows]


lines = rows_of(shop)
for table in ("customers", "orders"):
    found = [line for line in lines if line.startswith(table)]
    print(f"{len(found):3} rows, the first:", found[0])

# %%
visit(
    analytics_tools(shop),
    [
        ("describe_table", {"table_name": "customers"}),
        ("sql_select", {"query": "SELECT status, count(*) AS n FROM orders GROUP BY status"}),
        ("check_data_quality", {"table_name": "orders"}),
        ("sql_select", {"query": "DELETE FROM orders"}),
    ],
    lambda: rows_of(shop),
)

# %% [markdown]
# ## security
#
# The view of a security team: events of hosts, the reputation of addresses, and the hosts that are isolated from the network.

# %%
from zoolab_course.worlds.security import Security, security_tools

team = Security()
tools_of(security_tools(team))

# %%
print("\n".join(state(team)))

# %% [markdown]
# `isolate_host` has a high risk. In the first visit nobody is there to be asked, so the call is denied. In the second visit the tool is allowed.

# %%
looks = [
    ("query_siem", {"query": "malware", "time_range": "1h"}),
    ("check_ip_reputation", {"ip": "198.51.100.23"}),
]
isolate = ("isolate_host", {"host": "laptop7"})
visit(security_tools(team), [*looks, isolate], lambda: state(team))

# %%
visit(security_tools(team), [isolate, isolate], lambda: state(team), allow=["isolate_host"])

# %% [markdown]
# ## files
#
# One folder, and nothing outside it. The tools list files, read them, and make outlines: the classes and functions of a Python file. You choose the folder. Here it has two
# files.

# %%
from pathlib import Path
from tempfile import mkdtemp

from zoolab_course.worlds.files import Files, file_tools

folder = Path(mkdtemp())
(folder / "notes.md").write_text("# Notes\n\n## Backups\n\nAt two in the night.\n")
(folder / "shop.py").write_text("class Shop:\n    def open(self):\n        return True\n")
files = Files(folder)
tools_of(file_tools(files))


# %%
def contents(world):
    "The files with their sizes, and the outlines that the world remembers."
    sizes = [f"{name}: {(world.root / name).stat().st_size} bytes" for name in world.get_file_tree()]
    return [*sizes, *(f"outline of {name}: {entries}" for name, entries in world.outlines.items())]


print("\n".join(contents(files)))

# %%
visit(
    file_tools(files),
    [
        ("get_file_tree", {}),
        ("read_file", {"path": "notes.md"}),
        ("get_outline", {"path": "shop.py"}),
        ("read_file", {"path": "../../etc/passwd"}),
    ],
    lambda: contents(files),
    allow=["read_file", "get_outline"],
)

# %% [markdown]
# The files stay as they are, because no tool here writes. The world remembers the outline, and that is the change.

# %% [markdown]
# ## clock
#
# A clock that stands still. A real clock would return another time in every run.

# %%
from zoolab_course.worlds.clock import clock_tools

clock = clock_tools("2030-01-02T03:04:05")
tools_of(clock)

# %%
visit(
    clock,
    [("get_current_time", {}), ("get_current_time", {})],
    lambda: [clock.execute("get_current_time", {})],
)

# %% [markdown]
# ## tasks
#
# A list of tasks. A model uses it to plan a long request in steps. The list is empty at the beginning.

# %%
from zoolab_course.worlds.tasks import TaskList, task_tools

todo = TaskList()
tools_of(task_tools(todo))

# %%
print("\n".join(state(todo)) or "no tasks")

# %%
visit(
    task_tools(todo),
    [
        ("add_task", {"content": "Read the log of redis."}),
        ("add_task", {"content": "Restart redis."}),
        ("update_task", {"task_id": "task_1", "status": "completed"}),
        ("update_task", {"task_id": "task_7", "status": "completed"}),
        ("list_tasks", {}),
    ],
    lambda: state(todo),
)

# %% [markdown]
# ## All of them by name
#
# Recordings and the command line use worlds by name. Each use makes a new world. `files` is not in this list, because it needs a folder.

# %%
from zoolab.plugins import TOOLBOXES
from zoolab.toolbox.catalog import tools_named

for name in ["starter", "clock", *TOOLBOXES.entries()]:
    print(f"{name:10} {', '.join(tools_named(name).names())}")
