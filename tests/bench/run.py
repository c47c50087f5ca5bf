"""All benchmarks, one after the other: ratios, side by side. Nothing is asserted.

python start.py bench
"""

from __future__ import annotations

import definition
import imports
import loop
import recording
import replay
import validation


def main() -> None:
    """Run them."""
    for bench in (loop, validation, definition, recording, replay, imports):
        print(f"\n== {(bench.__doc__ or '').splitlines()[0]}")
        bench.main()


if __name__ == "__main__":
    main()
