"""The cases of lab 4: select.

Pairs for the metric come from `chance`. Descriptions are judged by what a lexical model chooses with them,
for the notebook's requests and for others, which use the words of the tools' pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from zoolab.retrieval import BM25
from zoolab_grader import Lab, Student, Wrong, case

LAB = Lab("l4", "Select a tool", functions=("measure", "DESCRIPTIONS"), uses=("pandas",))

Pair = tuple[str | None, str | None]

MAX_WORDS = 30
_KEYS = ("accuracy", "balanced", "needless", "missed")
QUOTE = 4

# fmt: off
#: The requests of the notebook.
_PUBLIC: dict[str | None, tuple[str, ...]] = {
    "find_order": (
        "Look up my last order.", "What did the order cost?", "Show me the items of order 1042."),
    "track_parcel": ("Where is my parcel?", "Track parcel 77, please.", "When does my parcel come?"),
    "cancel_order": (
        "Cancel my order.", "Please cancel order 1042, I do not want it.", "Can I still cancel this?"),
    "refund_payment": ("I want my money back.", "Refund payment 88.", "Can I have a refund?"),
    "change_address": (
        "Change my address.", "I have a new address.", "Use another address for the next order."),
    "check_stock": (
        "Do you have this product?", "Is the product in stock?", "How many do you have in stock?"),
    None: ("Thank you, that was all.", "Good morning!", "Who won the match yesterday?",
           "Write a poem about cats."),
}
#: Requests that no student sees.
_UNSEEN: dict[str | None, tuple[str, ...]] = {
    "find_order": (
        "Which items have I bought so far?", "I need the receipt for {}.", "Please send me the invoice.",
        "On which date was it bought?", "Find the invoice and the receipt of {}."),
    "track_parcel": (
        "My shipment is late.", "Is shipment {} lost?", "What did the carrier scan last?",
        "Which carrier has it?", "This week all deliveries are late."),
    "cancel_order": (
        "Stop it before it is shipped!", "That was a mistake, I do not want it shipped.",
        "I changed my mind about the lamp.", "Stop {}, please, I changed my mind.",
        "We ordered the lamp by mistake."),
    "refund_payment": (
        "The lamp came broken.", "My card was charged, and I know nothing of it.",
        "You sent the wrong goods.", "I made a return, where is my money?", "The goods are broken."),
    "change_address": (
        "We moved to another city.", "There is a typo in my street.", "My postal code is {}.",
        "We moved, the street is now another one.", "Send it to another city, postal code {}."),
    "check_stock": (
        "Is the lamp available?", "Which size is left?", "How many are left in the warehouse?",
        "Which colour is available?", "Is it available in size {}?"),
    None: (
        "What is the capital of Norway?", "Do you know a joke?", "How do I learn Postgres?",
        "Is Go a language for beginners?", "How do I open a CSV file?", "What is a cache?",
        "Is a cluster of ten machines enough?", "You are very helpful.", "Can you help me with my homework?",
        "I have a question about the weather.", "What does an API cost a second?", "Is Lena here in March?",
        "Draw me a map of the service.", "Write a nightly job for accounting.", "Wait ten minutes."),
}
#: Tools of another department.
_STRANGERS = (
    "Say how much memory a host has. Use this when somebody asks about RAM or swapping.",
    "Send packets to a host to see whether it answers on the network.",
    "Restart a service, which causes downtime. Only if somebody asks for it.",
    "Request a web page and return its HTTP status.",
)
_WORD = re.compile(r"[^\W_]+")
#: What counts as one word of thirty: "carrier's" is one, "size/colour" and "out-of" are two.
_COUNTED = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_SMALL_WORDS = frozenset(_WORD.findall("""
a about all an and another any are as ask asked asks at be been before can customer customers did do does
for from had has have how i if in into is it its me my no not now of on one only or our please so somebody
that the their them there they this to use used user users want wants was we were what when where whether
which who why will with you your"""))
# fmt: on


def _shares(pairs: list[Pair]) -> dict[str, float | None]:
    """What `measure` should return."""
    right: dict[str | None, list[bool]] = {}
    for expected, chosen in pairs:
        right.setdefault(expected, []).append(chosen == expected)
    return {
        "accuracy": _share(chosen == expected for expected, chosen in pairs),
        "balanced": _share(_share(flags) or 0 for flags in right.values()),
        "needless": _share(chosen is not None for expected, chosen in pairs if expected is None),
        "missed": _share(chosen is None for expected, chosen in pairs if expected is not None),
    }


def _share(flags: Iterable[float]) -> float | None:
    found = list(flags)
    return sum(found) / len(found) if found else None


def _pairs(chance: Random, other: str = "") -> list[Pair]:
    """Pairs of three tools and of none: one tool that is asked for often and always right, two rare ones that
    are mostly wrong. Who is mistaken for another tool is mistaken for `other`, or for one of the three.

    Names and order are drawn. The numbers are not: each share has two digits, so that rounding costs nothing.
    """
    often, rare, rarest = chance.sample(list(_PUBLIC)[:6], 3)
    pairs: list[Pair] = [(often, often)] * 20
    pairs += [(rare, rare)] * 5 + [(rare, None)] * 4 + [(rare, other or often)]
    pairs += [(rarest, rarest)] + [(rarest, None)] * 2 + [(rarest, other or rare)] * 7
    pairs += [(None, None)] * 8 + [(None, often), (None, other or rare)]
    return chance.sample(pairs, len(pairs))


def _hundreds(one: Iterable[Pair], other: Iterable[Pair]) -> list[Pair]:
    """Two hundred pairs of one kind with two hundred of another in the middle: the share of the first hundred
    only, or of the last, is not that of all."""
    some = list(one)
    return some[:100] + list(other) + some[100:]


def _measured(student: Student, pairs: list[Pair], *keys: str) -> dict[str, float | None]:
    """What `measure` says of these pairs, under these keys: numbers or None. Without keys, those of the four
    that are there: a share that is missing costs the cases about it only."""
    value = student.call("measure", pairs, marked=True).value
    if not isinstance(value, dict):
        raise Wrong("`measure` did not return a dict")
    keys = keys or tuple(key for key in _KEYS if key in value and not isinstance(value[key], str))
    if not keys:
        raise Wrong("the dict that `measure` returned has none of the four shares")
    for key in keys:
        if key not in value:
            raise Wrong(f"the dict that `measure` returned has no {key!r}")
        if value[key] is not None and (
            isinstance(value[key], bool) or not isinstance(value[key], int | float)
        ):
            raise Wrong(f"`{key}` is neither a number nor None")
    return {key: value[key] for key in keys}


def _is(found: float | None, real: float | None) -> bool:
    return found is real if found is None or real is None else abs(found - real) < 1e-9


def _expect(student: Student, what: str, pairs: list[Pair], *keys: str) -> None:
    found, shares = _measured(student, pairs, *keys), _shares(pairs)
    for key in keys:
        if not _is(found[key], shares[key]):
            raise Wrong(f"{what}: `{key}` is not what the task says")


def _descriptions(student: Student) -> dict[str, str]:
    """The texts for the six tools; an empty one if there is none, which one case asks for."""
    value = student.value("DESCRIPTIONS", marked=True)
    if not isinstance(value, dict):
        student.value("DESCRIPTIONS")  # says what it is, if JSON cannot express it
        raise Wrong("`DESCRIPTIONS` is not a dict")
    own = {name: value.get(name) for name in _PUBLIC if name}
    return {name: text if isinstance(text, str) else "" for name, text in own.items()}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _choice(request: str, descriptions: dict[str, str]) -> str | None:
    """The lexical model: the tool whose description shares most with a request, if it is one."""
    words = " ".join(word for word in _words(request) if word not in _SMALL_WORDS)
    scores = BM25().scores(words, list(descriptions.values()))
    best = max(scores)
    return list(descriptions)[scores.index(best)] if best > 0 and scores.count(best) == 1 else None


def _right(
    own: dict[str, str], requests: dict[str | None, tuple[str, ...]], chance: Random
) -> dict[str | None, float]:
    """For each tool, and for none, the share of requests for which it is chosen."""
    offered = dict(chance.sample(list(own.items()), len(own)))
    number = chance.randrange(1000, 9999)
    return {
        expected: sum(_choice(text.format(number), offered) == expected for text in texts) / len(texts)
        for expected, texts in requests.items()
    }


def _tools_only(right: dict[str | None, float]) -> dict[str | None, float]:
    return {expected: share for expected, share in right.items() if expected}


def _fair(student: Student, chance: Random) -> dict[str, str]:
    """The descriptions, if they are chosen for at least half of the notebook's requests."""
    own = _descriptions(student)
    if (_share(_tools_only(_right(own, _PUBLIC, chance)).values()) or 0) < 0.5:
        raise Wrong("with these descriptions not even half of the notebook's requests find their tool")
    return own


