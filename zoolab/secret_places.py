"""Where a secret can stand in a text: a few letters tell, so that a costly form is tried there alone.

A place is a range in which a match of the form can begin. All of them are found, and most have no secret.
The work is done in pieces, between which other threads run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from string import Template

from zoolab.files import read_table

Place = tuple[int, int]

#: Characters that are looked through at once, and how far a word of them may go on in the next ones.
_PIECE, _OVER = 1 << 16, 64
#: With more places, or hits of a word, than one in so many characters, a form is tried everywhere.
_DENSE, _DENSE_HITS, _FEW = 100, 40, 30
#: A wider place is searched, in steps of so many characters; what a form needs to see behind its beginning.
_WIDE, _STEP, _BEHIND = 400, 2_048, 1_024
#: A form may have any number of these; with so many in a row, it is tried everywhere.
_ESCAPES = "\\" * 100
#: Letters that are like others if capitals are like small letters, or are two when they are made small.
_ODD = ("\u017f", "\u212a", "\u0130", "\u0131")
#: A text of nothing but these, without a long word or one of a name, has no secret.
_HARMLESS = b"abcdefghijklmnopqrstuvwxyz0123456789 \t\r\n,.;'\"()?!"
_SHORT, _LONG_WORD = 300, b"x" * 14
_SPOKEN = (b"key", b"token", b"secret", b"pass", b"bearer", b"pwd", b"cookie", b"authorization", b"contrase")
#: A word that a name has; how many characters of the name may stand before it; the form behind it in which
#: a name has a value; and the one in which what surrounds it tells that there is a secret.
_WORDS = {
    b"key": (14, "given", "surrounded"),
    b"token": (8, "given", "surrounded"),
    b"secret": (7, "given", "surrounded"),
    b"pass": (9, "given_password", "surrounded_password"),
    b"pwd": (2, "is", "surrounded"),
    b"contrase": (0, "given_spanish", "surrounded_spanish"),
    b"x-amz-": (0, "given_amazon", "surrounded_amazon"),
    b"authorization": (0, "is", "surrounded"),
    b"cookie": (0, "is", "surrounded"),
    b"bearer": (0, "borne", ""),
    b"sig=": (1, "signed", ""),
    b"signature=": (1, "signed", ""),
    b"hooks.slack": (0, "", ""),
    b"softlayer": (0, "", ""),
    b"://": (0, "of_address", ""),
    b"-----begin": (0, "", ""),
    b"-pat": (0, "never", "surrounded"),
    b"-u": (1, "never", "of_user"),
    b"/bot": (0, "never", "of_bot"),
}
#: Those at which a name ends, and what may then stand behind it, beside the letters of other scripts.
_ENDS = (b"key", b"token", b"secret", b"pwd", b"authorization", b"cookie")
_BETWEEN = {b"%c" % each for each in b"\\\"':=>],? \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0"}
#: How many characters may stand before a word if what surrounds it tells.
_AROUND = 160

#: Tokens with these first letters may be shorter than _LONG characters, each of which is one of a token.
_BEGINS = (b"sk-", b"sk_", b"pk-", b"pk_", b"rk-", b"rk_", b"xox", b"xapp-", b"AKCp")
_LONG = b"x" * 20
_OF_TOKENS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*~.:-"
_KINDS = bytes(ord("x") if each in _OF_TOKENS else ord(" ") for each in range(256))
#: How a token of such a length begins; and a place within a long word at which another one may.
_BEGIN = rb"[sprxtcdGMNO]|g[hils]|A[KSBCPI]|ya|hf|n[ptv]|ls|hv|S[KG]|eyJ|[0-9a-f]{8}|.{3}[0-9]Q"
_FIRST, _INSIDE = re.compile(_BEGIN), re.compile(rb"(?<=[_*~.:-])(?=" + _BEGIN + rb")")

_HEAD = re.compile(r"data:[\w.+-]{1,50}/[\w.+-]{1,50};base64,")
_DATA = re.compile(r"[A-Za-z0-9+/=]*")
_BASE64 = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
#: A text of so many characters that all are base64 is data.
_LEAST_DATA = 1_000


@cache
def form(name: str, flags: int = re.VERBOSE | re.IGNORECASE) -> re.Pattern[str]:
    """A form of `secrets.toml`, compiled when something is scrubbed first: that takes longer than imports."""
    forms = read_table("zoolab", "secrets.toml")
    text = forms[name]
    while "$" in text and (filled := Template(text).safe_substitute(forms)) != text:
        text = filled
    return re.compile(text, flags)


def may_hold(text: str) -> bool:
    """Tell whether there may be a secret in a text at all; a quick answer that is often yes.

    >>> may_hold("password=hunter2"), may_hold("The sum is 100.")
    (True, False)
    """
    if len(text) < _SHORT:
        said = _bytes(text).lower()
        if said.translate(None, _HARMLESS) or _LONG_WORD in said.translate(_KINDS):
            return True
        return any(word in said for word in _SPOKEN)
    return not is_data(text)


def without_places(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts in which no secret can begin; they are looked through together.

    >>> list(without_places(["The sum is 100.", "It is sunny."]))
    ['The sum is 100.', 'It is sunny.']
    """
    start = 0
    while start < len(texts):
        stop, size = start, 0
        while stop < len(texts) and size < _PIECE:
            size += len(texts[stop]) + 1
            stop += 1
        joined = "\n".join(texts[start:stop])
        named, surrounded = places_of_names(joined)
        places = sorted([*named, *surrounded, *places_of_tokens(joined)])
        at, end = 0, 0
        for text in texts[start:stop]:
            begin, end = end, end + len(text) + 1
            while at < len(places) and places[at][1] <= begin:
                at += 1
            if at == len(places) or places[at][0] >= end:
                yield text
        start = stop


