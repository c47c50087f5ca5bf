"""What is installed is the wheel, not the checkout: it must hold all that zoolab needs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from zoolab.files import course_folder
from zoolab_grader import lab_names, load_lab

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The wheel, built and unpacked into a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(
        build, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"}
    )
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize(
    "name",
    [
        *("py.typed", "models/recordings/starter.jsonl", "models/recordings/qwen-tasks.jsonl.gz"),
        *("show/story.css", "text/ground.css", "loop/__init__.py", "show/inspector/static_page.html"),
        *("toolbox/worlds.json", "../zoolab_connect/faulty/faults.toml", "../zoolab_connect/otel.toml"),
        *("../zoolab_course/weights.toml", "../zoolab_course/worlds/shop.sql", "../zoolab_course/py.typed"),
        *("../zoolab_grader/SECURITY.md", "../zoolab_study/experiment.schema.json"),
    ],
)
def test_it_holds_the_package_and_its_data(installed, name):
    assert (installed / "zoolab" / name).is_file()


def test_it_holds_nothing_else(installed):
    assert sorted(path.name.partition("-")[0] for path in installed.iterdir()) == [
        *("zoolab", "zoolab", "zoolab_connect", "zoolab_course", "zoolab_grader", "zoolab_study")
    ]


def test_a_lab_comes_without_its_answers(installed):
    labs = installed / "zoolab" / "_labs"
    assert {path.name for path in (labs / "l1").iterdir()} == {"README.md", "cases.py", "l1.ipynb"}
    # sentences.toml names the hidden cases
    assert {path.name for path in labs.iterdir() if path.is_file()} == {"README.md"}


def test_it_holds_the_course_and_copies_it(installed, tmp_path):
    course = [sys.executable, "-m", "zoolab", "course", "mine", "--no-open"]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    subprocess.run(course, cwd=tmp_path, env=env, capture_output=True, check=True)
    for folder in ("notebooks", "labs"):
        here = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.ipynb")}
        there = {
            path.relative_to(tmp_path / "mine") for path in (tmp_path / "mine" / folder).rglob("*.ipynb")
        }
        assert there == {
            path for path in here if path.name != "solution.ipynb" and ".ipynb_" not in str(path)
        }
    shipped = installed / "zoolab" / "_notebooks"
    assert not [*shipped.glob("*.py"), *shipped.glob("teaching")]
    assert (tmp_path / "mine" / "notebooks" / "LICENSE.md").is_file()
    assert len([*(tmp_path / "mine" / "notebooks" / "traffic").glob("*.jsonl")]) == 2


def test_it_names_the_licences_of_code_and_text(installed):
    [info] = installed.glob("zoolab-*.dist-info")
    assert "License-Expression: Apache-2.0 AND CC-BY-4.0\n" in (info / "METADATA").read_text("utf-8")
    assert {path.name for path in (info / "licenses").rglob("*.*")} == {"LICENSE.md"}
    assert (info / "licenses" / "LICENSE").is_file()


def test_its_labs_have_the_public_cases_only(installed):
    for name in lab_names():
        lab, text = load_lab(name), (installed / "zoolab" / "_labs" / name / "cases.py").read_text("utf-8")
        assert [case.name for case in lab.cases if f"def {case.name}(" in text] == [
            c.name for c in lab.public
        ]


def test_check_and_grade_work_there_with_the_public_cases(installed, tmp_path):
    solution = course_folder("labs") / "l1" / "solution.ipynb"
    public = load_lab("l1").public
    code = f"from zoolab import check; print(check('l1', {str(solution)!r}))"
    env = {**os.environ, "PYTHONPATH": str(installed)}
    checked = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert checked.stdout.count("passed") == len(public), checked.stderr
    grade = [sys.executable, "-m", "zoolab", "grade", "l1", str(solution), "--jobs", "1"]
    graded = subprocess.run(grade, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    points = sum(case.points for case in public)
    assert f"solution.ipynb  {points} of {points}" in graded.stdout, graded.stderr
    assert "all cases of l1 are public here; its hidden ones are in a checkout of zoolab" in graded.stdout


def test_answers_of_labs_are_verified_in_a_checkout_only(installed, tmp_path):
    verify = [sys.executable, "-m", "zoolab", "labs", "verify"]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    said = subprocess.run(verify, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "the hidden cases and the wrong answers are not in the package" in said.stderr
    assert said.stderr.count("\n") == 1


def test_it_walks_from_there(installed, tmp_path):
    walk = [sys.executable, "-m", "zoolab", "walk", "What is 42 + 58?"]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(walk, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "is 100." in done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import zoolab; print(zoolab.__file__)"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert where.stdout.startswith(str(installed))
