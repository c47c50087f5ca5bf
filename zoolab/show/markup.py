"""HTML that is escaped by construction.

Text becomes markup through `tag` alone. A child that is a plain `str` is escaped; only `Html` passes,
and whatever is done to `Html` as to a string (`+`, `join`, an f-string) makes a plain `str` again. An
element or an attribute that could run or fetch anything cannot be built at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from zoolab.errors import InvalidInput
from zoolab.jsontext import is_utf8

#: A longer text is cut, with a note that says how long it was.
MAX_TEXT = 4_000

_STRUCTURE = ("html", "head", "meta", "title", "style", "body", "main", "div", "header", "footer", "section")
_HEADINGS = ("article", "h1", "h2", "h3", "h4", "details", "summary")
_INLINE = ("p", "span", "strong", "code", "pre", "ins", "del")
_LISTS = ("ol", "ul", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td")
_ELEMENTS = frozenset((*_STRUCTURE, *_HEADINGS, *_INLINE, *_LISTS))
_ATTRIBUTES = frozenset(("class", "lang", "charset", "name", "content", "scope", "value", "tabindex", "role"))
_MORE = frozenset(("aria-label", "aria-hidden", "data-label"))
_VOID = frozenset(["meta"])

# A page shows no control characters, and a NUL not even as a box: each gets its picture, ␀ to ␡.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}


class Html(str):
    """Text that is markup already.

    >>> tag("b" + "r", "x")
    Traceback (most recent call last):
    zoolab.errors.InvalidInput: <br> is not an element that a story may have; expected article, ...
    """

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | int | None) -> Html:
    """An element. Text among the children is escaped, `Html` is not, None is left out.

    Attributes are written as in Python: `class_`, `aria_label`; None leaves one out.

    >>> tag("p", "1 < 2 ", tag("code", "a & b"), class_='"x"')
    '<p class="&quot;x&quot;">1 &lt; 2 <code>a &amp; b</code></p>'
    >>> tag("p", "a" + tag("code", "b"))
    '<p>a&lt;code&gt;b&lt;/code&gt;</p>'
    """
    if name not in _ELEMENTS:
        raise InvalidInput(
            f"<{name}> is not an element that a story may have", expected=", ".join(sorted(_ELEMENTS))
        )
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    closing = "" if name in _VOID else f"</{name}>"
    return Html(f"<{opening}>{join(*children)}{closing}")


def join(*children: str | None) -> Html:
    """Children side by side; text is escaped.

    >>> join("<", tag("code", "x"), None)
    '&lt;<code>x</code>'
    """
    return Html("".join(c if isinstance(c, Html) else _escaped(c) for c in children if c is not None))


def visible(text: str) -> str:
    """Text whose control characters and lone surrogates can be seen; else as it is.

    >>> visible("a\\x00b\\r"), visible("\\ud800")
    ('a␀b␍', '\\\\ud800')
    """
    if text.isprintable():
        return text
    text = text.translate(_PICTURES)
    return text if is_utf8(text) else text.encode("utf-8", "backslashreplace").decode()


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """Text for a line, cut at `limit` characters.

    >>> clipped("abcdef", 3)
    'abc… (6 characters)'
    """
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def code(text: str, limit: int = 200) -> Html:
    """A name, an id or a value within a line.

    >>> code("add")
    '<code>add</code>'
    """
    return tag("code", clipped(text, limit))


def block(text: str, label: str, style: str = "raw", limit: int = MAX_TEXT) -> Html:
    """A text with its line breaks: `raw` as code, `prose` as speech.

    `label` says to a screen reader what it is, if it is long enough to be scrolled.

    >>> block("one", "the answer", "prose")
    '<pre class="prose"><code>one</code></pre>'
    """
    return _pre(text[:limit], text[:limit], len(text), label, style)


def marked_block(pieces: Iterable[tuple[str, str]], label: str, limit: int = MAX_TEXT) -> Html:
    """A text of `(element, text)` pieces, if the element is "ins", "del" or "" for neither.

    >>> marked_block([("", "{"), ("ins", '"')], "what changed")
    '<pre class="raw"><code>{<ins>"</ins></code></pre>'
    """
    children: list[str] = []
    length = 0
    for element, text in pieces:
        part = text[: max(0, limit - length)]
        children.append(tag(element, part) if element and part else part)
        length += len(text)
    body = join(*children)
    return _pre(body, body, length, label, "raw", limit)


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table; the first cell of a row names the row.

    >>> table("Problems", ["Where"], [["/a"]]).count("scope")
    2
    """
    labels = headings[1:]
    cells = (
        (
            tag("th", row[0], scope="row"),
            *(tag("td", cell, data_label=label) for label, cell in zip(labels, row[1:], strict=True)),
        )
        for row in rows
    )
    return tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings))),
        tag("tbody", *(tag("tr", *row) for row in cells)),
    )


def facts(*pairs: tuple[str, str | None]) -> Html | None:
    """Names and values; a value of None is left out, and so is a list of nothing.

    >>> facts(("id", "call_1"), ("origin", None))
    '<dl class="facts"><div><dt>id</dt><dd>call_1</dd></div></dl>'
    """
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value is not None]
    return tag("dl", *shown, class_="facts") if shown else None


def folded(summary: str, *children: str | None) -> Html:
    """Content that is there when somebody asks for it.

    >>> folded("more", "text")
    '<details><summary>more</summary>text</details>'
    """
    return tag("details", tag("summary", summary), *children)


def note(*children: str | None) -> Html:
    """A remark of the page itself, as what it leaves out.

    >>> note("cut")
    '<p class="note">cut</p>'
    """
    return tag("p", *children, class_="note")


@cache
def style_sheet(folder: str, name: str, root: str = ":root") -> Html:
    """A style sheet of a page, after the colours and letters that all pages have: they are set on `root`.

    >>> style_sheet("zoolab.show", "story.css", ".zoolab-story").count(":root")
    0
    """
    ground = files("zoolab.show").joinpath("ground.css").read_text(encoding="utf-8")
    own = files(folder).joinpath(name).read_text(encoding="utf-8")
    return Html(ground.replace(":root", root) + own)


def _pre(body: str, shown: str, length: int, label: str, style: str, limit: int | None = None) -> Html:
    """The element within keeps the first line break, which `<pre>` alone would swallow."""
    scrolls = len(shown) > 1_500 or shown.count("\n") > 24
    region: dict[str, str | int | None] = (
        {"tabindex": 0, "role": "region", "aria_label": label} if scrolls else {}
    )
    kept = min(length, len(shown) if limit is None else limit)
    cut = note(f"cut: the first {kept:,} of {length:,} characters") if kept < length else None
    return join(tag("pre", tag("code", body), class_=style, **region), cut)


def _escaped(text: str) -> str:
    return escape(visible(text), quote=False)


def _attribute(key: str, value: str | int) -> str:
    name = key.rstrip("_").replace("_", "-")
    if name not in _ATTRIBUTES | _MORE:
        raise InvalidInput(
            f"{name!r} is not an attribute that a story may have",
            expected=", ".join(sorted(_ATTRIBUTES | _MORE)),
        )
    return f' {name}="{escape(visible(str(value)))}"'