@case(2, "Compare with ==, and count every pair: (None, None) is right.", public=True)
def counts_every_pair(student: Student, chance: Random) -> None:
    """`accuracy` is the share of all pairs in which the choice is the expected one; if no tool is needed,
    choosing none is right and choosing one is wrong."""
    student.call("measure", _pairs(chance))  # what JSON cannot express is judged here, and marked elsewhere
    _expect(student, "pairs with and without need", _pairs(chance), "accuracy")
    right: list[Pair] = [(None, None), *[("check_stock", "check_stock")] * 999]
    many = right + [("check_stock", "find_order")] * 1000
    _expect(student, "two thousand pairs", many, "accuracy")
    few: list[Pair] = [*right[:3], ("check_stock", "find_order")]
    _expect(student, "the same pairs in other numbers", few, "accuracy")


@case(1, "Return the quotient as it is; round only what you print.")
def rounds_nothing(student: Student, chance: Random) -> None:
    """No share is rounded."""
    names = chance.sample(list(_PUBLIC)[:6], 3)
    often, rare, rarest = names
    pairs: list[Pair] = [(often, often)] * 13 + [(rare, rare)] * 2 + [(rare, None)] * 3 + [(rare, often)] * 2
    pairs += [(rarest, rarest)] + [(rarest, None)] * 4 + [(rarest, rare)] * 6
    pairs += [(None, None)] * 4 + [(None, often)] * 9  # 44 pairs, of which 13 need none: no share is short
    usual = _pairs(chance)
    found, other = _measured(student, pairs), _measured(student, usual)
    if found == other:
        raise Wrong("other pairs have the same shares")
    for key, share in found.items():
        if share is None or share == round(share, 8):
            raise Wrong(f"`{key}` of 44 pairs has eight digits or fewer")
    _expect(student, "44 pairs", pairs, *(key for key in found if _is(other.get(key), _shares(usual)[key])))