def is_data(text: str) -> bool:
    """Tell whether a text is data in base64, as those of a picture: no secret is looked for in them.

    >>> is_data("QUJD" * 300), is_data("ABC")
    (True, False)
    """
    if len(text) < _LEAST_DATA:
        return False
    head = _HEAD.match(text)
    said = _bytes(text[head.end() if head else 0 :]).rstrip(b"=")
    return not said[:_LEAST_DATA].translate(None, _BASE64) and not said.translate(None, _BASE64)


def replaced(
    text: str, pattern: re.Pattern[str], places: list[Place], new: Callable[[re.Match[str]], str]
) -> str:
    """Do what `pattern.sub(new, text)` does, but try the pattern only where a match can begin.

    >>> replaced("a1 b2 c3", re.compile("[a-z][0-9]"), [(3, 4)], lambda found: "-")
    'a1 - c3'
    """
    parts, end = list[str](), 0
    if not places:
        return text
    for low, high in _merged(places):
        at = max(low, end)
        while at < high:
            found, at = _first(text, pattern, at, high)
            if found is not None:
                parts += [text[end : found.start()], new(found)]
                end = at = found.end()
    return "".join([*parts, text[end:]]) if parts else text


def _first(text: str, pattern: re.Pattern[str], low: int, high: int) -> tuple[re.Match[str] | None, int]:
    """The first match that begins in a place, or in its first step; and where to go on."""
    if high - low <= _WIDE:
        tried = (pattern.match(text, at) for at in range(low, high))
        return next(filter(None, tried), None), high
    if _ESCAPES in text:
        found = pattern.search(text, low)
        return (found, high) if found is None or found.start() < high else (None, high)
    stop = min(high, low + _STEP)
    begun = pattern.search(text, low, stop + _BEHIND)
    if begun is None or begun.start() >= stop:
        return None, stop
    return pattern.match(text, begun.start()), begun.start() + 1


def _merged(places: Iterable[Place]) -> Iterator[Place]:
    low, high = 0, 0
    for start, stop in sorted(places):
        if start > high:
            yield low, high
            low, high = start, stop
        high = max(high, stop)
    yield low, high


def _bytes(text: str) -> bytes:
    """A text with a byte for each character; those of other scripts are like each other."""
    return text.encode("latin-1", "replace")


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    for place in range(0, len(text), _PIECE):
        yield place, text if len(text) <= _PIECE else text[place : place + _PIECE + _OVER]


