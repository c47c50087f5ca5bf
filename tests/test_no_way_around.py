"""No tool runs without a decision that allows it, whatever the rules, the model and the people are."""

import json
import threading
from collections import Counter
from contextlib import suppress
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from zoolab import Scripted, run, with_tools
from zoolab.errors import ZoolabError
from zoolab.policy import Permissions, Policy
from zoolab.records import Decision, Limits, Outcome, Request
from zoolab.repair import RuleRepair
from zoolab.running.calls import Runner
from zoolab.tools import Tool, ToolRegistry
from zoolab_connect.mcp.serve import answer_call
from zoolab_connect.nested import as_tool

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "path": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
RISKS = ["safe", "medium", "high"]
NAMES = ["read", "write", "wipe", "inner"]
PATHS = ["/a", "/a/b", "/a/b/c", "/z*", ""]
RULES = ["*", "read", "w*", "inner", "read(/a/*)", "*(/a/**)", "wipe(**)", "write(/z\\*)", "*(/nowhere)"]
SAYS = [
    None,
    Outcome("given by hand"),
    Decision("pending"),
    Decision("once"),
    Decision("deny", "no"),
    Decision("session"),
    Decision("always"),
    Decision("session", scope="/a/*"),
    Decision("always", scope="**"),
    Decision("session", scope="\\bad"),
]
LIMITS = Limits(turns=4, retries=50)

rules = st.lists(st.sampled_from(RULES), max_size=3)
policies = st.builds(
    Policy,
    allow=rules,
    deny=st.lists(st.sampled_from(RULES), max_size=1),
    ask=st.lists(st.sampled_from(["safe", "medium", "high", "read(/a/**)"]), max_size=4),
)
shapes = st.sampled_from(["good", "broken", "cut", "wrong", "text", "null"])
calls = st.tuples(st.sampled_from([*NAMES, "unknown", "agent"]), shapes, st.sampled_from(PATHS))
replies = st.lists(st.lists(calls, min_size=1, max_size=4), max_size=3)
tools = st.fixed_dictionaries(
    {
        name: st.tuples(
            st.sampled_from(["safe", "medium", "high"]), st.sampled_from(["none", "path", "fails"])
        )
        for name in NAMES
    }
)


class World:
    """Tools that say that they ran, people who say this and that, and a log of what was decided."""

    def __init__(self, folder, kinds, policy, says):
        self.numbers, self.ran, self.lock = count(), [], threading.Lock()
        self.says, self.audit = iter(says), folder / "audit.jsonl"
        self.permissions = Permissions(policy, folder / "policies.json", self.audit)
        self.tools = [self.make(name, *kind) for name, kind in kinds.items()]

    def make(self, name, risk, touches):
        def function(n, path=""):
            with self.lock:
                self.ran.append((name, n, path))
            return n

        resources = {
            "none": None,
            "path": lambda given: given["path"],
            "fails": lambda given: given["nothing"],
        }
        return Tool(name, "Do it.", SCHEMA, function, risk, resource=resources[touches])

    def ask(self, _step):
        with self.lock:
            return next(self.says, None)

    def script(self, asked):
        return Scripted([*([self.call(*one) for one in reply] for reply in asked), "Done."])

    def call(self, name, shape, path):
        given = {"task": "Go."} if name == "agent" else {"n": next(self.numbers), "path": path}
        text = json.dumps(given)
        shapes = {
            "good": text,
            "broken": text.replace('"', "'").replace("}", ",}"),
            "cut": text[:-1],
            "wrong": json.dumps({**given, "n": "one"}),
            "text": f"Here it is: {text}",
            "null": None,
        }
        return name, shapes[shape]

    def allowed(self):
        """What the log says was allowed: each call, and how often."""
        entries = [json.loads(line) for line in self.audit.read_text(encoding="utf-8").splitlines()]
        found = Counter()
        for entry in entries:
            given = json.loads(entry["arguments"])
            if entry["tool"] != "agent" and entry["choice"] in ("once", "session", "always"):
                found[entry["tool"], given["n"], given.get("path", "")] += 1
        return found

    def check(self):
        ran, allowed = Counter(self.ran), self.allowed()
        assert ran <= allowed, ran - allowed
        for name, _, path in ran:
            for rule in self.permissions.policy.deny:
                assert rule not in ("*", name), (name, path, rule)
                assert not (rule == "wipe(**)" and name == "wipe")
                assert not (rule == "*(/a/**)" and path.startswith("/a/"))


@settings(max_examples=40)
@given(
    kinds=tools,
    policy=policies,
    says=st.lists(st.sampled_from(SAYS), max_size=12),
    asked=replies,
    inner=replies,
    parallel=st.booleans(),
    own=st.booleans(),
    forbidden=st.sampled_from([*NAMES, None]),
    forks=st.lists(st.integers(0, 60), max_size=2),
)
def test_no_tool_runs_without_a_decision(
    tmp_path_factory, kinds, policy, says, asked, inner, parallel, own, forbidden, forks
):
    world = World(tmp_path_factory.mktemp("w"), kinds, policy, says)
    options = {"policy": world.permissions, "parallel": parallel, "repair": RuleRepair(), "limits": LIMITS}
    child = {**options, "policy": Permissions(policy, audit=world.audit)} if own else options
    agent = as_tool("agent", "Does it.", world.tools, world.script(inner), ask=world.ask, **child)
    registry = ToolRegistry([*world.tools, agent])
    if forbidden:
        registry.deny(forbidden)

    try:
        trace = run("Go.", registry, world.script(asked), ask=world.ask, **options)
    except ZoolabError as error:
        trace = error.trace
    world.check()
    assert not [name for name, *_ in world.ran if name == forbidden and not inner]

    for at in forks:
        with suppress(ZoolabError):
            trace.fork(at % len(trace.steps), model=world.script(asked))
        world.check()

    model = with_tools(world.script(asked), registry, **options)
    for name, shape, path in (one for reply in asked for one in reply):
        with suppress(ZoolabError, TypeError):
            model.call_tool(*world.call(name, shape, path))
    with suppress(ZoolabError):
        model(Request([{"role": "user", "content": "Go."}]))
    world.check()


@settings(max_examples=25)
@given(kinds=tools, policy=policies, asked=replies)
def test_nor_through_a_server(tmp_path_factory, kinds, policy, asked):
    world = World(tmp_path_factory.mktemp("w"), kinds, policy, [])
    registry = ToolRegistry(world.tools)
    for name, shape, path in (one for reply in asked for one in reply):
        _, text = world.call(name, shape, path)
        with suppress(ValueError, TypeError):
            answer_call(registry, world.permissions, Runner(), name, json.loads(text))
    world.check()
