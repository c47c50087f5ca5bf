"""What stands around the value of a badly written text: fences, labels, quotes and talk."""

from __future__ import annotations

import html
import re

from zoolab.jsontext import is_utf8, json_or


class Refused(Exception):
    """There is no proposal, and the message says why."""


#: Blanks and comments. Possessive, so that no text makes it slow.
SPACE = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|#[^\n]*+|/\*(?s:.*?)\*/|<!--(?s:.*?)-->)*+")
#: Each comment; `it` is one that ends with its line.
LINE = re.compile(r"(?P<it>//[^\n]*+|#[^\n]*+)|/\*(?s:.*?)\*/|<!--(?s:.*?)-->")
#: Longer texts are left alone: what a repair library does to them takes too long.
MAX_CHARS = 1 << 15
_FENCE = re.compile(r"```[ \t]*[\w+-]*")
BRACKET_OR_QUOTE = re.compile(r'[{}\[\]"]')
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
#: A quote or a mark of JSON; an apostrophe within a word is not a quote.
MARK = re.compile(r"""[{}\[\]:,="“”„«»]|(?<![^\W\d_])['‘’]|['‘’](?![^\W\d_])""")


def check_size(raw: str) -> None:
    """Raise if there is nothing to repair, or too much."""
    if not raw.strip():
        raise Refused("there is no text")
    if len(raw) > MAX_CHARS:
        raise Refused(f"more than {MAX_CHARS:,} characters")
    if not is_utf8(raw):
        raise Refused("a lone surrogate")


def unwrapped(raw: str, layers: int = 3) -> str:
    """Remove the fence, the quotes or the prose around a text. What follows an object stays.

    >>> unwrapped('```json\\n{"a": 1}\\n```'), unwrapped('Here you are: {"a": 1}')
    ('{"a": 1}', '{"a": 1}')
    """
    check_size(raw)
    text = raw.strip().removeprefix("\ufeff").strip()
    inner = _unfenced(text) or _unquoted(text) or _unintroduced(text) or text
    return unwrapped(inner, layers - 1) if inner != text and layers else text


def is_prose(text: str) -> bool:
    """Tell whether a text beside an object is only talk: words or tags, maybe a quoted name."""
    words = _QUOTED_NAME.sub("it", _plain(text))
    if not words:
        return True
    if BRACKET_OR_QUOTE.search(words) or words[0] in ",:=+" or words[-1] in ",=+":
        return False
    return _TALK.fullmatch(words) is not None


def may_be_dropped(text: str) -> bool:
    """Tell whether a text after an object is blank or only talk, without a quote or a mark of JSON.

    >>> may_be_dropped("\\nI hope that helps."), may_be_dropped('#": null}'), may_be_dropped("b: two")
    (True, False, False)
    """
    return not MARK.search(text) and is_prose(text)


def _plain(text: str) -> str:
    return _TAG.sub(" ", text).strip().strip("`* \t\n")


def _unfenced(text: str) -> str:
    if text[:1] in tuple("{[") and text.endswith("```"):
        return text[:-3]
    before, fence, _ = text.partition("```")
    opened = _FENCE.match(text, len(before))
    if not fence or not opened or BRACKET_OR_QUOTE.search(before):
        return ""
    inner, closing, after = text[opened.end() :].rpartition("```")
    return inner if closing and may_be_dropped(after) else text[opened.end() :]


def _unquoted(text: str) -> str:
    """Take an object out of quotes, one escape too many, or a second pair of braces."""
    inner = ""
    if text[:1] == '"' or _ESCAPED_OBJECT.match(text):
        inner = str(json_or("", text if text[0] == '"' else f'"{text}"'))
    elif "&quot;" in text and _ESCAPED_HTML.fullmatch(text) and not _BEGINS_WITH_QUOTE.match(text):
        inner = html.unescape(text)
    elif text.startswith("{{") and text.endswith("}}"):
        inner = text[1:-1]
    if not inner and text[:1] in tuple("\"'`") and text[:1] == text[-1:] and "\\" not in text:
        inner = text[1:-1].strip()
        inner = inner if inner[-1:] == "}" else ""
    return inner if inner.lstrip()[:1] == "{" else ""


def _unintroduced(text: str) -> str:
    """Cut the talk before the first brace. After talk, only quoted keys make an object."""
    space = SPACE.match(text)
    start = text.find("{")
    if start < 1 or (space and text[space.end() : space.end() + 1] in tuple("{[\"'“‘")):
        return ""
    quoted = SPACE.match(text, start + 1)
    if not quoted or text[quoted.end() : quoted.end() + 1] not in tuple("\"'“‘}"):
        return ""
    talk = text[:start]
    return text[start:] if is_prose(talk) or _LABEL.fullmatch(_plain(talk)) else ""
