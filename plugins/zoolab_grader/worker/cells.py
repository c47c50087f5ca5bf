"""Reads a cell as IPython reads it, and gives plain Python: what is not Python does nothing.

It follows `IPython.core.inputtransformer2`, with the standard library only: a grade must not depend on
whether IPython is installed, or which one. `tests/test_grading_cells.py` compares the two. Nothing is
compiled here, and each line is read once.
"""

from __future__ import annotations

import keyword
import re
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

#: The name in the cells of the function that makes what a command printed: nothing.
OUTPUT = "__zoolab_output__"
#: The name in the cells of the modules that they write.
WRITTEN = "__zoolab_written__"

#: Magics that run the rest of the line, or the rest of the cell, as Python.
_RUN_LINE = frozenset(("time", "prun"))
_RUN_CELL = frozenset(("time", "prun", "capture"))
#: Options of `%prun` that take a value, and those of `%%capture` that take none.
_VALUED = frozenset(("-l", "-s", "-T", "-D"))
#: What is assigned from a magic that has not run.
_RESULTS = {
    "pwd": "''",
    "who_ls": "[]",
    "sx": f"{OUTPUT}(0)",
    "system": f"{OUTPUT}(0)",
    "timeit": f"{OUTPUT}(0)",
}
#: Magics that a cell of one line may begin with, without a percent sign.
_BARE = frozenset(
    (
        *("autoreload", "conda", "config", "env", "load_ext", "mamba", "matplotlib", "pip", "reload_ext"),
        *("cat", "cd", "cp", "ls", "mkdir", "mv", "pwd", "rm", "uv"),
        *("prun", "run", "time", "timeit", "who", "whos"),
    )
)
_MOST_CELL_MAGICS = 20
#: What follows a magic that writes the cell to a file of Python, and what a file to run is called.
_MODULE = re.compile(r"(?P<append>-a\s+|--append\s+)?(?P<quote>[\"']?)(?P<path>[\w./-]+)\.py(?P=quote)")
_RUN = re.compile(r"(?:-[a-z]\s+)*(?P<quote>[\"']?)(?P<path>[\w./-]+)\.py(?P=quote)(?:\s.*)?")