@case(2, "First the share for each expected value, None among them; then the mean of these shares.")
def weighs_tools_equally(student: Student, chance: Random) -> None:
    """`balanced` is a mean of shares: for each expected value, none needed among them, the share of its
    pairs that are right; a tool that is asked for often counts no more than a rare one."""
    _expect(student, "a frequent tool and two rare ones", _pairs(chance), "balanced")
    often, once, never = chance.sample(list(_PUBLIC)[:6], 3)
    pairs: list[Pair] = [(often, often)] * 8 + [(once, often), (never, None)] + [(None, None)] * 2
    _expect(student, "tools that are needed once, and never chosen", pairs, "balanced")
    pairs = [(often, often)] * 8 + [(once, once), (never, None)] + [(None, None)] * 2
    _expect(student, "tools with equal shares", pairs, "balanced")
    pairs = [(often, often)] * 8 + [(once, once), (never, never), (None, often), (None, once)]
    _expect(student, "none is needed, and a tool is always called", pairs, "balanced")
    shops = [f"{name}_{shop}" for name in (often, once, never) for shop in ("a", "b", "c", "d")]
    pairs = [*[(name, name) for name in shops], *[(name, None) for name in shops[::2]], (None, None)]
    _expect(student, "twelve tools and none", pairs, "balanced")
    many = [f"{once}_{shop}" for shop in range(400)]
    pairs = _hundreds([(name, None) for name in many[:200]], [(name, name) for name in many[200:]])
    _expect(student, "four hundred tools", pairs, "balanced")
    pairs = _hundreds([(once, None)] * 200, [(once, once)] * 200)
    _expect(student, "a tool that is needed four hundred times", pairs, "balanced")
    _expect(student, "tools only", [(often, often), (once, often)], "balanced")
    _expect(student, "none is needed, ever", [(None, None), (None, often)], "balanced")


