"""The cases of lab 7: what went wrong in a run, read from its trace.

Each trace is a real walk of a scripted model whose calls fail as a plan says, so that the truth is known
before anybody reads the trace. Marks of faults are taken out of what the student gets.
"""

import json
from collections.abc import Iterable
from random import Random
from typing import Any

from zoolab import Limits, Scripted, Tool, run
from zoolab.errors import ToolTimeout, ZoolabError
from zoolab.records import Reply
from zoolab.trace.events import events_of
from zoolab_grader import Frame, Lab, Student, Wrong, case

LAB = Lab("l7", "Forensics", functions=("find_errors", "per_tool"), uses=("pandas",))

COLUMNS = ("turn", "slot", "tool", "code", "root_cause", "tries", "recovered")
PLACE = ("turn", "slot")
TOOL_COLUMNS = ("tool", "calls", "failed")
TOOLS = ("read_file", "send_mail", "find_user", "book_room", "run_query", "list_orders", "get_weather")
FINE, UNFIT, DENIED, INVENTED = "fine", "type", "denied", "invented"
STRANGE = ("flyHome", "teleport", "fly Home ")
ALIKE = ("read_file", "read_files", "Read_file")  # three tools, whatever their names have in common
PAD = "ping"  # a tool that always works, and is not judged
MANY = 102  # of tools, calls or turns
LASTING = (DENIED, INVENTED)  # no retry can come right
RAISED: tuple[type[Exception], ...] = (FileNotFoundError, OSError, ValueError, ToolTimeout)
ERRORS = dict(zip(("missing", "disk", "broken", "late"), RAISED, strict=True))
KINDS = {
    "json": ("invalid_json", "bad arguments"),
    "cut": ("invalid_json", "cut off"),
    UNFIT: ("invalid_arguments", "bad arguments"),
    INVENTED: ("unknown_tool", "invented tool"),
    DENIED: ("permission_denied", "not allowed"),
    "missing": ("resource_not_found", "tool failed"),
    "disk": ("io_error", "tool failed"),
    "broken": ("execution_failed", "tool failed"),
    "late": ("timeout", "tool failed"),
}
ENDS = {"model_error": "no reply", "loop_limit": "gave up", "retries_exhausted": "gave up"}
#: Codes that are not in the table, whatever they begin with.
OTHER_CODES = ("invalid_output", "no_json_arguments", "unknown_city", "permission_expired")
SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}

Plan = list[list[tuple[str, str]]]  # for each turn its calls, in order: tool and kind of failure
Row = dict[str, Any]


def trace_of(plan: Plan, chance: Random, end: str = "answer") -> list[Row]:
    """The events of a walk in which all goes as planned."""
    replies: list[Any] = [reply_of(turn, chance) for turn in plan]
    model: Any = Scripted([*replies, "Done."] if end == "answer" else replies)
    retries = 0 if end == "retries_exhausted" else 999
    turns = len(plan) + (end != "loop_limit")
    limits = Limits(turns=turns, calls_per_turn=999, retries=retries, repeats=None)
    names = dict.fromkeys(name for turn in plan for name, _ in turn if name not in STRANGE)
    tools = [tool_of(name, plan) for name in names]
    try:
        trace = run("Please.", tools, model, limits=limits)
    except ZoolabError as error:
        trace = error.trace  # type: ignore[assignment]
    return list(json.loads(json.dumps(list(events_of(trace)))))


def apart(plan: Plan) -> Plan:
    """The same calls, none of them in slot 0 or in a slot that another turn uses for one of them: calls that
    work come before them. Who joins by the slot alone, or takes slot 0 for none, loses nothing here."""
    later = [sum(map(len, plan[turn:])) for turn in range(1, len(plan) + 1)]
    return [[(PAD, FINE)] * (1 + more) + turn for more, turn in zip(later, plan, strict=True)]


def many_tools(turns: int = 6, calls: int = 17) -> Plan:
    """Turns in which so many tools fail, every one of them once."""
    failing = [[(f"tool_{turn}_{number}", "broken") for number in range(calls)] for turn in range(turns)]
    return [[(PAD, FINE), *of_a_turn] for of_a_turn in failing]


