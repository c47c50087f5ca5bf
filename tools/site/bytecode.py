"""Compile what a reader's first minute imports; `bytecode.mjs` runs this in Pyodide.

In the page, to compile a module takes much longer than to run it. Bytecode belongs to one version of Python,
so the Python that will run it compiles it. The bytecode of every module would add 10 MB to the download.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo


def prepare(folder: str, archives: list[str]) -> None:
    """Run the first minute, and compile the modules in these archives that it imported."""
    run_first_minute()
    modules = imported()
    for name in archives:
        add_bytecode(Path(folder, name), modules)


def run_first_minute() -> None:
    """Import what the kernel imports, and do what the first cells of a notebook do."""
    stdout = sys.stdout
    stderr = sys.stderr
    for name in ("micropip", "piplite.piplite", "pyodide_kernel", "zoolab.show.inspector"):
        importlib.import_module(name)
    # The kernel sends what is printed to the page; here is no page.
    sys.stdout = stdout
    sys.stderr = stderr
    from zoolab import model_for, predict, run
    from zoolab.toolbox.catalog import tools_named
    from zoolab.toolbox.starter import add, check_status, get_weather

    tools_named("security")
    predict("How many messages will there be?", [2, 3, 4])
    run("What is 42 + 58?", [add, get_weather, check_status], model_for(None, "starter")).to_html()


def imported() -> set[str]:
    """Return the files of the modules that were imported, from the folder or the archive that they are in.

    >>> {"json/decoder.py", "tools/site/bytecode.py"} <= imported()
    True
    """
    files = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        below = name.count(".") + (2 if file.endswith("/__init__.py") else 1)
        if file.endswith(".py"):
            files.add("/".join(file.split("/")[-below:]))
    return files


def add_bytecode(archive: Path, modules: set[str]) -> None:
    """Put bytecode beside the sources of these modules, if they are in the archive, a wheel or a zip file.

    Python takes it without a look at the source.
    """
    with ZipFile(archive) as before:
        files = {name: before.read(name) for name in before.namelist() if not name.endswith("/")}
    # A module in a wheel is unpacked; Python looks for the bytecode of a module in a zip file beside it.
    cached = importlib.util.cache_from_source if archive.suffix == ".whl" else "{}c".format
    for name in sorted(modules & files.keys()):
        files[cached(name)] = _compiled(name, files[name])
    for name in files:
        if name.endswith(".dist-info/RECORD"):
            files[name] = "".join(f"{each},,\n" for each in files).encode()
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=9) as after:
        for name, data in files.items():
            after.writestr(ZipInfo(name), data, ZIP_DEFLATED)


def _compiled(name: str, source: bytes) -> bytes:
    with TemporaryDirectory() as folder:
        module = Path(folder, "module.py")
        bytecode = Path(folder, "module.pyc")
        module.write_bytes(source)
        unchecked = PycInvalidationMode.UNCHECKED_HASH
        compile(str(module), str(bytecode), name, doraise=True, invalidation_mode=unchecked)
        return bytecode.read_bytes()