@case(2, "Each of the two has its own denominator.", public=True)
def counts_both_mistakes(student: Student, chance: Random) -> None:
    """`needless` is the share of calls among the pairs that need no tool, `missed` the share of none among
    the pairs that need one."""
    _expect(student, "pairs with and without need", _pairs(chance), "needless", "missed")
    a, b, c = chance.sample(list(_PUBLIC)[:6], 3)
    each: list[Pair] = [(a, None), (b, None), (c, None), (a, a)]
    each += [(None, a), (None, b), (None, c), (None, None)]
    _expect(student, "each tool missed once, and called once without need", each, "needless", "missed")
    many = _hundreds([(None, None)] * 200, [(None, a)] * 200) + _hundreds([(a, a)] * 200, [(a, None)] * 200)
    _expect(student, "four hundred pairs of each kind", many, "needless", "missed")


@case(1, "Compare names as they are, and average over what was expected, not over what was chosen.")
def survives_invented_tools(student: Student, chance: Random) -> None:
    """A chosen tool that nobody expects, even one that does not exist, is a wrong choice and nothing more."""
    often, rare, wrong, fourth = chance.sample(list(_PUBLIC)[:6], 4)
    odd = [often.upper(), often.title(), f"{often}s", f"my_{often}", f"{often} ", f" {often}", often[:-1]]
    odd.append(f"shop.{often}")
    # U+FF3F is an underscore after Unicode's normalization NFKC.
    odd += [often.replace("_", mark) for mark in ("-", "\uff3f")]
    odd += [f"magic_{chance.randrange(100)}", "None", "null", "none"]
    needs: list[Pair] = [
        (often, often),
        (rare, rare),
        (wrong, wrong),
        (None, None),
        (wrong, None),
        (None, often),
    ]
    known = _measured(student, [*needs, *[(often, wrong)] * len(odd), *[(None, often)] * len(odd)])
    right = _measured(student, [*needs, *[(often, often)] * len(odd), *[(None, None)] * len(odd)])
    if known == right:
        raise Wrong("right choices and wrong ones have the same shares")
    came = _measured(student, [*needs, *[(often, name) for name in odd], *[(None, name) for name in odd]])
    for key in known:
        if not _is(came.get(key), known[key]):
            raise Wrong(f"`{key}` is not what it is if the wrong choices are known tools")
    other = _measured(student, [(fourth, None), *needs, (fourth, wrong)])
    for name in odd:
        named = _measured(student, [(name, None), *needs, (name, wrong)])
        if not all(_is(named.get(key), other.get(key)) for key in known):
            raise Wrong(f"a tool of the name {name!r} is not counted as a tool like any other")
    long = f"{often}_" * 20
    for one, two in (("men\u00fc", "menu\u0308"), (f"{long}a", f"{long}b")):  # they look alike, and differ
        alike = _measured(student, [*needs, (one, one), (one, two)])
        other = _measured(student, [*needs, (one, one), (one, wrong)])
        if not all(_is(alike.get(key), other.get(key)) for key in known):
            raise Wrong("two names that look alike, but have other letters, are taken for one")
    mistakes: list[list[Pair]] = [[(often, often), (rare, choice)] for choice in (None, often, fourth)]
    try:
        silent, *called = (_measured(student, pairs, "balanced")["balanced"] for pairs in mistakes)
    except Wrong:
        return  # that each pair may need a tool is judged below
    if not all(_is(silent, share) for share in called):
        raise Wrong("`balanced` depends on what was chosen instead of the expected tool")


