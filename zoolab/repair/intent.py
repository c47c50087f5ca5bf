"""The guard: does a broken text mean what is proposed for it?"""

from __future__ import annotations

from typing import Any

from zoolab.jsontext import NotStrictJSON, excerpt, parse_json
from zoolab.repair.reader import Reader
from zoolab.repair.report import Refused
from zoolab.repair.wrapping import unwrapped


def keeps_intent(raw: str, proposed: str) -> bool:
    """Whether `raw` is a sloppy way to write the JSON `proposed`: no word is lost, added or moved.

    A number or a boolean may stand in quotes in `raw`, a pair may stand there twice, and brackets may be
    missing at its end. Strings that are not closed, and more than one object, keep nothing. Never raises.

    >>> keeps_intent("{'to': 'Ada', 'n': '58'", '{"to": "Ada", "n": 58}')
    True
    >>> keeps_intent('{"to": "Ada"', '{"to": "Bob"}'), keeps_intent('{"to": "Ad', '{"to": "Ad"}')
    (False, False)
    """
    try:
        check_intent(raw, proposed)
    except (Refused, NotStrictJSON):
        return False
    return True


def check_intent(raw: str, proposed: str) -> None:
    """Raise what speaks against a proposal.

    >>> check_intent('{"a": 1', '{"a": 2}')
    Traceback (most recent call last):
    zoolab.repair.report.Refused: 2 is not what stands at character 6: "1"
    """
    Reader(unwrapped(raw)).read(parse_json(proposed))


def check_whole(raw: str, said: dict[str, Any]) -> None:
    """Raise if a text that becomes arguments ends where more may follow: 12 may have been 120.

    >>> check_whole('{"amount": 12', {"amount": 12})
    Traceback (most recent call last):
    zoolab.repair.report.Refused: the text ends where more may follow
    """
    reader = Reader(unwrapped(raw))
    reader.read(said)
    if reader.may_go_on:
        raise Refused("the text ends where more may follow")


def one_object(value: Any) -> dict[str, Any]:
    """The value, if it is an object.

    >>> one_object([])
    Traceback (most recent call last):
    zoolab.repair.report.Refused: not one object: []
    """
    if not isinstance(value, dict):
        raise Refused(f"not one object: {excerpt(value)}")
    return value
