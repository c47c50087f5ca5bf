"""Making the data sets again: cases out of templates, and what the plans still lack out of live models."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.datasets.asking import Askers
from tools.datasets.cases import make_cases, read_templates
from tools.datasets.outputs import broken_rows, missing_from, output_id, output_row
from tools.datasets.questions import SEED, outputs_plan
from tools.datasets.reports import reports_made_again
from tools.datasets.traces import all_runs, damage, save_runs
from tools.datasets.trials import trial_row, trials
from zoolab.errors import InvalidInput
from zoolab.files import course_folder
from zoolab.jsontext import encode, encode_line, excerpt
from zoolab.steps.validate import check_arguments
from zoolab.tools import ToolRegistry
from zoolab_connect.faulty.replies import ARGUMENTS, break_arguments
from zoolab_study.datasets.loading import OFFERED, DataSet, lookup, read_rows, rows_of, selection_tools

Row = dict[str, Any]
Tell = Callable[[str], None]

MADE = ("recorded", "seeded", "authored")
_KINDS: dict[str, type] = {"text": str, "number": int, "truth": bool, "list": list, "object": dict}
#: Broken arguments of each seeded fault.
OF_A_FAULT = 5
_CONTRADICTS = ("two_objects", "duplicate_key")


def cases_made_again() -> list[Row]:
    """Return the selection cases, made from their templates.

    >>> cases_made_again()[0]["id"]
    'ping-1'
    """
    here = course_folder("datasets") / "selection-cases"
    domains = {tool: domain for domain, _, tool in (name.partition(".") for name in OFFERED)}
    domains |= {row["name"]: row["domain"] for row in read_rows(here / "tools.jsonl")}
    return make_cases(read_templates(here / "templates.toml"), domains)


def _build_cases(_tell: Tell) -> None:
    """Write the selection cases."""
    _write("selection-cases", cases_made_again())


def _build_reports(_tell: Tell) -> None:
    """Write the endpoint reports."""
    _write("endpoint-reports", reports_made_again())


def _build_outputs(tell: Tell) -> None:
    """Ask what the plan of the selection outputs still lacks."""
    cases = list(rows_of("selection-cases"))
    tools = selection_tools()
    askers = Askers()
    rows = _there("selection-outputs")
    known = {row["id"] for row in rows}
    for case, question, purpose in outputs_plan(cases, tools):
        if output_id(case, question) not in known:
            rows.append(output_row(case, question, purpose, askers, tools))
            tell(f"{rows[-1]['id']}: {rows[-1]['verdict']}")
            _write("selection-outputs", rows)


def _build_broken(_tell: Tell) -> None:
    """Write the broken arguments."""
    _write("broken-arguments", broken_made_again())


def broken_made_again() -> list[Row]:
    """Return the broken arguments: those in the selection outputs, and seeded ones.

    >>> broken_made_again()[-1]["made"]
    'seeded'
    """
    tools = selection_tools()
    recorded = [row for output in rows_of("selection-outputs") for row in broken_rows(output, tools)]
    return [*recorded, *seeded_rows(list(rows_of("selection-cases")), tools)]


def _build_trials(tell: Tell) -> None:
    """Ask what the trials still lack."""
    askers = Askers()
    rows = _there("trials")
    known = {row["id"] for row in rows}
    wanted = trials(list(rows_of("selection-cases")), _there("broken-arguments"), selection_tools())
    for trial in wanted:
        if trial.id not in known:
            rows.append(trial_row(trial, askers))
            tell(f"{trial.id}: {rows[-1]['verdict']}")
            _write("trials", rows)


def _build_traces(tell: Tell) -> None:
    """Make all traces again."""
    here = course_folder("datasets") / "traces"
    rows = save_runs(all_runs(_there("selection-outputs"), selection_tools()), here, tell)
    _write("traces", [*rows, damage(rows[0], here)])


def seeded_rows(cases: Sequence[Mapping[str, Any]], tools: ToolRegistry) -> Iterator[Row]:
    """Yield broken arguments that no model wrote: what was meant, with a fault put in; five of each fault.

    >>> list(seeded_rows([], ToolRegistry()))
    []
    """
    asked = [case for case in cases if case["arguments"]]
    for name in ARGUMENTS:
        chance = random.Random(f"{SEED}/{name}")
        found = (_seeded(name, case, tools, chance.random()) for case in chance.sample(asked, len(asked)))
        for number, row in zip(range(1, OF_A_FAULT + 1), filter(None, found), strict=False):
            yield {**row, "id": f"seeded/{name}/{number}"}


def _seeded(name: str, case: Mapping[str, Any], tools: ToolRegistry, chance: float) -> Row | None:
    tool = tools[case["tool"]]
    raw = break_arguments(name, encode(case["arguments"]), tool.parameters, chance)
    if not isinstance(raw, str) or len(raw) > 10_000:
        return None
    problems = check_arguments(raw, tool).problems
    lost = missing_from(raw, case["arguments"])
    why = "it says two things" if name in _CONTRADICTS else f"not in the text: {', '.join(lost)}"
    recoverable = not lost and name not in _CONTRADICTS
    return (
        {
            "id": "",
            "case": case["id"],
            "prompt": case["prompt"],
            "made": "seeded",
            "model": "none",
            "who": "zoolab.models.Faulty",
            "date": "",
            "settings": {"seed": SEED},
            "protocol": "native",
            "offered": [tool.name],
            "fault": name,
            "tool": tool.name,
            "called": tool.name,
            "slot": 0,
            "schema": tool.parameters,
            "raw": raw,
            "finish_reason": "length" if name == "cut_by_length" else "tool_calls",
            "codes": list(dict.fromkeys(problem.code for problem in problems)),
            "problems": [problem.message for problem in problems],
            "meant": case["arguments"],
            "recoverable": recoverable,
            "why_not": "" if recoverable else why,
        }
        if problems
        else None
    )


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSONL, packed if the name ends in .gz: the same rows give the same bytes.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl.gz"
    >>> write_rows(path, [{"a": 1}]), list(read_rows(path))
    (None, [{'a': 1}])
    """
    data = "".join(encode_line(row) + "\n" for row in rows).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", advice="choose another place") from None


