"""The course in the browser: JupyterLite with Pyodide, and all that its notebooks import.

The site has a Python of its own, so a reader installs nothing, and no server runs any code. All files come
from the site itself, but numpy, pandas and matplotlib: the package index has no builds of them for Pyodide.
Pyodide's distribution has. A cell that imports one of them loads it from there. A site that is built without
the distribution makes no request to any other host, and shows the few cells that need them as comments.
"""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.site.plan import PATHS, PLAN
from tools.site.staging import PROJECT, with_links_of_the_site
from zoolab import plots
from zoolab.errors import InvalidInput

HERE = Path(__file__).resolve().parent
#: What decides whether a requirement holds for Pyodide.
BROWSER = {
    "sys_platform": "emscripten",
    "platform_system": "Emscripten",
    "python_version": PLAN["python"],
    "extra": "",
}
#: What pip does not know that zoolab needs here: the widgets, and requests by the browser.
MORE = {"zoolab": ["anywidget", "ipywidgets", "httpx2-jsfetch"]}
#: The extension that starts Python in the page; the wheels that it cannot do without come with it.
KERNEL = Path(sys.prefix, "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension")
LOCK = "pyodide-lock.json"
#: Libraries that are not in the site, and the names in a cell that need them.
NEEDS = {
    "pandas": {"pd", "pandas", "to_frame"},
    "matplotlib": {"plt", "matplotlib", *(name for name in dir(plots) if name[0].isupper())},
}
LEFT_OUT = "# This site was built without {libraries}, so this cell does not run here."
LOADS = "import {libraries}  # in the browser, a library is loaded when a cell imports it"


@dataclass(frozen=True)
class Downloads:
    """Pyodide and the wheels that the browser needs, in a folder."""

    folder: Path

    @property
    def pyodide(self) -> Path:
        """The package from npm."""
        return self.folder / f"pyodide-{PLAN['pyodide']}.tgz"

    @cached_property
    def wheels(self) -> list[Path]:
        """The wheels from the package index."""
        return sorted(self.folder.glob("*.whl"))

    def found(self) -> Downloads:
        """Return these, if all of them are there; raises `InvalidInput` if not."""
        if not all(map(find_spec, ("jupyterlite_core", "jupyterlite_pyodide_kernel"))):
            raise InvalidInput("JupyterLite is not installed", advice="run: pip install 'zoolab[dev]'")
        named = {
            (canonicalize_name(file.name.split("-")[0]), file.name.split("-")[1]) for file in self.wheels
        }
        wanted = {
            (canonicalize_name(Requirement(each).name), each.partition("==")[2]) for each in PLAN["wheels"]
        }
        if not self.pyodide.is_file() or not wanted <= named:
            raise InvalidInput("Pyodide and the wheels for the browser (24 MB) are not here")
        return self

    def fetched(self) -> Downloads:
        """Return these; what is missing is downloaded from npm and from the package index."""
        try:
            return self.found()
        except InvalidInput:
            self.folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None:
            raise InvalidInput("npm was not found; Pyodide comes from its registry", advice="install Node.js")
        _call(npm, "pack", "--silent", f"pyodide@{PLAN['pyodide']}", cwd=self.folder)
        versions = ["--python-version", PLAN["python"], "--platform", PLAN["platform"], "--platform", "any"]
        tags = ["--implementation", "cp", "--abi", f"cp{PLAN['python'].replace('.', '')}", "--abi", "none"]
        quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
        pip = [sys.executable, "-m", "pip", "download", *quiet, *versions, *tags]
        _call(*pip, "--dest", str(self.folder), *PLAN["wheels"], cwd=self.folder)
        return Downloads(self.folder).found()


def build_lite(site: Path, downloads: Downloads, distribution: str = PLAN["distribution"]) -> Path:
    """Build the Lite site into a new folder, and return that.

    Args:
        site: The folder; what was in it is removed.
        downloads: What the site is made of.
        distribution: The address of Pyodide's distribution, which has numpy, pandas and matplotlib; "" for a
            site without them, which makes no request to another host.
    """
    shutil.rmtree(site, ignore_errors=True)
    with TemporaryDirectory() as name:
        sources = Path(name)
        _stage_notebooks(sources / "files", bool(distribution))
        _stage_python(sources / "static" / "pyodide", downloads, distribution)
        extensions = [_wheel_of(each, downloads.wheels) for each in PLAN["extensions"]]
        (sources / "jupyter-lite.json").write_text(json.dumps(_settings()), encoding="utf-8")
        (sources / "jupyter_lite_config.json").write_text(
            json.dumps(
                {
                    "LiteBuildConfig": {
                        "ignore_sys_prefix": True,
                        "federated_extensions": [str(path) for path in (KERNEL, *extensions)],
                        "contents": [str(sources / "files")],
                        "apps": ["lab"],
                        "no_sourcemaps": True,
                        "no_unused_shared_packages": True,
                    }
                }
            ),
            encoding="utf-8",
        )
        build = [
            sys.executable,
            "-m",
            "jupyterlite_core",
            "build",
            "--lite-dir",
            name,
            "--output-dir",
            str(site),
        ]
        _call(*build, cwd=sources)
    return site


