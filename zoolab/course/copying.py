"""The course in a folder of one's own: notebooks, hand-outs of the labs, data sets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from zoolab.datasets.loading import folder as datasets_folder
from zoolab.files import write_whole
from zoolab.grading import lab_names
from zoolab.grading.labs import labs_folder

#: The file that says what was copied into a folder: the path of each file, and the hash of its content.
MANIFEST = ".zoolab-course.json"


@dataclass(frozen=True, slots=True)
class Copied:
    """What `copy_course` did: the files it wrote, and those that it left because somebody changed them."""

    written: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)


def notebooks_folder() -> Path:
    """The folder of the notebooks: beside the package in a checkout, inside it in an installation."""
    package = Path(__file__).resolve().parents[1]
    beside = package.parent / "notebooks"
    return beside if beside.is_dir() else package / "_notebooks"


def course_files() -> Iterator[tuple[Path, str]]:
    """Each file of the course, and its path in the copy. Of a lab that is what students get, and no more."""
    notebooks = notebooks_folder()
    for path in sorted([*notebooks.iterdir(), *notebooks.glob("traffic/*")]):
        if path.suffix in (".ipynb", ".md", ".png", ".jsonl"):
            yield path, f"notebooks/{path.relative_to(notebooks).as_posix()}"
    yield labs_folder() / "README.md", "labs/README.md"
    for lab in lab_names():
        for name in ("README.md", f"{lab}.ipynb"):
            yield labs_folder() / lab / name, f"labs/{lab}/{name}"
    for path in sorted(datasets_folder().rglob("*.*")):
        if path.suffix in (".md", ".jsonl", ".gz", ".toml"):
            yield path, f"datasets/{path.relative_to(datasets_folder()).as_posix()}"


def copy_course(folder: Path) -> Copied:
    """Copy the course into a folder; a file that was changed there stays as it is.

    A file of an earlier copy that nobody changed is replaced by the new one. Raises `OSError` if the folder
    cannot be written.
    """
    manifest, copied = folder / MANIFEST, Copied()
    try:
        before = dict(json.loads(manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        before = {}
    after = dict(before)
    for source, name in course_files():
        target, content = folder / name, source.read_bytes()
        found = sha256(target.read_bytes()).hexdigest() if target.exists() else None
        after[name] = sha256(content).hexdigest()
        if found == after[name]:
            continue
        if found not in (None, before.get(name)):
            copied.kept.append(target)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        copied.written.append(target)
    write_whole(manifest, [json.dumps(after, indent=1)])
    return copied