def _there(name: str) -> list[Row]:
    """Return the rows of a data set; none where its file is yet to be made."""
    return list(rows_of(name)) if (course_folder("datasets") / lookup(name).file).is_file() else []


def check_row(data_set: DataSet, row: Row, where: str) -> None:
    """Raise `InvalidInput` if a row does not fit a data set; `where` names the row."""
    missing = [name for name in data_set.columns if name not in row]
    unknown = [name for name in row if name not in data_set.columns]
    if missing or unknown:
        found = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}"
        raise InvalidInput(f"{where} of {data_set.name} {found}", expected=", ".join(data_set.columns))
    for name, kind in data_set.columns.items():
        if not fits(row[name], kind):
            what = f"{where} of {data_set.name}: {name} is {excerpt(row[name])}"
            raise InvalidInput(what, expected=kind or "text")
    if row["made"] not in MADE:
        was = excerpt(row["made"])
        raise InvalidInput(f"{where} of {data_set.name} was made {was}", expected=", ".join(MADE))


def fits(value: object, kind: str) -> bool:
    """Return whether a value is of a kind that datasets.toml names; a kind that ends with ? may be null.

    >>> fits(True, "number"), fits({}, "object"), fits(None, "number?")
    (False, True, True)
    """
    wanted = _KINDS[kind.rstrip("?") or "text"]
    # The schema of a tool is an object that nobody can change: a subclass of dict.
    is_kind = isinstance(value, wanted) if wanted in (dict, list) else type(value) is wanted
    return is_kind or (value is None and kind.endswith("?"))


def _write(name: str, rows: Sequence[Row]) -> None:
    data_set = lookup(name)
    for number, row in enumerate(rows, 1):
        check_row(data_set, row, f"row {number}")
    path = course_folder("datasets") / data_set.file
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, rows)


#: How each data set is made again; each step is told.
BUILDERS: Mapping[str, Callable[[Tell], None]] = {
    "selection-cases": _build_cases,
    "selection-outputs": _build_outputs,
    "broken-arguments": _build_broken,
    "trials": _build_trials,
    "endpoint-reports": _build_reports,
    "traces": _build_traces,
}