def _call(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-2_000:]
        raise InvalidInput(f"{' '.join(command[:4])} … ended with code {done.returncode}: {said}")


def _settings() -> dict[str, Any]:
    """Return settings: no package is looked for on the index, and no news is asked for."""
    kernel = {"disablePyPIFallback": True, "loadPyodideOptions": {"packages": PLAN["at-start"]}}
    plugins = {"@jupyterlite/pyodide-kernel-extension:kernel": kernel}
    overrides = {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
    }
    data = {"appName": "zoolab", "litePluginSettings": plugins, "settingsOverrides": overrides}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}


def _stage_notebooks(files: Path, has_distribution: bool) -> None:
    copies = [files / path for path in PATHS]
    for copy in copies:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / copy.relative_to(files), copy)
    for copy in copies:
        notebook = json.loads(copy.read_text("utf-8"))
        kernel = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
        notebook["metadata"]["kernelspec"] = kernel
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = with_links_of_the_site("".join(cell["source"]), copy, files)
        prepare_cells(notebook["cells"], has_distribution)
        copy.write_text(json.dumps(notebook, ensure_ascii=False, indent=1), encoding="utf-8")


def prepare_cells(cells: list[dict[str, Any]], has_distribution: bool) -> None:
    """Prepare cells: those that need pandas or matplotlib load it first, or become comments if the site does
    not have it.

    >>> cells = [{"cell_type": "code", "source": code} for code in ("trace.to_frame()", "1 + 1")]
    >>> prepare_cells(cells, has_distribution=False)
    >>> print(cells[0]["source"])
    # This site was built without pandas, so this cell does not run here.
    # trace.to_frame()
    >>> cells[1]["source"]
    '1 + 1'
    """
    lost: dict[str, str] = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        made, used = _names(source)
        libraries = [library for library, names in NEEDS.items() if names & used]
        libraries += [lost[name] for name in used if name in lost and lost[name] not in libraries]
        if not libraries:
            lost = {name: library for name, library in lost.items() if name not in made}
        elif has_distribution:
            cell["source"] = f"{LOADS.format(libraries=', '.join(libraries))}\n{source}"
        else:
            lost |= dict.fromkeys(made, libraries[0])
            told = LEFT_OUT.format(libraries=" and ".join(libraries))
            comments = [f"# {line}".rstrip() for line in source.splitlines()]
            cell["source"] = "\n".join([told, *comments, *_imports_of_zoolab(source)])


def _imports_of_zoolab(source: str) -> list[str]:
    """Return the imports in a cell that work without the libraries; later cells use their names."""
    imports = [each for each in ast.parse(source).body if isinstance(each, ast.ImportFrom)]
    lost = set[str]().union(*NEEDS.values())
    fine = [each for each in imports if lost.isdisjoint(alias.name for alias in each.names)]
    return [ast.unparse(each) for each in fine if re.match(r"zoolab(_\w+)?(\.|$)", str(each.module))]


