"""Docstrings in the styles of Google, NumPy and Sphinx: the description, and a text for each parameter.

One docstring may mix the styles.
"""

from __future__ import annotations

import re

# Where the description ends.
_SECTION = re.compile(
    r"^(?:(?::(?:param|type|returns?|rtype|raises)\b[^:\n]*:)"
    r"|(?:[A-Z][A-Za-z ]+\n-{3,}[ \t]*$)"
    r"|(?:(?:Args|Arguments|Params|Parameters|Returns|Raises|Yields|Examples?|Notes?):[ \t]*$))",
    re.MULTILINE,
)
# For each style, what holds the parameters, and one of them: an entry goes on as long as it is indented.
_PARAMETERS = {
    "google": re.compile(
        r"^(?:Args|Arguments|Params|Parameters):[ \t]*\n((?:[ \t]+.*\n?|\n)*)", re.MULTILINE
    ),
    "numpy": re.compile(
        r"^(?:Other )?Parameters\n-{3,}[ \t]*\n((?:(?!.*\n-{3,}).*(?:\n|\Z))*?)(?=.*\n-{3,}|\Z)", re.MULTILINE
    ),
    "sphinx": re.compile(r"(.*)", re.DOTALL),
}
_ENTRIES = {
    "google": re.compile(
        r"^([ \t]+)(?P<names>\w+)[ \t]*(?:\(.*?\))?:(?P<words>.*(?:\n(?:\1[ \t]+.*|[ \t]*(?=\n)))*)",
        re.MULTILINE,
    ),
    "numpy": re.compile(
        r"^(?P<names>\w+(?:, *\w+)*)[ \t]*(?::.*)?(?P<words>(?:\n(?:[ \t]+.*|(?=\n)))*)", re.MULTILINE
    ),
    "sphinx": re.compile(
        r"^:param[ \t]+(?:[^:\n]*[ \t])?(?P<names>\w+):(?P<words>.*(?:\n(?:[ \t]+.*|(?=\n)))*)", re.MULTILINE
    ),
}
_LINE_BREAK = re.compile(r"(?<!\n)\n(?=[^\s*+-])")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description, and what a docstring (without its indentation) says of each parameter.

    >>> read_docstring("Add two numbers.\\n\\nArgs:\\n    a: The first.")
    ('Add two numbers.', {'a': 'The first.'})
    """
    section = _SECTION.search(text)
    if section is None:
        return _unwrapped(text), {}
    explained: dict[str, str] = {}
    for style, parameters in _PARAMETERS.items():
        for block in parameters.finditer(text, section.start()):
            for entry in _ENTRIES[style].finditer(block[1]):
                words = " ".join(entry["words"].split())
                for name in entry["names"].replace(" ", "").split(",") if words else ():
                    explained.setdefault(name, words)
    return _unwrapped(text[: section.start()]), explained


def _unwrapped(text: str) -> str:
    """A description without its line breaks, and without the examples that are for people."""
    return _LINE_BREAK.sub(" ", text.partition(">>>")[0].strip())
