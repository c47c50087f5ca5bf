"""HTML that is escaped by construction.

Text becomes markup through `tag` alone. A child that is a plain `str` is escaped; only `Html` passes,
and whatever is done to `Html` as to a string (`+`, `join`, an f-string) makes a plain `str` again. An
element or an attribute that could run or fetch anything cannot be built at all.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from html import escape

from zoolab.errors import InvalidInput
from zoolab.files import read_shipped
from zoolab.jsontext import is_utf8

#: A longer text is cut, with a note that says how long it was.
MAX_TEXT = 4_000

_STRUCTURE = "html head meta title style body main div header footer section article h1 h2 h3 h4"
_TEXTS = "details summary p span strong code pre ins del"
_LISTS = "ol ul li dl dt dd table caption thead tbody tr th td"
_ELEMENTS = frozenset(" ".join((_STRUCTURE, _TEXTS, _LISTS)).split())
_NAMES = "class lang charset name content scope value tabindex role aria-label aria-hidden data-label"
_ATTRIBUTES = frozenset(_NAMES.split())

# A page shows no control characters, and a NUL not even as a box: each gets its picture, ␀ to ␡.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | {127: 0x2421}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


NO_SCRIPT = Html()


def tag(name: str, /, *children: str | None, **attributes: str | int | None) -> Html:
    """Return an element. Text among the children is escaped, `Html` is not, None is left out.

    Attributes are written as in Python: `class_`, `aria_label`; None leaves one out.

    >>> tag("p", "1 < 2 ", tag("code", "a & b"), class_='"x"')
    '<p class="&quot;x&quot;">1 &lt; 2 <code>a &amp; b</code></p>'
    >>> tag("p", "a" + tag("code", "b"))
    '<p>a&lt;code&gt;b&lt;/code&gt;</p>'
    """
    if name not in _ELEMENTS:
        raise InvalidInput(f"<{name}> is not an allowed HTML element", expected=", ".join(sorted(_ELEMENTS)))
    opening = name
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if attribute not in _ATTRIBUTES:
            expected = ", ".join(sorted(_ATTRIBUTES))
            raise InvalidInput(f"{attribute!r} is not an allowed HTML attribute", expected=expected)
        if value is not None:
            opening += f' {attribute}="{escape(pictured(str(value)))}"'
    closing = "" if name == "meta" else f"</{name}>"
    return Html(f"<{opening}>{join(*children)}{closing}")


def join(*children: str | None) -> Html:
    """Return children side by side; text is escaped."""
    given = (child for child in children if child is not None)
    return Html("".join(c if isinstance(c, Html) else escape(pictured(c), quote=False) for c in given))


def pictured(text: str) -> str:
    """Return text whose control characters and lone surrogates can be seen; else as it is."""
    if text.isprintable():
        return text
    text = text.translate(_PICTURES)
    return text if is_utf8(text) else text.encode("utf-8", "backslashreplace").decode()


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """Return text for a line, cut at `limit` characters."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def code(text: str, limit: int = 200) -> Html:
    """Return a name, an id or a value within a line."""
    return tag("code", clipped(text, limit))


def block(
    text: str | Iterable[tuple[str, str]], label: str, style: str = "raw", limit: int = MAX_TEXT
) -> Html:
    """Return a text, or its pieces, each with "ins", "del" or "" for neither: `raw` as code, `prose` as
    speech.

    A screen reader says the label if the text is long enough to be scrolled.
    """
    pieces = [("", text)] if isinstance(text, str) else list(text)
    whole = "".join(part for _, part in pieces)
    children = []
    left = limit
    for element, part in pieces:
        shown = part[: max(0, left)]
        children.append(tag(element, shown) if element and shown else shown)
        left -= len(part)
    region: dict[str, str | int | None] = {}
    if min(limit, len(whole)) > 1_500 or whole.count("\n", 0, limit) > 24:
        region = {"tabindex": 0, "role": "region", "aria_label": label}
    cut = note(f"cut: the first {limit:,} of {len(whole):,} characters") if len(whole) > limit else None
    # The element within keeps the first line break, which `<pre>` alone would swallow.
    return join(tag("pre", tag("code", *children), class_=style, **region), cut)


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; the first cell of a row names the row."""
    body = []
    for first, *others in rows:
        labelled = zip(headings[1:], others, strict=True)
        cells = (tag("td", cell, data_label=label) for label, cell in labelled)
        body.append(tag("tr", tag("th", first, scope="row"), *cells))
    head = tag("thead", tag("tr", *(tag("th", h, scope="col") if h else tag("td") for h in headings)))
    return tag("table", tag("caption", caption), head, tag("tbody", *body))


def facts(*pairs: tuple[str, str | None]) -> Html | None:
    """Return names and values; a value of None is left out, and so is a list of nothing."""
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value is not None]
    return tag("dl", *shown, class_="facts") if shown else None


def folded(summary: str, *children: str | None) -> Html:
    """Return content that is there when somebody asks for it."""
    return tag("details", tag("summary", summary), *children)


def note(*children: str | None) -> Html:
    """Return a remark of the page itself, as what it leaves out."""
    return tag("p", *children, class_="note")


def page(title: str, style: Html, *children: str | None, script: Html = NO_SCRIPT) -> str:
    """Return a whole page that fetches nothing, and runs nothing but a `script` of zoolab's own: it may use
    its one style sheet, and pictures within it.
    """
    allowed = f"style-src {csp_digest(style)}; img-src data:"
    if script:
        allowed += f"; script-src {csp_digest(script)}"
        children = (*children, Html(f"<script>{script}</script>"))
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", *children), lang="en") + "\n"


def csp_digest(text: str) -> str:
    """Return a script or a style, as a content security policy names what it allows."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def style_sheet(folder: str, name: str, root: str = ":root") -> Html:
    """Return a style sheet of a page, after the colours and letters that all pages have: they are set on
    `root`.
    """
    ground = read_shipped("zoolab.text", "ground.css")
    own = read_shipped(folder, name)
    return Html(ground.replace(":root", root) + own)