@case(1, "Check the length before you divide, and tell 0 from None.")
def knows_no_share_of_nothing(student: Student, chance: Random) -> None:
    """A share of no pairs is None: all four of an empty list, `needless` if every pair needs a tool,
    `missed` if none does. A share of 0 is 0."""
    pairs = _pairs(chance)
    needing = _measured(student, [pair for pair in pairs if pair[0]], *_KEYS)
    idle = _measured(student, [(None, None)], "needless", "missed")
    if needing["needless"] is not None or idle["missed"] is not None:
        raise Wrong("a share of no pairs is not None")
    if None in (needing["accuracy"], needing["balanced"], needing["missed"]) or idle["needless"] != 0:
        raise Wrong("a share of some pairs is not a number")
    wrong = _measured(student, [("magic", None), (None, "magic")], "accuracy")
    missed = _measured(student, [("check_stock", "check_stock")], "missed")
    if wrong["accuracy"] is None or missed["missed"] is None:
        raise Wrong("a share of 0 is not 0")
    _expect(student, "no pairs", [], *_KEYS)
    try:
        student.call("measure", pairs)
    except Wrong:
        return  # what JSON can never express is judged in another case
    for some in ([], [(None, None)], [("check_stock", None)]):
        student.call("measure", some)


@case(2, "Run the cell that tries the requests, and look at the first that goes wrong.", public=True)
def chooses_for_the_notebook(student: Student, chance: Random) -> None:
    """With `DESCRIPTIONS`, the lexical model is right for at least 9 in 10 of the notebook's requests, as a
    balanced mean over the six tools and none."""
    own = _descriptions(student)
    for name, text in own.items():
        if not text:
            raise Wrong(f"`DESCRIPTIONS` has no text for {name!r}")
    right = _right(own, _PUBLIC, chance)
    if (_share(right.values()) or 0) < 0.9:
        worst = min(right, key=lambda name: right[name])
        raise Wrong(f"too many go wrong, most of them where {worst or 'no tool'} is expected")


@case(5, "Read the tool's page again: which of its words would a customer use?")
def chooses_for_others(student: Student, chance: Random) -> None:
    """It is right for at least 8 in 10 of other requests, balanced over the six tools, also if the tools of
    another department are offered. They use words of the tools' pages, other ones than the notebook's
    requests."""
    own = _descriptions(student)
    strangers = {f"stranger_{index}": text for index, text in enumerate(_STRANGERS)}
    for offered, among in ((own, ""), (own | strangers, " among more tools")):
        right = _tools_only(_right(offered, _UNSEEN, chance))
        if (_share(right.values()) or 0) < 0.8:
            worst = min(right, key=lambda name: right[name])
            raise Wrong(f"too many go wrong{among}, most of them where {worst} is expected")


@case(2, "Leave out what only the makers of a tool care about, and words that fit every request.")
def chooses_none(student: Student, chance: Random) -> None:
    """It chooses no tool for at least 8 in 10 of other requests that need none."""
    if _right(_fair(student, chance), _UNSEEN, chance)[None] < 0.8:
        raise Wrong("a tool is chosen for too many requests that need none")


@case(1, "Thirty words are two sentences. Which word could go?", public=True)
def is_short(student: Student, chance: Random) -> None:
    """No description has more than 30 words, and half of the notebook's requests find their tool."""
    for name, text in _fair(student, chance).items():
        if (count := len(_COUNTED.findall(text))) > MAX_WORDS:
            raise Wrong(f"the description of {name} has {count} words")


@case(1, "A description that quotes a test shows nothing about the next request.")
def quotes_no_request(student: Student, chance: Random) -> None:
    """No description has four words in a row that are four words in a row of a request in the notebook, and
    half of those requests find their tool."""
    own = {name: _runs(text) for name, text in _fair(student, chance).items()}
    quoted = {run for texts in _PUBLIC.values() for text in texts for run in _runs(text)}
    for name, runs in own.items():
        if runs & quoted:
            raise Wrong(f"the description of {name} quotes a request: {' '.join(min(runs & quoted))!r}")


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    return {tuple(words[i : i + QUOTE]) for i in range(len(words) - QUOTE + 1)}