def reply_of(turn: list[tuple[str, str]], chance: Random) -> Reply:
    """The reply that asks for the calls of a turn, each failing in its way."""
    calls = []
    for name, kind in turn:
        item = json.dumps({"item": f"{kind}-{chance.randrange(10**6)}"})
        raw = {"json": item[:-2], "cut": item[:-2], UNFIT: '{"item": 7}'}.get(kind, item)
        function = {"name": name, "arguments": raw}
        calls.append({"id": f"call_{chance.randrange(10**6)}", "type": "function", "function": function})
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return Reply(message, "length" if turn[-1][1] == "cut" else "tool_calls")


def tool_of(name: str, plan: Plan) -> Tool:
    """A tool that fails as its argument says; one that nobody allows where the plan says so."""

    def work(item: str) -> str:
        kind = item.partition("-")[0]
        if kind in ERRORS:
            raise ERRORS[kind](f"{item} failed")
        return item

    risk = "high" if (name, DENIED) in [call for turn in plan for call in turn] else "safe"
    return Tool(name, f"{name} for an item.", SCHEMA, work, risk=risk)  # type: ignore[arg-type]


def truth(plan: Plan) -> list[Row]:
    """The rows that a plan must give: retries go to the calls that wait for them, in their order."""
    rows: list[Row] = []
    for turn, calls in enumerate(plan, start=1):
        waiting = [row for row in rows if not row["recovered"]]
        for slot, (tool, kind) in enumerate(calls):
            row = next((row for row in waiting if row["tool"] == tool), None)
            if row is not None:
                waiting.remove(row)
                row.update(tries=row["tries"] + 1, recovered=kind == FINE)
            elif kind != FINE:
                code, cause = KINDS[kind]
                rows.append(dict(zip(COLUMNS, (turn, slot, tool, code, cause, 1, False), strict=True)))
    return rows


def frame_of(student: Student, function: str, events: list[Row], columns: Iterable[str]) -> list[Row]:
    found = student.call(function, events).value
    if not isinstance(found, Frame):
        raise Wrong(f"`{function}` did not return a data frame")
    for name in columns:
        if name not in found.columns:
            raise Wrong(f"the data frame has no column `{name}`")
    return [row for row in found.records() if row.get("tool") != PAD]


def same(found: Any, wanted: Any) -> bool:
    """2.0 is 2, as pandas may have it; but True is not 1."""
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def compare(found: list[Row], wanted: list[Row], key: tuple[str, ...], columns: Iterable[str]) -> None:
    """The rows agree in these columns, in whatever order they stand, and there are no others."""
    if len(found) != len(wanted):
        raise Wrong(f"{len(found)} rows came: {'too few' if len(found) < len(wanted) else 'too many'}")
    compare_some(found, wanted, key, columns)


def compare_some(found: list[Row], wanted: list[Row], key: tuple[str, ...], columns: Iterable[str]) -> None:
    """These rows are there and agree in these columns; other cases ask whether there are more."""
    for row in wanted:
        at = [other for other in found if all(same(other[name], row[name]) for name in key)]
        if len(at) != 1:
            raise Wrong(f"a row is missing, or not where it should be: look at {', '.join(key)}")
        for name in columns:
            if not same(at[0][name], row[name]):
                raise Wrong(f"the column `{name}` is not right in a row")


def errors_of(student: Student, events: list[Row]) -> list[Row]:
    """The rows of `find_errors`; a row for a run that ended with an answer costs the cases about it only."""
    return without_answers(frame_of(student, "find_errors", events, COLUMNS))


def without_answers(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("code") != "answer"]


def check_errors(student: Student, chance: Random, plan: Plan, *columns: str) -> None:
    compare(errors_of(student, trace_of(plan, chance)), truth(plan), PLACE, columns)


def seen(student: Student, chance: Random, *others: str) -> list[str]:
    """The kinds of failure that the student's code finds; that it finds every kind is asked elsewhere."""
    found = []
    for kind in ("broken", UNFIT, "cut", *LASTING, *others):
        tool = STRANGE[0] if kind == INVENTED else chance.choice(TOOLS)
        try:
            if errors_of(student, trace_of(apart([[(tool, kind)]]), chance)):
                found.append(kind)
        except Wrong:
            continue
    if not found:
        raise Wrong("a run with one call that failed: no row came, whatever the failure was")
    return found


