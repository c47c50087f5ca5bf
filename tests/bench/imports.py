"""`import zoolab`, beside `python -c pass`, in CPU seconds."""

from __future__ import annotations

import resource
import subprocess
import sys
from statistics import median

ROUNDS = 15


def child_seconds(code: str) -> float:
    """CPU seconds of a fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    print()
    for code in ("import zoolab", "from zoolab import tool, walk, run, Trace, Scripted"):
        child_seconds(code)
        pairs = [(child_seconds("pass"), child_seconds(code)) for _ in range(ROUNDS)]
        ratio = median(ours / bare for bare, ours in pairs)
        print(f"{code:<55} {ratio:5.2f} x python -c pass ({median(bare for bare, _ in pairs) * 1e3:.0f} ms)")


if __name__ == "__main__":
    main()
