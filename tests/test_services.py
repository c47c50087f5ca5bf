"""The files for services that no test can reach: they parse, and what they name is there.

Nothing here runs a workflow, a container or Binder. That needs GitHub, Docker and mybinder.org.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def read(path: str) -> str:
    return (PROJECT / path).read_text("utf-8")


def extras_in(text: str) -> set[str]:
    return {name for found in re.findall(r"\[([a-z,]+)\](?=[\"'\s]|$)", text) for name in found.split(",")}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_limits_few_permissions_and_pinned_actions(path: Path) -> None:
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    assert True in workflow, "YAML reads `on` as True"
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"], name
        assert job["timeout-minutes"] <= 60, name
        assert set(job.get("needs", ())) <= workflow["jobs"].keys(), name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert re.fullmatch(r"[\w-]+/[\w./-]+@(v\d+|release/v\d+)", step.get("uses", "a/b@v1")), step
            # A value of the event in a script could be code; it goes through `env`.
            assert "github." not in step.get("run", ""), step


def test_only_a_tag_publishes_and_only_the_last_jobs_may_write() -> None:
    workflow: dict[Any, Any] = yaml.safe_load(read(".github/workflows/publish.yml"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    may_write = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    assert may_write == {
        "pypi": {"id-token": "write"},
        "pages": {"pages": "write", "id-token": "write"},
    }
    for name in may_write:
        assert set(workflow["jobs"][name]["needs"]) == {"wheel", "site"}
    assert "tools.site" in read(".github/workflows/publish.yml")
    assert (PROJECT / "tools" / "site" / "__main__.py").is_file()


def test_the_devcontainer_opens_a_notebook_that_exists() -> None:
    settings = json.loads(read(".devcontainer/devcontainer.json"))
    for name in settings["customizations"]["codespaces"]["openFiles"]:
        assert (PROJECT / name).is_file()
    assert shlex.split(settings["postCreateCommand"])[0] == "pip"
    assert extras_in(settings["postCreateCommand"]) <= EXTRAS.keys()


def test_the_image_and_binder_install_extras_that_exist() -> None:
    for name in (".devcontainer/Dockerfile", ".binder/requirements.txt"):
        assert extras_in(read(name)) == {"course"}
    assert EXTRAS["course"]
    assert re.fullmatch(r"python-3\.1[1-4]\n", read(".binder/runtime.txt"))


def test_the_dockerfile_has_known_instructions_and_no_secret() -> None:
    text = re.sub(r"\\\n", " ", read(".devcontainer/Dockerfile"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [line.split()[0] for line in lines] == ["FROM", "COPY", "RUN", "WORKDIR"]
    assert "latest" not in lines[0]
    assert ".git\n" in read(".dockerignore")
