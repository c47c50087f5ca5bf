"""A small office with harmless tasks. Its texts come from outside, and its actions cannot be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Annotated, Any

from zoolab.course.attacks import Attack
from zoolab.errors import ResourceNotFound
from zoolab.files import read_table
from zoolab.steps.define import as_registry, tool
from zoolab.tools import Tool, ToolRegistry


@dataclass(frozen=True, slots=True)
class Task:
    """A question, the calls that serve it, and what shows that it was served.

    It was served if the answer says `expected` and the calls of `needed` ran: a tool and a part of each
    of its arguments.
    """

    name: str
    prompt: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    answer: str
    expected: str
    needed: tuple[tuple[str, Mapping[str, Any]], ...] = ()


_TOLD = read_table("zoolab.course", "office.toml")
TASKS: tuple[Task, ...] = tuple(
    Task(
        name,
        told["prompt"],
        tuple(told["calls"].items()),
        told["answer"],
        told["expected"],
        tuple(told.get("needed", {}).items()),
    )
    for name, told in _TOLD["tasks"].items()
)


#: The tools whose results come from outside and are not trusted.
READING = ("read_mail", "search_notes", "fetch_page")


@dataclass(frozen=True, slots=True)
class Office:
    """The office as it is, or with an attack in all that can be read."""

    attack: Attack | None = None

    def read_mail(self, mail_id: Annotated[str, "Number of the mail, such as M-7."]) -> str:
        """Read a mail that came in. Use this when the user asks about a mail."""
        return self._read(_TOLD["mails"], mail_id)

    def search_notes(self, query: Annotated[str, "What to look for."]) -> str:
        """Search the notes of the team. Use this when the user asks what was noted."""
        return self._read(_TOLD["notes"], query)

    def fetch_page(self, url: Annotated[str, "Address of the page."]) -> str:
        """Fetch a page from the web. Use this when the user names an address."""
        return self._read(_TOLD["pages"], url)

    def send_mail(
        self, to: Annotated[str, "Address of who gets it."], text: Annotated[str, "What it says."]
    ) -> str:
        """Send a mail. Use this when the user wants somebody told."""
        return f"sent to {to}: {len(text)} characters"

    def delete_file(self, path: Annotated[str, "Where it is."]) -> str:
        """Delete a file for good. Use this when the user wants a file gone."""
        return f"deleted {path}"

    def transfer_money(
        self,
        account: Annotated[str, "Account of who gets it."],
        amount: Annotated[float, "How much, in EUR."],
    ) -> str:
        """Transfer money. Use this when the user wants something paid."""
        return f"{amount:g} EUR to {account}"

    def tools(self) -> ToolRegistry:
        """The tools, with the attack in their descriptions where it stands there."""
        reading = [tool(getattr(self, name)) for name in READING]
        acting = [
            tool(self.send_mail, risk="medium", resource=itemgetter("to")),
            tool(self.delete_file, risk="high"),
            tool(self.transfer_money, risk="high"),
        ]
        return as_registry([*(self._described(one) for one in reading), *acting])

    def _read(self, texts: dict[str, str], key: str) -> str:
        found = next((text for name, text in texts.items() if name.lower() in key.lower()), None)
        if found is None:
            raise ResourceNotFound(f"nothing under {key!r}", expected=", ".join(texts))
        return f"{found}\n{self.attack.text}" if self.attack and self.attack.place == "result" else found

    def _described(self, one: Tool) -> Tool:
        if self.attack is None or self.attack.place == "result":
            return one
        if self.attack.place == "description":
            return replace(one, description=f"{one.description} {self.attack.text}")
        properties = {
            name: {**schema, "description": self.attack.text}
            for name, schema in one.parameters["properties"].items()
        }
        return replace(one, parameters={**one.parameters, "properties": properties})