def all_right(student: Student, chance: Random, plan: Plan) -> bool:
    """Whether the rows of this plan are right in every column."""
    try:
        check_errors(student, chance, plan, *COLUMNS)
    except Wrong:
        return False
    return True


def has_columns(student: Student, chance: Random) -> bool:
    """Whether a run without failures gives a data frame with all columns, which is asked elsewhere."""
    try:
        errors_of(student, trace_of([[(TOOLS[0], FINE)]], chance))
    except Wrong:
        return False
    return True


def has_tools(student: Student, chance: Random) -> bool:
    """Whether `per_tool` gives a data frame with its columns, which is asked elsewhere."""
    try:
        frame_of(student, "per_tool", trace_of([[(TOOLS[0], FINE)]], chance), TOOL_COLUMNS)
    except Wrong:
        return False
    return True


@case(
    points=1,
    hint="The step `result` of a call says how it ended: look at its `error_code`. 0 is a slot.",
    public=True,
)
def one_row_for_each_failure(student: Student, chance: Random) -> None:
    """Each call that failed has one row, with its `turn`, its `slot`, its `tool` and the error's `code`."""
    a, b, c, d = chance.sample(TOOLS, 4)
    for kind in ("broken", "late"):  # both of them, in both orders: if drawn, equal work gets unequal points
        for pair in ([(b, UNFIT), (c, FINE)], [(c, FINE), (b, UNFIT)]):
            check_errors(student, chance, [[*pair, (d, kind), (a, FINE)]], "tool", "code")


@case(points=1, hint="`pd.DataFrame(rows, columns=[...])` has its columns even without rows.", public=True)
def no_row_where_nothing_failed(student: Student, chance: Random) -> None:
    """A run without failures gives a data frame without rows, but with all columns."""
    a, b, c = chance.sample(TOOLS, 3)
    events = trace_of([[(a, FINE), (b, FINE)], [(c, FINE)]], chance)
    if frame_of(student, "find_errors", events, COLUMNS):
        raise Wrong("a row came, and nothing failed")
    if not errors_of(student, trace_of([[(a, FINE), (b, UNFIT), (c, "broken")]], chance)):
        raise Wrong("where two calls failed no row came either")


@case(points=3, hint="Invalid calls have no step `execute`: join by turn and slot, and sort by them.")
def each_failure_in_its_place(student: Student, chance: Random) -> None:
    """What belongs together has the same turn and slot, in whatever order the steps stand, and however many
    steps a call has."""
    kinds = [FINE, UNFIT, "late", DENIED, "broken"]
    calls = list(zip(chance.sample(TOOLS, 5), kinds, strict=True))
    again = [(calls[1][0], FINE), (calls[2][0], FINE)]
    plan = [[*calls[:3], (calls[2][0], "disk")], again, [*calls[3:], (calls[1][0], "missing")]]
    *steps, end = trace_of(plan, chance)
    rows = errors_of(student, [*steps, end])
    if not rows:
        raise Wrong("none of the failures has a row, so there is no place to look at")
    compare_some(truth(plan), rows, ("tool", "code"), ())
    for ordered in (steps[::-1], chance.sample(steps, len(steps))):
        if sorted(map(str, errors_of(student, [*ordered, end]))) != sorted(map(str, rows)):
            raise Wrong("the same steps in another order give other rows")
    later = [
        {**step, "turn": step["turn"] + 3} if isinstance(step.get("turn"), int) else step for step in steps
    ]
    moved = [{**row, "turn": row["turn"] + 3} for row in rows]
    compare(errors_of(student, [*later, end]), moved, PLACE, COLUMNS)
    cut, fine = (calls[0][0], "cut"), (calls[1][0], FINE)
    alone, before_many = (errors_of(student, trace_of([[cut], [fine] * count], chance)) for count in (1, 3))
    if alone != before_many:
        raise Wrong("the calls of another turn change the row of a call that was cut off")


