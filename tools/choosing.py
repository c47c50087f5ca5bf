"""Choose the wrong answers that a lab keeps: at most three are kept for a case.

python -m tools.choosing              # for each lab, the wrong answers beyond that
python -m tools.choosing l1 --write   # take them out of `wrong.toml`

A case is tested by wrong answers that it alone fails, changed in different places. More of them show nothing
new: `python -m tools.mutation` draws small changes of right answers. If a case has fewer than three such
answers, those that cost few other cases are kept for it. An answer that says `why_so_many` is for no single
case, and stays.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tools.wrong_answers import WrongAnswer, right_answers, wrong_answers
from zoolab_grader import lab_names, load_lab
from zoolab_grader.labs import folder_of
from zoolab_grader.submissions import read_cells

#: How many wrong answers are kept for a case.
MOST = 3


def chosen(answers: Iterable[WrongAnswer], cases: Sequence[str], right: Collection[str] = ()) -> list[str]:
    """Return the names of the answers to keep, in their order; `right` are the lines of right answers.

    >>> made = [WrongAnswer(f"w{n}", "", f"x = {n}", frozenset({"a"}), True) for n in range(5)]
    >>> wide = WrongAnswer("wide", "", "", frozenset({"a", "b"}), True)
    >>> chosen([*made, wide], ["a", "b"])
    ['w0', 'w1', 'w2', 'wide']
    """
    given = [*answers]
    kept = {each.name: each for each in given if each.why_so_many}
    for pointed in (True, False):
        for case in cases:
            of_case = [each for each in given if case in each.fails and not each.why_so_many]
            found = [each for each in of_case if not pointed or _cost(each) == (False, 1)]
            have = sum(each.name in kept for each in of_case)
            for each in _in_order([each for each in found if each.name not in kept], right)[
                : max(0, MOST - have)
            ]:
                kept[each.name] = each
    return [each.name for each in given if each.name in kept]


def _cost(answer: WrongAnswer) -> tuple[bool, int]:
    """Return whether more cases than it names may fail, and how many it names."""
    return not answer.only, len(answer.fails)


def _in_order(found: Sequence[WrongAnswer], right: Collection[str]) -> list[WrongAnswer]:
    """Return the answers that cost the fewest cases first; of these, one from each place before a
    second one.
    """
    met: dict[frozenset[str], int] = {}
    ranked: list[tuple[tuple[bool, int], int, WrongAnswer]] = []
    for answer in found:
        place = frozenset(right) - frozenset(answer.code.split("\n"))
        ranked.append((_cost(answer), met.get(place, 0), answer))
        met[place] = met.get(place, 0) + 1
    return [answer for _, _, answer in sorted(ranked, key=lambda each: each[:2])]


def surplus(lab: str) -> list[str]:
    """Return the names of the wrong answers of a lab that no case needs."""
    answers = wrong_answers(lab)
    right = {line for path in right_answers(lab).values() for line in "\n".join(read_cells(path)).split("\n")}
    kept = chosen(answers.values(), [case.name for case in load_lab(lab).cases], right)
    return [name for name in answers if name not in kept]


def without(text: str, names: Collection[str], tables: Mapping[str, object]) -> str:
    """Return the text of a `wrong.toml` without the tables of these names.

    >>> print(without("of = 1\\n\\n[a]\\nx = 1\\n\\n[b]\\nx = 2\\n", ["a"], {"of": 1, "a": {}, "b": {}}))
    of = 1
    <BLANKLINE>
    [b]
    x = 2
    <BLANKLINE>
    """
    heads = "|".join(re.escape(name) for name, table in tables.items() if isinstance(table, dict))
    head, *parts = re.split(rf'^(?=\["?(?:{heads})"?\]$)', text, flags=re.MULTILINE)
    kept = [part for part in parts if part.partition("]")[0].strip('["') not in names]
    return f"{''.join((head, *kept)).rstrip()}\n"


def main(arguments: Sequence[str]) -> int:
    """Print, or take out, the wrong answers that no case needs. Return 1 if there are any and they stay."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.choosing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lab", nargs="*", help="a lab; all of them by default")
    parser.add_argument("--write", action="store_true", help="take them out of wrong.toml")
    options = parser.parse_args(arguments)
    stay = 0
    for lab in options.lab or lab_names():
        beyond = surplus(lab)
        count = len(wrong_answers(lab))
        print(
            f"{lab}: {count} wrong answers, {len(beyond)} beyond {MOST} a case: {', '.join(beyond) or 'none'}"
        )
        if options.write and beyond:
            _take_out(folder_of(lab) / "wrong.toml", beyond)
        else:
            stay += len(beyond)
    return 1 if stay else 0


def _take_out(file: Path, names: Collection[str]) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(without(text, names, tomllib.loads(text)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
