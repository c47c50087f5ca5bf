"""Build the web site.

    python -m tools.site [FOLDER] [--run PATTERN] [--no-lite] [--distribution ADDRESS]

The course runs while the site is built, which takes some minutes. What ran is kept in the folder, and only
the notebooks that changed run again. `--run '01-*'` runs only the notebooks whose names fit.

The first notebooks also run in the reader's browser, in the folder `lite` of the site. For that, Pyodide and
wheels are downloaded once (24 MB). `--no-lite` leaves this out. `--distribution ""` builds a site that makes
no request to another host; its notebooks then have no pandas and no matplotlib.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tools.site.lite import Downloads, build_lite
from tools.site.plan import PLAN
from tools.site.staging import PROJECT, stage
from zoolab.errors import ZoolabError

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Build the site and print where it is; returns the exit code of Sphinx."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="Build the web site.")
    parser.add_argument("folder", nargs="?", type=Path, default=PROJECT / ".site", help="where the site goes")
    parser.add_argument("--run", default="*", help="which notebooks run, for instance 01-*; by default all")
    parser.add_argument("--no-lite", action="store_true", help="leave out the course in the browser")
    parser.add_argument(
        "--distribution",
        default=PLAN["distribution"],
        metavar="ADDRESS",
        help='where browsers load pandas and matplotlib from, by default %(default)s; "" for nowhere',
    )
    given = parser.parse_args(arguments)
    folder: Path = given.folder.resolve()
    sources = folder / "sources"
    extra = folder / "extra"
    site = folder / "html"
    stage(HERE / "pages", sources, extra, run=given.run, lite=not given.no_lite)
    settings = {"nb_execution_cache_path": folder / "ran", "html_extra_path": extra}
    command = [sys.executable, "-m", "sphinx", "--quiet", "--keep-going", "--fail-on-warning"]
    command += ["-c", str(HERE), "-d", str(folder / "doctrees")]
    command += [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    code = subprocess.call([*command, str(sources), str(site)], cwd=PROJECT)
    if code == 0 and not given.no_lite:
        try:
            build_lite(site / "lite", Downloads(folder / "downloads").fetched(), given.distribution)
        except ZoolabError as error:
            print(error, file=sys.stderr)
            return 1
    if code == 0:
        print(site / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
