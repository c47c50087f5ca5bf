"""Tools of a help desk: read a ticket, search the knowledge base, draft a reply that is not sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated

from zoolab.errors import InvalidArguments
from zoolab.steps.define import as_registry
from zoolab.toolbox.starter import look_up
from zoolab.tools import ToolRegistry
from zoolab_course.worlds.beginning import fresh

_TicketId = Annotated[str, "Ticket number, for example T-1001."]


@dataclass
class Support:
    """Tickets, articles, and the drafts that were written."""

    tickets: dict[str, dict[str, str]] = field(default_factory=fresh("support", "tickets"))
    #: Title and text, by article number.
    articles: dict[str, list[str]] = field(default_factory=fresh("support", "articles"))
    drafts: list[dict[str, str]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def get_ticket(self, ticket_id: _TicketId) -> dict[str, str]:
        """Get a support ticket: customer, status, subject and text. Use this when a ticket is mentioned."""
        return dict(look_up(self.tickets, ticket_id, "ticket"))

    def search_kb(
        self,
        query: Annotated[str, "Words to look for, for example password reset."],
        limit: Annotated[int, "At most so many articles, from 1."] = 3,
    ) -> list[dict[str, str]]:
        """Search the knowledge base; the best matches come first. Use this to find a known solution."""
        if limit < 1:
            raise InvalidArguments(f"limit is {limit}", expected="1 or more")
        words = query.lower().split()
        hits = {
            number: sum(f" {word}" in f" {title} {text}".lower() for word in words)
            for number, (title, text) in self.articles.items()
        }
        best = sorted((number for number in hits if hits[number]), key=lambda number: -hits[number])[:limit]
        rows = ((number, *self.articles[number]) for number in best)
        return [dict(zip(("id", "title", "text"), row, strict=True)) for row in rows]

    def draft_reply(
        self, ticket_id: _TicketId, message: Annotated[str, "Text of the reply, as the customer reads it."]
    ) -> dict[str, str]:
        """Save the draft of a reply; a person sends it. Use this when the answer to a customer is known."""
        ticket = self.get_ticket(ticket_id)
        if not message.strip():
            raise InvalidArguments("the message is blank", expected="the text of the reply")
        with self._lock:
            draft = {"draft_id": f"draft_{len(self.drafts) + 1}", "ticket_id": ticket_id}
            self.drafts.append({**draft, "to": ticket["customer"], "message": message})
        return draft


def support_tools(world: Support | None = None) -> ToolRegistry:
    """Return the tools of a help desk, or of a fresh one."""
    world = world or Support()
    return as_registry([world.get_ticket, world.search_kb, world.draft_reply])