@case(points=3, hint="Which codes do you look for? Take whatever is an error, and not a list of some.")
def every_kind_of_failure(student: Student, chance: Random) -> None:
    """No failure is dropped: of validation, of permission, of a tool."""
    for kinds in (["json", UNFIT, DENIED, "missing"], ["disk", "broken", "late", "missing"]):
        calls = list(zip(chance.sample(TOOLS, 4), kinds, strict=True))
        check_errors(student, chance, apart([[*calls, (STRANGE[2], INVENTED)]]), "tool", "code")
    events, code = trace_of(apart([calls]), chance), f"error_{chance.randrange(100)}"
    recoded(events, 2, code)
    if sum(row["code"] == code for row in errors_of(student, events)) != 1:
        raise Wrong("a failure whose code is not in the table has no row")
    for event in events:
        if event.get("kind") == "tool_call" and event["slot"] == 2:
            event["record"]["name"] = ""
    if sum(row["code"] == code for row in errors_of(student, events)) != 1:
        raise Wrong("a failure of a tool whose name is an empty text has no row")
    if all_right(student, chance, many_tools(2, 5)):  # what belongs to which turn is asked elsewhere
        many = many_tools()
        rows = errors_of(student, trace_of(many, chance, "loop_limit"))
        compare_some(rows, truth(many), PLACE, ("tool", "code"))


def recoded(events: list[Row], slot: int, code: str) -> None:
    """Give the call in this slot another error code."""
    for event in events:
        if event.get("kind") == "result" and event["slot"] == slot:
            event["record"]["error_code"] = code


@case(points=2, hint="One code, one cause; only `cut off` needs a second look.", public=True)
def root_causes(student: Student, chance: Random) -> None:
    """`root_cause` says whose fault it was, as the table of the task has it."""
    kinds = [UNFIT, DENIED, "broken", "late", "missing", "disk"]
    calls = list(zip(chance.sample(TOOLS, 6), kinds, strict=True))
    wanted = dict(KINDS[kind] for kind in [*kinds, INVENTED])
    rows = errors_of(student, trace_of([[*calls, ("teleport", INVENTED)]], chance))
    others = [*(f"{code}_{chance.randrange(100)}" for code in OTHER_CODES), *ENDS]
    wanted |= dict.fromkeys(others, "tool failed")
    events = trace_of([[(TOOLS[0], UNFIT)] * len(others)], chance)
    for slot, code in enumerate(others):
        recoded(events, slot, code)
    rows = [row for row in [*rows, *errors_of(student, events)] if row["code"] in wanted]
    if not rows:
        raise Wrong("none of the failures has a row, so there is no cause to look at")
    for row in rows:  # that all of them come is asked elsewhere
        if row["root_cause"] != wanted[row["code"]]:
            raise Wrong(f"the root cause of `{row['code']}` is not right")
    events = trace_of(apart([[("teleport", INVENTED)]]), chance)
    recoded(events, 1, "invalid_json")
    if any(row["root_cause"] != "bad arguments" for row in errors_of(student, events)):
        raise Wrong("the root cause of `invalid_json` is not right for a tool that does not exist")