_ESCAPES = tuple("!?%,;/")
_HELP = re.compile(r"(%{0,2}(?!\d)[\w*]+(\.(?!\d)[\w*]+|\[-?[0-9]+\])*)(\?\??)$")
_SPECIAL = re.compile(r"^[ \t\f]*+[!?%,;/]|\?[ \t]*+$|=[ \t]*+[!%]", re.MULTILINE)
_ONE_WORD = re.compile(r"([a-z_]+)(?:[ \t]+[\w.\"'/~$@].*)?")
_PS1 = re.compile(r"\s*>>>[ \t]?")
_PS2 = re.compile(r"\s*\.\.\.[ \t]?")
_TRIPLE = re.compile(r"(?<!\\)(\"\"\"|''')")
_IPYTHON = re.compile(r"^((((\[nav\]|\[ins\])? )?In \[\d+\]: )|(\s*\.{3,}: ?))")
_ENV = re.compile(r"(\w+)(?:\s*=\s*|\s+)([^{}$]+)")
_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")
_COMPARED = frozenset(("==", "!=", "<=", ">="))
#: Keywords that an expression may begin with.
_VALUES = frozenset(("None", "True", "False", "not", "lambda", "await"))
_INDENTS = frozenset((tokenize.INDENT, tokenize.DEDENT))
#: What the tokeniser raises; the cell is no Python then, and compiling it says why.
_NO_TOKENS = (tokenize.TokenError, SyntaxError, ValueError, StopIteration)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Lines of a cell that do nothing: the number of the first, its text, and how many they are."""

    line: int
    text: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class PlainCell:
    """A cell as Python, line for line, and what was left out."""

    code: str
    left_out: tuple[LeftOut, ...] = ()
    #: The path of the module that the code is written to, without `.py`; it runs when it is imported or run.
    module: str = field(default="", repr=False)
    #: Whether it is written behind what the module has already.
    appended: bool = field(default=False, repr=False)


def without_magics(cell: str) -> str:
    """Return the Python of a cell.

    >>> without_magics("!pip install a \\\\\\n  b\\nx = 1\\n")
    'pass\\n\\nx = 1\\n'
    """
    return read_cell(cell).code


def read_cell(cell: str) -> PlainCell:
    """Read a cell.

    >>> read_cell("%time x = 1\\n%matplotlib inline\\n")
    PlainCell(code='x = 1\\npass\\n', left_out=(LeftOut(line=2, text='%matplotlib inline', lines=1),))
    """
    return _Reading().read(cell.replace("\r\n", "\n").replace("\r", "\n"))


class _Reading:
    """The reading of one cell."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._left: list[LeftOut] = []
        self._module: re.Match[str] | None = None

    def read(self, cell: str) -> PlainCell:
        """Read the magics at the head of the cell, then its lines."""
        text = self._below_cell_magics(cell if cell.endswith("\n") else f"{cell}\n")
        if _SPECIAL.search(text):
            self._read_lines(_lines_of(text))
        else:
            self._done.append(text)
        code = "".join(self._done)
        code = code if cell.endswith("\n") else code.removesuffix("\n")
        if self._module:
            return PlainCell(code, module=self._module["path"], appended=self._module["append"] is not None)
        return PlainCell(code, tuple(self._left))

    def _below_cell_magics(self, text: str) -> str:
        """Return the part of the cell that is read line by line."""
        for _ in range(_MOST_CELL_MAGICS):
            text = _tidied(text)
            start = len(text) - len(text.lstrip("\n"))
            magic, _, rest = text[start:].partition("\n")
            if not magic.startswith("%%") or re.match(r"%%\w+\?", magic):
                word = _ONE_WORD.fullmatch(magic) if not rest.strip() else None
                bare = word is not None and word[1] in _BARE
                return f"{text[:start]}{'%' * bare}{text[start:]}"
            self._done.append("\n" * start)
            name, _, words = magic[2:].rstrip().partition(" ")
            if name in ("writefile", "file") and (module := _MODULE.fullmatch(words.strip())):
                self._module = module
                self._done.append(f"\n{rest}")
                return ""
            first = _first_line(name, words)
            if first is None:
                self._leave_out(magic, 1 + len(_lines_of(rest)), start + 1)
                return ""
            self._done.append(f"{first}\n")
            text = rest
        return text

    def _read_lines(self, lines: list[str]) -> None:
        at = 0
        above = "".join(self._done).count("\n")
        while at < len(lines):
            begins = lines[at].lstrip(" \t\f")[:1]
            if begins in _ESCAPES:
                at = self._escaped(lines, at, above)
            elif begins in ("", "\n", "#") or lines[at].strip(" \t\f") == "\\\n":
                self._done.append(lines[at])
                at += 1
            else:
                at = self._statement(lines, at, above)

    def _escaped(self, lines: list[str], at: int, above: int) -> int:
        """Read a command such as `%magic`, `!command`, `?help` or `,call`; returns the row after it."""
        column = len(lines[at]) - len(lines[at].lstrip(" \t\f"))
        end = _continued(lines, at)
        text = _joined(lines, at, column, end)
        asks = _HELP.search(lines[end - 1].rstrip("\n")) and _Statement(lines, at).helps
        python = None if asks else _python_of(text)
        if text.startswith("%run ") and (file := _RUN.fullmatch(text[5:].strip())):
            python = f"{WRITTEN}.run({file['path']!r}, {above + at + 1}, {text!r})"
        if python is None:
            python = "pass"
            self._left.append(LeftOut(above + at + 1, text, end - at))
        self._done += [lines[at][:column], python, "\n" * (end - at)]
        return end

    def _statement(self, lines: list[str], at: int, above: int) -> int:
        """Read a statement of Python, or one that ends in `= %magic`, `= !command` or `?`."""
        found = _Statement(lines, at)
        if found.broken:
            self._done += lines[at:]
            return len(lines)
        whole = "".join(lines[at : found.end])
        if found.helps and _HELP.search(whole.rstrip("\n")):
            indent = whole[: len(whole) - len(whole.lstrip(" \t\f"))]
            self._left.append(LeftOut(above + at + 1, whole.strip(), found.end - at))
            self._done += [indent, "pass", "\n" * (found.end - at)]
            return found.end
        if found.assigned is None:
            self._done.append(whole)
            return found.end
        row, column = found.assigned
        end = _continued(lines, row)
        text = _joined(lines, row, column, end)
        ran, value = _value_of(text, found.targets)
        if not ran:
            self._left.append(LeftOut(above + at + 1, "".join(lines[at:end]).strip(), end - at))
        self._done += [*lines[at:row], lines[row][:column], value, "\n" * (end - row)]
        return end

    def _leave_out(self, text: str, count: int, line: int) -> None:
        self._left.append(LeftOut(line, text, count))
        self._done.append("\n" * count)