def _hits(piece: bytes, sought: bytes) -> list[int]:
    """Where a word stands, up to one more than `_too_many`."""
    found, place, most = list[int](), piece.find(sought), max(_FEW, len(piece) // _DENSE_HITS)
    while place >= 0 and len(found) <= most:
        found.append(place)
        place = piece.find(sought, place + 1)
    return found


def _too_many(found: Sequence[object], piece: bytes, dense: int = _DENSE) -> bool:
    """Whether to look at each is slower than to try the form everywhere."""
    return len(found) > max(_FEW, len(piece) // dense)


def places_of_names(text: str) -> tuple[list[Place], list[Place]]:
    """Find where a name and its value can begin, and where the surroundings tell of a secret.

    >>> places_of_names("my password=hunter2 is")
    ([(0, 4)], [(3, 4)])
    """
    odd = not text.isascii() and any(each in text for each in _ODD)
    if odd or _ESCAPES in text:
        return [(0, len(text))], [(0, len(text))]
    labelled, structured = list[Place](), list[Place]()
    for place, piece in _pieces(text):
        lowered = _bytes(piece).lower()
        given, around = list[Place](), list[Place]()
        for word in _WORDS:
            hits = _hits(lowered, word)
            many = _too_many(hits, lowered, _DENSE_HITS)
            if hits and not many:
                _look_at(text, place, lowered, word, hits, given, around)
            if many or _too_many(given, lowered) or _too_many(around, lowered):
                given = around = [(place, place + len(piece))]
                break
        labelled += given
        structured += around
    return labelled, _outside(structured, embedded(text))


def _look_at(
    text: str,
    place: int,
    lowered: bytes,
    word: bytes,
    hits: list[int],
    given: list[Place],
    around: list[Place],
) -> None:
    """Add the places that belong to the hits of a word, until there are too many."""
    before, value, surroundings = _WORDS[word]
    is_given, is_surrounded = _matcher(value), _matcher(surroundings or "never")
    ends_a_name, length, begin = word in _ENDS, len(word), form("beginning")
    for hit in hits:
        if ends_a_name and lowered[hit + length : hit + length + 1] not in _BETWEEN:
            continue
        start, end = place + hit, place + hit + length
        if is_given(text, end):
            given.append((max(0, start - before), start + 1))
        if is_surrounded(text, end):
            low = max(0, start - _AROUND)
            low = max(0, low - 4 * text.count("\\", low, start))
            around += [(each, each + 1) for each in map(re.Match.start, begin.finditer(text, low, end))]
            if _too_many(around, lowered):
                break


@cache
def _matcher(name: str) -> Callable[[str, int], object]:
    return form(name).match if name else lambda _text, _end: True


def places_of_tokens(text: str) -> list[Place]:
    """Find where a token can begin: at its first letters if it may be short, else where a long word begins.

    >>> places_of_tokens("the key sk-abcdef")
    [(8, 9)]
    """
    found = list[Place]()
    for place, piece in _pieces(text):
        said = _bytes(piece)
        begun = [each for begins in _BEGINS for each in _hits(said, begins)]
        kinds, start = said.translate(_KINDS), 0
        while (start := kinds.find(_LONG, start)) >= 0 and not _too_many(begun, said):
            end = kinds.find(b" ", start)
            end = len(kinds) if end < 0 else end
            # The n of an escaped line break may stand in front of it.
            begun += [at for at in (start, start + 1) if _FIRST.match(said, at)]
            inside = islice(_INSIDE.finditer(said, start, end), max(_FEW, len(said) // _DENSE) + 1)
            begun += map(re.Match.start, inside)
            start = end
        if _too_many(begun, said):
            found.append((place, place + len(piece)))
        else:
            found += [(place + at, place + at + 1) for at in sorted(begun)]
    return _outside(found, embedded(text))


def embedded(text: str) -> list[Place]:
    """Find where data stand in base64, as those of a picture.

    >>> embedded("see data:image/png;base64,QUJD and")
    [(4, 30)]
    """
    found, at = list[Place](), text.find("data:")
    while at >= 0:
        end = at + 1
        if head := _HEAD.match(text, at):
            data = _DATA.match(text, head.end())
            end = data.end() if data else head.end()
            found.append((at, end))
        at = text.find("data:", end)
    return found


def _outside(places: list[Place], passed: list[Place]) -> list[Place]:
    """The places that do not begin in what is passed over."""
    if not passed:
        return places
    kept, spans = list[Place](), iter([*passed, (1 << 62, 1 << 62)])
    start, end = next(spans)
    for low, high in sorted(places):
        while low >= end:
            start, end = next(spans)
        if high > start >= low:
            kept.append((low, start + 1))
        elif low < start:
            kept.append((low, high))
    return kept