@case(points=3, hint="The reply's `finish_reason` is the evidence, and only its last call can be cut off.")
def cut_off_needs_evidence(student: Student, chance: Random) -> None:
    """`cut off` is the cause only for arguments, only in the last call of a reply, and only if that reply's
    `finish_reason` is `length`; text that merely looks so is `bad arguments`."""
    a, b, c, d, e = chance.sample(TOOLS, 5)
    plans: tuple[tuple[str | None, list[tuple[str, str]], set[int]], ...] = (
        ("length", [(a, "json"), (b, UNFIT), (c, "json")], {2}),
        ("length", [(a, FINE), (b, UNFIT)], {1}),
        ("length", [(a, "json")], {0}),
        ("length", [(a, "json"), (b, FINE)], set()),
        ("length", [(a, FINE), (b, "late"), (c, DENIED)], set()),
        ("length", [(a, UNFIT), (b, "json"), (STRANGE[0], INVENTED)], set()),
        ("length", [(a, UNFIT), (b, "broken")], set()),
        ("tool_calls", [(a, "json"), (b, UNFIT), (c, "json")], set()),
        ("stop", [(a, FINE), (b, "json")], set()),
        ("max_tokens", [(a, FINE), (b, "json")], set()),
        (None, [(a, FINE), (b, "json")], set()),
    )
    for reason, calls, cut in plans:
        *steps, end = trace_of(apart([calls, [(d, FINE), (e, UNFIT)]]), chance)
        for event in steps:
            if event.get("reply"):
                event["reply"]["finish_reason"] = reason if event["turn"] == 1 else "tool_calls"
        for ordered in (steps, steps[::-1]) if cut else (steps,):
            rows = errors_of(student, [*ordered, end])
            found = {(row["turn"], row["slot"]) for row in rows if row["root_cause"] == "cut off"}
            if found != {(1, slot + 3) for slot in cut}:
                raise Wrong(f"a reply that ended by {reason}: other calls are `cut off` than should be")
            bad = [row["root_cause"] for row in rows if str(row["code"]).startswith("invalid_")]
            if not bad or set(bad) - {"cut off", "bad arguments"}:
                raise Wrong(
                    f"a reply that ended by {reason}: a cause is neither `cut off` nor `bad arguments`"
                )
    alone = errors_of(student, trace_of([[(a, "cut")]], chance))  # that slot 0 has a row is asked elsewhere
    if any(row["root_cause"] != "cut off" for row in alone):
        raise Wrong("the only call of a reply that ended by length is not `cut off`")


@case(
    points=2,
    hint="Go through the tries in order, and keep for each tool what waits, whatever failed.",
    public=True,
)
def retries_share_a_row(student: Student, chance: Random) -> None:
    """A call and its retries are one row: `tries` counts them, and `recovered` says whether the last one
    worked."""
    found = seen(student, chance, "late", "missing", "disk", "json")
    for fault in found:
        a, b, c = [*STRANGE[:2], TOOLS[0]] if fault == INVENTED else chance.sample(ALIKE, 3)
        later = fault if fault in LASTING else FINE
        other = fault if fault in LASTING else found[0]
        plan = [[(a, fault), (b, fault)], [(a, other)], [(a, fault)], [(c, FINE), (a, fault)]]
        plan = apart([*plan, [(a, later)], [(b, fault)]])
        compare(errors_of(student, trace_of(plan, chance)), truth(plan), ("tool",), ("tries", "recovered"))
    if "broken" in found:  # a call that was not allowed, and was allowed when it came again
        plan = apart([[(a, "broken")], [(a, FINE)]])
        events, wanted = trace_of(plan, chance), truth(plan)
        recoded(events, wanted[0]["slot"], KINDS[DENIED][0])
        compare_some(errors_of(student, events), wanted, ("tool",), ("tries", "recovered"))


@case(points=2, hint="Two calls of one tool can wait at once. A retry comes in a later turn, and in order.")
def retries_of_calls_side_by_side(student: Student, chance: Random) -> None:
    """Where several calls of a tool failed in one turn, their retries come in the same order; a call in the
    same turn is no retry."""
    (a, b), fault = chance.sample(TOOLS, 2), seen(student, chance)[0]
    first = [(a, fault), (b, FINE), (a, FINE), (a, fault)]
    laters = ([[(a, FINE)]], [[(a, FINE)], [(b, FINE), (a, FINE)]], [[(a, FINE), (a, FINE), (a, fault)]])
    slots_9_and_10 = [[(PAD, FINE)] * 7 + [(a, fault)] * 2, [(a, FINE)]]
    for plan in map(apart, [*([first, *later] for later in laters), slots_9_and_10]):
        rows = errors_of(student, trace_of(plan, chance))
        compare_some(rows, truth(plan), PLACE, ("tool", "tries", "recovered"))
    plan = apart([[(a, fault)], [(a, fault), (a, FINE)]])
    compare_some(errors_of(student, trace_of(plan, chance)), truth(plan), PLACE, ("tries", "recovered"))
    for ends in ((FINE, fault), (fault, FINE)):
        rows = errors_of(student, trace_of(apart([first, [(a, ends[0]), (a, ends[1])]]), chance))
        if sorted((row["tries"], bool(row["recovered"])) for row in rows) != [(2, False), (2, True)]:
            raise Wrong("two calls failed, and one of their two retries: the tries are not shared out so")
    for count in (2, MANY) if has_tools(student, chance) else ():
        plan = apart([[(a, fault)] * count])
        check_tools(student, trace_of(plan, chance), plan, "calls", "failed")