class _Statement:
    """The logical line that begins at a row: where it ends, and what of IPython's is in it."""

    def __init__(self, lines: list[str], at: int) -> None:
        self.end = at + 1
        #: Row and column of the `%` or `!` that is assigned.
        self.assigned: tuple[int, int] | None = None
        #: How many values it is unpacked to, at least.
        self.targets = 0
        #: Whether its last token is a question mark.
        self.helps = False
        #: Whether the tokeniser cannot read it. Nothing after it is read then, as in IPython.
        self.broken = False
        self._last = ["", ""]
        following = (lines[row] for row in range(at, len(lines)))
        try:
            self._read(tokenize.generate_tokens(lambda: next(following, "")), at)
        except _NO_TOKENS:
            if self._last == ["?", "\n"]:  # IPython takes an open bracket and what follows for help, too
                self.end = len(lines)
                self.helps = True
            else:
                self.broken = self.assigned is None

    def _read(self, tokens: Iterator[tokenize.TokenInfo], at: int) -> None:
        depth = commas = stars = 0
        in_target = True
        assigns = False
        for token in tokens:
            text = token.string
            row = token.start[0]
            if token.type in _INDENTS or (text.isspace() and text != "\n"):
                continue
            if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and depth <= 0):
                self.end = at + row
                self.helps = self._last[1] == "?"
                return
            if token.type == tokenize.ENDMARKER:
                self.end = at + max(1, row - 1)
                return
            special = assigns and not token.line.strip().startswith("=")
            if special and (text == "!" or (text == "%" and next(tokens).type == tokenize.NAME)):
                self.assigned = at + row - 1, token.start[1]
                self.targets = commas + 1 - stars if commas else 0
            assigns = in_target and depth == 0 and text == "="
            in_target = in_target and not assigns
            commas += in_target and depth == 0 and text == ","
            stars += in_target and depth == 0 and text == "*"
            depth += (text in _OPEN) - (text in _CLOSE and depth > 0)
            self._last = [self._last[1], text]


def _tidied(text: str) -> str:
    """Return the cell without common indentation and without the prompts of a session that was pasted."""
    start = len(text) - len(text.lstrip())
    blank = text.count("\n", 0, start)
    text = textwrap.dedent(text[text.rfind("\n", 0, start) + 1 :])
    if ">>>" in text:
        text = _without_python_prompts(text)
    first, _, rest = text.partition("\n")
    if _IPYTHON.match(first) or _IPYTHON.match(rest.partition("\n")[0]):
        text = "".join(_IPYTHON.sub("", line, count=1) for line in _lines_of(text))
    return "\n" * blank + text


def _without_python_prompts(text: str) -> str:
    lines = _lines_of(text)
    inside = _in_texts(lines)
    if not any(_PS1.match(line) for line, kept in zip(lines, inside, strict=True) if not kept):
        return text
    done: list[str] = []
    part: list[str] = []
    for line, kept in zip(lines, inside, strict=True):
        if kept:
            done += [textwrap.dedent("".join(part)), line]
            part = []
        else:
            part.append((_PS1 if _PS1.match(line) else _PS2).sub("", line, count=1))
    return "".join([*done, textwrap.dedent("".join(part))])


