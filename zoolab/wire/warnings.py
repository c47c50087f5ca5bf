"""One named warning for each part of a request that a format drops or changes.

code                 what it says
tool_choice          this choice cannot be asked for: the body has no field for it
tools_left_out       the tools are not sent at all, so that none is called
strict               the schema will not be enforced: this wire has no strict tools
schema_subset        the schema is sent whole, but uses keywords that this API does not promise to heed
tool_field           a field of a tool is left out, or filled in
foreign_tool         a tool of an API's own is sent as it is; other APIs do not know it
system_moved         a system message stood later, and now comes before all others
system_joined        two system messages become one
messages_merged      two assistant messages in a row become one
message_dropped      an empty message is left out
role_changed         a developer message becomes a system message
parts_joined         the parts of a text become one text
empty_content        missing text and empty text look the same here
message_field        a field of a message or of a call is left out, or filled in
id_made              a call had no id, and gets one
arguments_rewritten  arguments travel as an object: their spelling changes, their value does not
arguments_wrapped    arguments that are not a JSON object travel under `_raw`
result_rewritten     a result travels as an object: its spelling changes, its value does not
no_form              this wire has no form for it at all (`Trace.show_wires`; else an error)
setting_dropped      a setting has no place in this body
setting_changed      a setting comes back under another name, or in another form
setting_added        a setting that this API needs, or that must not be left to it
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zoolab.jsontext import pointer_to
from zoolab.jsontext.readonly import plain

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class WireWarning:
    """One part of a request or reply that a format cannot say, or says in another way.

    `pointer` is a JSON Pointer (RFC 6901) into the request in OpenAI's form, or into the reply.

    >>> print(WireWarning("strict", "/tools/0/function/strict", "there are no strict tools here"))
    strict at /tools/0/function/strict: there are no strict tools here
    """

    code: str
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.code} at {self.pointer}: {self.message}"


class Notes:
    """Collects warnings while a request is read."""

    def __init__(self) -> None:
        self._found: list[WireWarning] = []

    def add(self, code: str, path: Iterable[str | int], message: str) -> None:
        """Add a warning."""
        self._found.append(WireWarning(code, pointer_to(path), message))

    def add_if_changed(self, code: str, path: Iterable[str | int], message: str, *values: Any) -> None:
        """Add a warning if the two values differ."""
        before, after = values
        if type(plain(before)) is not type(plain(after)) or before != after:
            self.add(code, path, message)

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        """All of them, in the order in which they were found."""
        return tuple(self._found)
