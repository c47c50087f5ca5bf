"""`zoolab course`, `lab`, `labs` and `datasets`: notebooks in JupyterLab, graded labs, data sets."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zoolab.commands.listing import print_json
from zoolab.errors import InvalidInput
from zoolab.extras import needs
from zoolab.files import course_folder, write_whole
from zoolab_course.progress import progress
from zoolab_grader import Lab, lab_names, load_lab
from zoolab_study.datasets.berkeley import fetch_bfcl
from zoolab_study.datasets.loading import DATA_SETS, rows_of

#: The file that says what was copied into a folder: the path of each file, and the hash of its content.
MANIFEST = ".zoolab-course.json"
FIRST = Path("notebooks", "00-can-it-call-tools.ipynb")
#: Where the notebooks are in a checkout.
CHECKOUT = course_folder("notebooks").parent
#: JupyterLab asks the network for news and for newer versions; nobody asked for that.
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
#: A configuration for the JupyterLab that is started here alone: it does not ask whether it may fetch news.
CONFIGURATION = Path(__file__).resolve().parents[1] / "jupyter"
#: Options by which a user says where it begins.
PLACES = {"--notebook-dir", "--ServerApp.root_dir", "--ServerApp.notebook_dir", "--LabApp.default_url"}


def course_files() -> Iterator[tuple[Path, str]]:
    """Yield each file of the course, and its path in the copy. Of a lab that is what students get, and no
    more.
    """
    notebooks = course_folder("notebooks")
    for path in sorted([*notebooks.iterdir(), *notebooks.glob("traffic/*")]):
        if path.suffix in (".ipynb", ".md", ".png", ".jsonl"):
            yield path, f"notebooks/{path.relative_to(notebooks).as_posix()}"
    yield course_folder("labs") / "README.md", "labs/README.md"
    for lab in lab_names():
        for name in ("README.md", f"{lab}.ipynb"):
            path = course_folder("labs") / lab / name
            if path.exists():
                yield path, f"labs/{lab}/{name}"
    for path in sorted(course_folder("datasets").rglob("*.*")):
        if path.suffix in (".md", ".jsonl", ".gz", ".toml"):
            yield path, f"datasets/{path.relative_to(course_folder('datasets')).as_posix()}"


def copy_course(folder: Path) -> tuple[list[Path], list[Path]]:
    """Copy the course into a folder: the files that were written, and those that were changed there and stay.

    A file of an earlier copy that nobody changed is replaced by the new one. Raises `OSError` if the folder
    cannot be written.
    """
    manifest = folder / MANIFEST
    written = list[Path]()
    kept = list[Path]()
    try:
        before = dict(json.loads(manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        before = {}
    after = dict(before)
    for source, name in course_files():
        target = folder / name
        content = source.read_bytes()
        found = sha256(target.read_bytes()).hexdigest() if target.exists() else None
        after[name] = sha256(content).hexdigest()
        if found == after[name]:
            continue
        if found not in (None, before.get(name)):
            kept.append(target)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        written.append(target)
    write_whole(manifest, [json.dumps(after, indent=1)])
    return written, kept


def course(options: argparse.Namespace) -> int:
    """Copy the notebooks, the labs and the data into a folder, and open JupyterLab there."""
    written, kept = copy_course(options.folder)
    for path in kept:
        print(f"{path}: kept, because you have changed it")
    print(f"{options.folder}: {len(written)} files written, {len(kept)} kept", flush=True)
    if options.no_open:
        return 0
    options.more = [str(options.folder / FIRST), *options.more]
    return lab(options)


def lab(options: argparse.Namespace) -> int:
    """Become JupyterLab, so that what ends this process ends it; on Windows wait for it."""
    command = lab_command(options.no_browser, options.port, options.more)
    if not any("ServerApp.root_dir" in word for word in command) and not any(Path().glob("*.ipynb")):
        print(
            "zoolab: there is no notebook here; `zoolab course` copies the course and opens it",
            file=sys.stderr,
        )
    environment = lab_environment()
    sys.stdout.flush()
    if os.name != "nt":
        os.execve(command[0], command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def lab_environment() -> dict[str, str]:
    """Return the environment of JupyterLab: its terminals find `zoolab`, and it does not ask about news."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    places = os.pathsep.join(filter(None, [str(CONFIGURATION), os.environ.get("JUPYTER_CONFIG_PATH")]))
    return {**os.environ, "PATH": path, "JUPYTER_CONFIG_PATH": places}