def _in_texts(lines: list[str]) -> list[bool]:
    """Return whether each line begins within a text in three quotes that was not typed at a prompt."""
    inside: list[bool] = []
    quote = ""
    kept = False
    for line in lines:
        inside.append(quote != "" and kept)
        for found in _TRIPLE.finditer(line):
            if not quote:
                quote = found[1]
                kept = not (_PS1.match(line) or _PS2.match(line))
            elif quote == found[1]:
                quote = ""
    return inside


def _lines_of(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


def _continued(lines: list[str], row: int) -> int:
    """Return the row after a line that backslashes continue."""
    while row < len(lines) and lines[row].endswith("\\\n"):
        row += 1
    return min(row + 1, len(lines))


def _joined(lines: list[str], row: int, column: int, end: int) -> str:
    first, *rest = lines[row:end]
    *before, last = [first[column:], *rest]
    return " ".join([*(line.rstrip()[:-1] for line in before), last.rstrip()])


def _first_line(name: str, words: str) -> str | None:
    """Return what stands for a cell magic; None if the notebook does not run the cell below it as its own."""
    if name not in _RUN_CELL:
        return None
    if name == "prun":
        return (_statement_of(_after_options(words)) if words else "") or "pass"
    named = [word for word in words.split() if not word.startswith("-")]
    if name == "capture":
        return f"{named[0]} = {OUTPUT}(0)" if named and named[0].isidentifier() else "pass"
    return None if named else "pass"


def _python_of(command: str) -> str | None:
    """Return the Python of a line that begins with an escape; None if it does nothing here."""
    escape = command[:1]
    content = command[1:]
    name, _, words = content.partition(" ")
    if escape == "%":
        return _run_by(name, words)
    if escape in "!?":
        return None
    if escape == "/" and not name:
        return command  # IPython does not read it either: an error of syntax
    if escape == ",":
        between = '", "'.join(words.split())
        return f'{name}("{between}")'
    return f'{name}("{words}")' if escape == ";" else f"{name}({', '.join(words.split())})"


def _run_by(magic: str, words: str) -> str | None:
    """Return the statement that a line magic runs; None if it runs none, or more than one line."""
    if magic in ("env", "set_env") and (found := _ENV.fullmatch(words.strip())):
        return f"__import__('os').environ[{found[1]!r}] = {found[2].strip()!r}"
    if magic not in _RUN_LINE:
        return None
    return _statement_of(_after_options(words)) or None


def _value_of(command: str, targets: int) -> tuple[bool, str]:
    """Return what is assigned from a command, and whether the command was run."""
    if command.startswith("!"):
        return False, f"{OUTPUT}({targets})"
    name, _, words = command[1:].partition(" ")
    expression = _statement_of(_after_options(words)) if name == "time" else ""
    if expression and _is_expression(expression):
        return True, f"({expression})"
    if name == "env":
        return False, "''" if words else "dict(__import__('os').environ)"
    return False, _RESULTS.get(name, "None")


def _after_options(words: str) -> str:
    """Return what a magic runs, without its options."""
    rest = words.strip()
    while rest.startswith("-"):
        option, _, rest = rest.partition(" ")
        if option in _VALUED:
            _, _, rest = rest.lstrip().partition(" ")
        rest = rest.lstrip()
    return rest


def _statement_of(text: str) -> str:
    """Return a statement that a magic runs, as Python; empty if it is none, or does not end in its line."""
    for _ in range(_MOST_CELL_MAGICS):
        if not text.startswith(_ESCAPES):
            break
        text = _python_of(text) or "pass"
    found = _Statement([f"{text}\n"], 0)
    if found.broken or found.helps or not text:
        return ""
    if found.assigned is None:
        return text
    column = found.assigned[1]
    return text[:column] + _value_of(text[column:], found.targets)[1]


def _is_expression(text: str) -> bool:
    """Return whether a statement of one line has a value: nothing is assigned in it, and no keyword begins
    it.
    """
    depth = 0
    for number, token in enumerate(tokenize.generate_tokens(iter([f"{text}\n"]).__next__)):
        word = token.string
        if depth == 0 and (word == ";" or (word.endswith("=") and word not in _COMPARED)):
            return False
        if number == 0 and keyword.iskeyword(word) and word not in _VALUES:
            return False
        depth += (word in _OPEN) - (word in _CLOSE)
    return True