@case(points=2, hint="What came first is the cause; a retry may fail for another reason.")
def the_first_failure_is_the_cause(student: Student, chance: Random) -> None:
    """Place, code and root cause are those of the first try, whatever happened to its retries."""
    a, b = chance.sample(TOOLS, 2)
    kinds = [kind for kind in seen(student, chance) if kind not in LASTING] + ["late"]
    for first in kinds:
        plan = [[(b, FINE), (a, first)], *([(a, kind)] for kind in kinds)]
        plan = apart([*plan, [(a, FINE)]])
        alone, failed, recovered = (
            errors_of(student, trace_of(part, chance)) for part in (plan[:1], plan[:-1], plan)
        )
        for rows in (failed, recovered or alone):  # that a call that recovered has a row is asked elsewhere
            compare_some(rows, alone, PLACE, ("tool", "code", "root_cause"))


def long_run(a: str, b: str, fault: str, count: int) -> Plan:
    """Two tools fail. Then a fails this often again, a and b recover, and a fails and recovers once more."""
    again = [[(PAD, FINE), (a, fault)]] * count
    later = [[(PAD, FINE), call] for call in ((a, FINE), (b, FINE), (a, fault), (a, FINE))]
    return [[(b, fault), (a, fault)], *again, *later]


@case(points=2, hint="Once a call has recovered it waits for nothing; the field `attempt` counts otherwise.")
def another_failure_is_another_row(student: Student, chance: Random) -> None:
    """A tool that recovered and fails again later has a second row, in a long run too."""
    (a, b), fault = chance.sample(TOOLS, 2), seen(student, chance)[0]
    plan = [[(a, fault)], [(a, FINE), (b, FINE)], [(a, FINE)], [(b, FINE), (a, fault)], [(b, FINE)]]
    plan = apart(plan)
    rows = errors_of(student, trace_of(plan, chance))
    if sum(row["tool"] == a for row in rows) != 2:
        raise Wrong("a tool that recovered and failed again later does not have two rows")
    if any(row["tries"] > 2 for row in rows):
        raise Wrong("a call that has recovered counts what came after it as a retry")
    longer = errors_of(student, trace_of([[(PAD, FINE), (b, FINE)]] * 8 + plan, chance))
    compare(longer, [{**row, "turn": row["turn"] + 8} for row in rows], PLACE, COLUMNS)
    once, often = (long_run(a, b, fault, count) for count in (1, MANY))
    if all_right(student, chance, once):  # that retries are counted is asked elsewhere
        check_errors(student, chance, often, *COLUMNS)


@case(points=3, hint="Read the last event. A row without a tool is easily lost in a merge or a groupby.")
def how_the_run_ended(student: Student, chance: Random) -> None:
    """A run that ended without an answer has a row of its own: its last turn, no slot, no tool, and the
    outcome as its code."""
    a, b = chance.sample(TOOLS, 2)
    plans = {end: [[(b, FINE)], [(a, UNFIT)]] for end in sorted(ENDS)} | {"loop_limit": [[(b, FINE)]]}
    for end, plan in plans.items():
        *steps, last = trace_of(plan, chance, end)
        turn = max(step["turn"] for step in steps if step["event"] == "step")
        for code, cause in (
            (end, ENDS[end]),
            (f"stopped_{chance.randrange(100)}", "gave up"),
            *((other, "gave up") for other in ("timeout", "no_answer", "model_limit", "io_error")),
        ):
            wanted = dict(zip(COLUMNS, (turn, None, None, code, cause, 1, False), strict=True))
            for ordered in (steps, steps[::-1]):
                rows = errors_of(student, [*ordered, {**last, "outcome": code}])
                compare([row for row in rows if row["slot"] is None], [wanted], PLACE, COLUMNS)
                answered = frame_of(student, "find_errors", [*ordered, {**last, "outcome": "answer"}], ())
                if len(rows) != len(answered) + 1:
                    raise Wrong("with the row of the run another row came or went")
    *steps, last = trace_of([[(b, FINE)]] * 40, chance, "loop_limit")
    for ordered in (steps, steps[::-1]):
        rows = errors_of(student, [*ordered, last])
        if [row["turn"] for row in rows if row["slot"] is None] != [40]:
            raise Wrong("a run of 40 turns: the row of the run does not have its last turn")