def lab_command(no_browser: bool, port: int | None, more: Sequence[str]) -> list[str]:
    """Return the command that starts JupyterLab; what `more` says of itself is not said twice."""
    needs("jupyterlab")
    named = [option for option in more if option.endswith(".ipynb") and not option.startswith("-")]
    given = [option for option in more if option not in named]
    own = {option.partition("=")[0] for option in given}
    beside = CHECKOUT / FIRST
    target = Path(named[0]) if named else beside if beside.exists() else FIRST
    if named and not target.exists():
        raise InvalidInput(f"there is no notebook {named[0]}", expected="the path of a .ipynb file")
    usual = [*QUIET, "--ServerApp.contents_manager_class=zoolab_course.contents.Contents"]
    if own & PLACES:
        usual += named[:1]
    elif target.exists():
        # JupyterLab shows the whole course if the notebook is in it, so that links to the labs work.
        notebook = target.resolve()
        courses = (each for each in notebook.parents if each == CHECKOUT or (each / MANIFEST).exists())
        root = next(courses, notebook.parent)
        address = quote(notebook.relative_to(root).as_posix())
        usual += [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{address}"]
    if os.name != "nt":
        # A login shell, which is what else it would start, forgets the PATH that it is given.
        shell = json.dumps({"shell_command": [os.environ.get("SHELL") or "sh"]})
        usual += [f"--ServerApp.terminado_settings={shell}"]
    usual += ["--allow-root"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    usual += ["--no-browser"] if no_browser else []
    usual += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]
    usual = [option for option in usual if option.partition("=")[0] not in own]
    return [sys.executable, "-m", "jupyterlab", *given, *usual]


def labs(options: argparse.Namespace) -> int:
    """Do the action; 1 if a notebook is stale."""
    match options.action:
        case "build":
            stale = _of_the_checkout("building").build_labs(options.labs, options.check)
            for path in stale:
                print(f"{path}: {'stale, run zoolab labs build' if options.check else 'built'}")
            return 1 if options.check and stale else 0
        case "export":
            exported = _of_the_checkout("exports").print_exported
            return int(exported(options.labs, options.format, options.out))
        case "cases":
            return int(_of_the_checkout("wrong_answers").print_findings(options.lab, options.json))
        case "verify":
            return int(_of_the_checkout("seeds").print_verified(options.labs, options.seeds, options.jobs))
        case "handout":
            for path in _of_the_checkout("handout").hand_out(options.lab, options.out):
                print(path)
        case _ if options.json:
            print_json([_as_dict(each) for each in map(load_lab, lab_names())])
        case _:
            for each in map(load_lab, lab_names()):
                size = f"{each.points:g} points, {len(each.cases)} cases, {len(each.public)} of them public"
                print(f"{each.name:<4} {each.title:<24} {size}")
    return 0


def _as_dict(lab: Lab) -> dict[str, Any]:
    counts = {"points": lab.points, "cases": len(lab.cases), "public": len(lab.public)}
    return {"name": lab.name, "title": lab.title, **counts}


def _of_the_checkout(tool: str) -> Any:
    """Return a module of `tools/`; raises `InvalidInput` in an installed package, which has no such
    folder.
    """
    if course_folder("labs").name != "labs":
        what = "the masters, the hidden cases and the wrong answers are not in the package"
        raise InvalidInput(what, advice="give the command in a checkout of zoolab")
    return import_module(f"tools.{tool}")


def datasets(options: argparse.Namespace) -> int:
    """List the data sets, or fetch Berkeley's."""
    if options.action == "fetch":
        print(f"bfcl: {fetch_bfcl()}")
        return 0
    found = {name: Counter(str(row["made"]) for row in rows_of(name)) for name in DATA_SETS}
    if options.json:
        sets = [{"name": name, "what": DATA_SETS[name].what, "made": made} for name, made in found.items()]
        print_json({"folder": str(course_folder("datasets")), "data_sets": sets})
        return 0
    for name, made in found.items():
        counts = ", ".join(f"{count} {name}" for name, count in made.most_common())
        print(f"{name:<18} {DATA_SETS[name].what}: {counts}")
    print(f"in {course_folder('datasets')}")
    return 0


def show_progress(options: argparse.Namespace) -> int:
    """Print how many exercises and labs are right."""
    found = progress(options.folder)
    if options.json:
        print_json({**asdict(found), "folder": str(found.folder)})
    else:
        print(found)
    return 0
