"""What the pages of a report have in common: the frame, the style, bars and links."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

from zoolab.grading.store import file_name
from zoolab.show.markup import Html, code, join, style_sheet, tag


def whole_page(title: str, *children: str | None) -> str:
    """A page that runs and fetches nothing; text among the children is escaped.

    >>> page = whole_page("<Grades>", tag("p", "1 < 2"))
    >>> "<title>&lt;Grades&gt;</title>" in page, "<script" in page, "1 &lt; 2" in page
    (True, False, True)
    """
    style = style_sheet("zoolab.grading.report", "report.css")
    named = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{named}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", tag("main", *children))
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def page_name(name: str) -> str:
    """The file name of a submission's page.

    >>> page_name("<b>anna</b>.py")
    'b-anna-b-py-f10cc1b937de.html'
    """
    return f"{file_name(name)}.html"


def link(target: str, text: str) -> Html:
    """A link to another page of the report.

    >>> link("students/anna.html", "anna <3")
    '<a href="students/anna.html">anna &lt;3</a>'
    """
    return Html(f'<a href="{escape(target)}">{join(text)}</a>')


def bar(part: float, whole: float, label: str) -> Html:
    """How much of something there is, as a bar; it prints where a background would not.

    >>> bar(1, 4, "1 of 4")
    '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="1 of 4">...'
    """
    width = 100 * part / whole if whole else 0
    return Html(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}"><rect class="track" width="100" height="8"/>'
        f'<rect class="part" width="{width:.4g}" height="8"/></svg>'
    )


def mark(got: float, out_of: float, text: str) -> Html:
    """A text about a case, with a sign for how it went.

    >>> mark(0, 2, "0 of 2")
    '<span class="mark failed"><span aria-hidden="true">✗ </span>0 of 2</span>'
    """
    if got == out_of:
        style, sign = "passed", "✓ "
    else:
        style, sign = ("partly", "◐ ") if got else ("failed", "✗ ")
    return tag("span", tag("span", sign, aria_hidden="true"), text, class_=f"mark {style}")


def points(number: float) -> str:
    """Points as a person writes them.

    >>> points(2.0), points(2.5), points(1 / 3)
    ('2', '2.5', '0.33')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


def prose(text: str) -> Html:
    """A sentence in which `code` stands between backticks.

    >>> prose("`add` takes <two> numbers")
    '<code>add</code> takes &lt;two&gt; numbers'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return join(text)
    return join(*(code(part, len(part)) if number % 2 else part for number, part in enumerate(parts)))
