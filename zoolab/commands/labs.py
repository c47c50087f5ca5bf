"""`zoolab labs`: the graded labs of the course."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from zoolab.grading import lab_names, load_lab
from zoolab.grading.building import build_labs
from zoolab.grading.export import export_labs
from zoolab.grading.status import status_lines, status_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="the labs, with their points")
    status = actions.add_parser("status", help="what you have earned of the checklist, by your notebooks")
    status.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="by default the current one")
    status.add_argument("--json", action="store_true", help="for machines")
    build = actions.add_parser("build", help="make the notebooks of the labs from their masters")
    build.add_argument("labs", nargs="*", metavar="LAB", help="names, or folders of your own; by default all")
    build.add_argument("--check", action="store_true", help="write nothing; exit 1 if one is stale")
    export = actions.add_parser("export", help="the public cases of labs, for otter-grader or nbgrader")
    export.add_argument("labs", nargs="*", metavar="LAB", help="by default all")
    export.add_argument("--format", required=True, choices=("otter", "nbgrader"), help="for whose tools")
    export.add_argument("--out", required=True, type=Path, metavar="DIR", help="where to write")


def run(options: argparse.Namespace) -> int:
    """Do the action; 1 if a notebook is stale, or the checklist is not done."""
    match options.action:
        case "status":
            status = status_of(options.folder)
            print(json.dumps(status.as_json(), indent=2) if options.json else "\n".join(status_lines(status)))
            return 0 if status.done else 1
        case "build":
            stale = build_labs(options.labs, options.check)
            for path in stale:
                print(f"{path}: {'stale, run zoolab labs build' if options.check else 'built'}")
            return 1 if options.check and stale else 0
        case "export":
            for path in export_labs(options.labs, options.format, options.out):
                print(path)
            print("These tools decide in the student's process; `zoolab grade` does not.")
        case _:
            for lab in map(load_lab, lab_names()):
                public = sum(case.public for case in lab.cases)
                size = f"{lab.points:g} points, {len(lab.cases)} cases, {public} of them public"
                print(f"{lab.name:<4} {lab.title:<24} {size}")
    return 0