def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell makes, and all names and attributes in it."""
    tree = ast.parse(source)
    # A comprehension's names are its own.
    assigned = [
        node for each in tree.body if isinstance(each, ast.Assign) for node in ast.walk(each.targets[0])
    ]
    made = {node.id for node in assigned if isinstance(node, ast.Name)}
    made |= {each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    used = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.alias):
            used |= {node.name, node.asname or node.name}
    return made, used


def _stage_python(folder: Path, downloads: Downloads, distribution: str) -> None:
    """Stage Pyodide, the wheels, and the lock file that tells Pyodide what to load for an import."""
    folder.mkdir(parents=True)
    with tarfile.open(downloads.pyodide) as archive:
        for member in archive.getmembers():
            if member.isfile() and Path(member.name).suffix in (".mjs", ".js", ".wasm", ".zip", ".json"):
                member.name = Path(member.name).name
                archive.extract(member, folder, filter="data")
    theirs = json.loads((folder / LOCK).read_text("utf-8"))
    own = sorted((KERNEL / "static" / "pypi").glob("*.whl"))
    kernel = [_wheel_of(name, own) for name in ("ipykernel", "piplite", "pyodide_kernel")]
    for wheel in (*downloads.wheels, *kernel):
        if wheel.name.split("-")[0] not in PLAN["extensions"] or wheel.name.startswith("anywidget"):
            _copy(wheel, folder)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    _call(*build, cwd=PROJECT)
    stand_in = _stand_in(folder)
    _lock(folder, theirs, "")
    _compile(folder)
    if distribution:
        stand_in.unlink()
    _lock(folder, theirs, distribution)


def _copy(wheel: Path, folder: Path) -> None:
    """Copy a wheel without the files that nobody needs in the page."""
    left_out = re.compile("|".join(map(fnmatch.translate, PLAN["left-out"])))
    with ZipFile(wheel) as theirs, ZipFile(folder / wheel.name, "w", ZIP_DEFLATED) as ours:
        for name in theirs.namelist():
            if not left_out.match(name):
                ours.writestr(theirs.getinfo(name), theirs.read(name), ZIP_DEFLATED)


def _lock(folder: Path, theirs: dict[str, Any], distribution: str) -> None:
    """Write the lock file: the wheels in the folder, and what comes from Pyodide's distribution."""
    packages = {each["name"]: each for each in map(_locked, sorted(folder.glob("*.whl")))}
    for name in _closure(PLAN["from-distribution"], theirs["packages"]) if distribution else ():
        package = theirs["packages"][name]
        packages.setdefault(name, {**package, "file_name": distribution + package["file_name"]})
    for name, package in packages.items():
        wanted = {*package["depends"], *MORE.get(name, ())}
        package["depends"] = sorted(wanted & packages.keys())
    (folder / LOCK).write_text(json.dumps({**theirs, "packages": packages}), encoding="utf-8")


def _compile(folder: Path) -> None:
    """Compile the modules that a notebook begins with, by Pyodide itself."""
    node = shutil.which("node")
    if node is None:
        raise InvalidInput("Node.js was not found; it compiles the modules", advice="install Node.js")
    archives = [file.name for file in sorted(folder.iterdir()) if file.suffix in (".whl", ".zip")]
    script = str(HERE / "bytecode.mjs")
    _call(node, script, str(folder), ",".join(PLAN["at-start"]), ",".join(archives), cwd=folder)


def _closure(names: list[str], packages: dict[str, Any]) -> list[str]:
    """Return these packages of a lock file, and all that they need."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found[name] = None
            waiting += packages[name]["depends"]
    return sorted(found)


def _stand_in(folder: Path) -> Path:
    """Make a wheel of `rpds.py`, under the name of the library that it stands for."""
    about = "rpds_py-0.30.0.dist-info"
    files = {
        "rpds.py": (HERE / "rpds.py").read_text("utf-8"),
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: rpds-py\nVersion: 0.30.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: zoolab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/RECORD": "",
    }
    path = folder / "rpds_py-0.30.0-py3-none-any.whl"
    with ZipFile(path, "w", ZIP_DEFLATED) as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def _locked(wheel: Path) -> dict[str, Any]:
    """Return what the lock file says of a wheel."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        text = archive.read(metadata).decode().partition("\n\n")[0]
    fields = [line.partition(": ") for line in text.splitlines()]
    required = [Requirement(value) for name, _, value in fields if name == "Requires-Dist"]
    return {
        "name": canonicalize_name(next(value for name, _, value in fields if name == "Name")),
        "version": next(value for name, _, value in fields if name == "Version"),
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(set(_modules(names))),
        "depends": [
            canonicalize_name(each.name)
            for each in required
            if not each.marker or each.marker.evaluate(BROWSER)
        ],
        "unvendored_tests": False,
    }


def _modules(names: list[str]) -> Iterator[str]:
    """Yield the modules and packages at the top of a wheel."""
    for name in names:
        top, _, below = name.partition("/")
        module = top.partition(".")[0]
        if (
            (below or top.endswith((".py", ".so")))
            and module.isidentifier()
            and not top.endswith((".dist-info", ".data"))
        ):
            yield module


def _wheel_of(name: str, wheels: list[Path]) -> Path:
    return next(wheel for wheel in wheels if wheel.name.startswith(f"{name}-"))