@case(
    points=1, hint="There may be no call at all, and events of other kinds: take what you need, and no more."
)
def reads_what_there_is(student: Student, chance: Random) -> None:
    """There are other events and fields, and there may be no call at all: a run of one answer has no row, but
    all columns."""
    a, b, c = chance.sample(TOOLS, 3)
    events = trace_of([], chance)
    columns = COLUMNS if has_columns(student, chance) else ()
    if without_answers(frame_of(student, "find_errors", events, columns)):
        raise Wrong("a run without a call has a row")
    columns = TOOL_COLUMNS if has_tools(student, chance) else ()
    compare(frame_of(student, "per_tool", events, columns), [], ("tool",), ())
    events = trace_of([[(a, FINE), (b, "late"), (c, UNFIT)]], chance)
    other = {"event": "note", "text": "of another kind", "level": chance.randrange(9)}
    if not errors_of(student, [events[0], other, *events[1:-1], other, events[-1]]):
        raise Wrong("with an event of another kind among the steps no row came")


def check_tools(student: Student, events: list[Row], plan: Plan, *columns: str) -> None:
    found = frame_of(student, "per_tool", events, TOOL_COLUMNS)
    names = dict.fromkeys(tool for turn in plan for tool, _ in turn if tool != PAD)
    wanted = []
    for name in names:
        rows = [row for row in truth(plan) if row["tool"] == name]
        tries = sum(tool == name for turn in plan for tool, _ in turn)
        calls = tries - sum(row["tries"] - 1 for row in rows)
        wanted.append({"tool": name, "calls": calls, "failed": sum(not row["recovered"] for row in rows)})
    compare_some(found, wanted, ("tool",), columns)
    if "calls" not in columns:
        compare(found, wanted, ("tool",), columns)


@case(points=2, hint="A retry is no new call: subtract the retries, and those that recovered.", public=True)
def counts_calls_and_not_tries(student: Student, chance: Random) -> None:
    """`per_tool` has one row a tool: `calls` counts a call and its retries once, and `failed` those that
    never came right."""
    a, b = chance.sample(TOOLS, 2)
    found = seen(student, chance)
    for fault in [kind for kind in found if kind not in LASTING]:
        for plan in (
            apart(
                [
                    [(a, fault), (b, fault)],
                    [(a, fault)],
                    [(a, FINE), (b, FINE)],
                    [(a, FINE), (b, fault)],
                    [(b, fault)],
                ]
            ),
            apart([[(a, FINE), (b, fault), (a, fault)], [(b, FINE), (a, FINE), (a, fault)]]),
        ):
            check_tools(student, trace_of(plan, chance), plan, "calls", "failed")
    if DENIED in found and has_tools(student, chance):
        plan = apart([[(a, DENIED), (b, FINE)]])
        check_tools(student, trace_of(plan, chance), plan, "failed")


@case(points=3, hint="Begin with all tries, and not with those that failed. Keep each name as it was called.")
def counts_every_tool(student: Student, chance: Random) -> None:
    """Every tool that was called has a row, those that never failed and those that do not exist as well."""
    a, b, c, d = chance.sample(TOOLS, 4)
    plan = apart([[(a, FINE), (b, UNFIT)], [(STRANGE[2], INVENTED), (c, DENIED)], [(d, FINE)] * 2])
    for end in ("answer", "loop_limit"):
        check_tools(student, trace_of(plan, chance, end), plan, "tool")
    if all_right(student, chance, many_tools(2, 5)):  # what belongs to which turn is asked elsewhere
        many = many_tools()
        check_tools(student, trace_of(many, chance), many, "tool")
