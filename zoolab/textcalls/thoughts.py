"""What of a text is only thought. A call in a thought was weighed, not made."""

from __future__ import annotations

from zoolab.textcalls.calls import MARKS


def spoken(text: str) -> tuple[int, int]:
    """Return where what is spoken begins and ends: after the last thought, and before one that is open.

    The mark that begins a thought may be missing, because many templates write it into the prompt.

    >>> spoken("<think>Add?</think>Hello."), spoken("Add?</think>Hello."), spoken("Hello. <think>Add")
    ((19, 25), (12, 18), (0, 7))
    """
    begin = 0
    end = len(text)
    in_channel = False
    for mark in MARKS["thought"].finditer(text):
        if mark["close"] or (in_channel and mark["over"] is not None):
            begin = mark.end()
            end = len(text)
            in_channel = False
        elif (mark["open"] or mark["channel"]) and end == len(text):
            end = mark.start()
            in_channel = bool(mark["channel"])
    return begin, end
