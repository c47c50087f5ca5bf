"""Build the web site.

    python -m tools.site [FOLDER] [--run PATTERN]

The course runs while the site is built, which takes some minutes. What ran is kept in the folder, and only
the notebooks that changed run again. `--run '01-*'` runs only the notebooks whose names fit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tools.site.staging import PROJECT, stage

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Build the site and print where it is; returns the exit code of Sphinx."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="Build the web site.")
    parser.add_argument("folder", nargs="?", type=Path, default=PROJECT / ".site", help="where the site goes")
    parser.add_argument("--run", default="*", help="which notebooks run, for instance 01-*; by default all")
    given = parser.parse_args(arguments)
    folder: Path = given.folder.resolve()
    sources, extra, site = folder / "sources", folder / "extra", folder / "html"
    stage(HERE / "pages", sources, extra, run=given.run)
    settings = {"nb_execution_cache_path": folder / "ran", "html_extra_path": extra}
    command = [sys.executable, "-m", "sphinx", "--quiet", "--keep-going", "--fail-on-warning"]
    command += ["-c", str(HERE), "-d", str(folder / "doctrees")]
    command += [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    code = subprocess.call([*command, str(sources), str(site)], cwd=PROJECT)
    if code == 0:
        print(site / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
