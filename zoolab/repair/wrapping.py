"""What stands around badly written JSON: fences, quotes, tags, talk."""

from __future__ import annotations

import html
import re
from contextlib import suppress

from zoolab.jsontext import NotStrictJSON, is_utf8, parse_json


class Refused(Exception):
    """There is no proposal, and the message says why."""


#: Blanks and comments. Possessive, so that no text makes it slow.
SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/|<!--(?s:.*?)-->)*+")
#: Longer texts are left alone: what a repair library does to them takes too long.
MAX_CHARS = 1 << 15

_FENCE = re.compile(r"```[ \t]*[\w+-]*")
_BRACKET_OR_QUOTE = re.compile(r'[{}\[\]"]')
_TAG = re.compile(r"</?[\w:|-]{1,40}>")
_TALK = re.compile(r"(?s:.*?)[^\W\d_][ \t]+[^\W\d_](?s:.*)|[^\W\d_]+[.!?]?|[.!?]")
#: What introduces an object: `Here:`, `The result =`. A small word alone, as in `filter:`, may be a key.
_LABEL = re.compile(
    r"(?:(?:[^\W\d_]+[ \t]+){0,4}"
    r"(?i:json|arguments|args|parameters|params|output|answer|response|result|here|sure|okay|ok)"
    r"|[A-Z][^\W\d_]*)\s*[:=]"
)
#: A name within talk, as in `the "add" tool`; what a colon or a comma follows may be a key or a value.
_QUOTED_NAME = re.compile(r'(?<=\s)"[^"\n{}\[\]]{1,80}"(?!\s*[:=,])')
# An object whose names have quotes is not escaped: there, `&quot;` is a part of a text.
_BEGINS_WITH_QUOTE = re.compile(r"""\{\s*["']""")
#: A text of which every mark that HTML knows is escaped.
_ESCAPED_HTML = re.compile(r"(?:[^\"<>&]|&(?:quot|amp|lt|gt|apos|#39|#x27);)*+")
_ESCAPED_OBJECT = re.compile(r'\{\s*\\"')


def check_size(raw: str) -> None:
    """Raise if there is nothing to repair, or too much."""
    if not raw.strip():
        raise Refused("there is no text")
    if len(raw) > MAX_CHARS:
        raise Refused(f"more than {MAX_CHARS:,} characters")
    if not is_utf8(raw):
        raise Refused("a lone surrogate")


def unwrapped(raw: str, layers: int = 3) -> str:
    """The text without the fence, the quotes or the prose around it. What follows an object stays.

    >>> unwrapped('```json\\n{"a": 1}\\n```'), unwrapped('Here you are: {"a": 1}')
    ('{"a": 1}', '{"a": 1}')
    """
    check_size(raw)
    text = raw.strip().removeprefix("\ufeff").strip()
    inner = _unfenced(text) or _unquoted(text) or _unintroduced(text) or text
    return unwrapped(inner, layers - 1) if inner != text and layers else text


def is_prose(text: str) -> bool:
    """Whether a text beside an object is only talk: words, maybe a quoted name, no brackets; or tags."""
    words = _QUOTED_NAME.sub("it", _plain(text))
    if not words:
        return True
    if _BRACKET_OR_QUOTE.search(words) or words[0] in ",:=+" or words[-1] in ",=+":
        return False
    return _TALK.fullmatch(words) is not None


def _plain(text: str) -> str:
    """A text without tags, and without the marks that make it bold or code."""
    return _TAG.sub(" ", text).strip().strip("`* \t\n")


def _unfenced(text: str) -> str:
    if text[:1] in tuple("{[") and text.endswith("```"):
        return text[:-3]
    before, fence, _ = text.partition("```")
    opened = _FENCE.match(text, len(before))
    if not fence or not opened or _BRACKET_OR_QUOTE.search(before):
        return ""
    inner, closing, after = text[opened.end() :].rpartition("```")
    return inner if closing and not _BRACKET_OR_QUOTE.search(after) else text[opened.end() :]


def _unquoted(text: str) -> str:
    """The object within quotes, escaped once more than it should be, or in two pairs of braces."""
    inner = ""
    if text[:1] == '"' or _ESCAPED_OBJECT.match(text):
        with suppress(NotStrictJSON):
            inner = str(parse_json(text if text[0] == '"' else f'"{text}"'))
    elif "&quot;" in text and _ESCAPED_HTML.fullmatch(text) and not _BEGINS_WITH_QUOTE.match(text):
        inner = html.unescape(text)
    elif text.startswith("{{") and text.endswith("}}"):
        inner = text[1:-1]
    if not inner and text[:1] in tuple("\"'`") and text[:1] == text[-1:] and "\\" not in text:
        inner = text[1:-1].strip()
        inner = inner if inner[-1:] == "}" else ""
    return inner if inner.lstrip()[:1] == "{" else ""


def _unintroduced(text: str) -> str:
    """The text from its first brace on, if talk stands before it. There, only quoted keys make an object."""
    space = SPACE.match(text)
    start = text.find("{")
    if start < 1 or (space and text[space.end() : space.end() + 1] in tuple("{[\"'“‘")):
        return ""
    quoted = SPACE.match(text, start + 1)
    if not quoted or text[quoted.end() : quoted.end() + 1] not in tuple("\"'“‘}"):
        return ""
    talk = text[:start]
    return text[start:] if is_prose(talk) or _LABEL.fullmatch(_plain(talk)) else ""
