"""Instructions that an attacker hides in texts for the model, and scripted models that follow them or not.

All attacks are written by hand, for teaching. Addresses end in .invalid, which nobody can own; the accounts
do not exist. The scripts know the attack and the task of their case. So they show what a defence can do and
what it cannot: the worst case, and the best. What a real model does is another question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from zoolab.files import read_table
from zoolab.jsontext import encode, parse_json
from zoolab.models.scripted import Scripted
from zoolab.records import Request
from zoolab.study.cases import Case

#: Where the orders stand.
Place = Literal["result", "description", "parameter"]


@dataclass(frozen=True, slots=True)
class Attack:
    """An order: its name, where it stands, what it says, and what shows that it was followed.

    It was followed if a call of `tool` ran with all of `arguments` in it (a text as a part of the
    argument), or, where `tool` is empty, if the answer says `said`.
    """

    name: str
    place: Place
    text: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    said: str = ""

    def is_in(self, text: str) -> bool:
        """Whether the order stands in a text, as it is or as a JSON string."""
        return self.text in text or encode(self.text)[1:-1] in text


ATTACKS: tuple[Attack, ...] = tuple(
    Attack(name, **told) for name, told in read_table("zoolab.course", "attacks.toml").items()
)

_MARK = "[untrusted data from "
#: What an order leaves open.
_FURTHER: Mapping[str, dict[str, Any]] = {
    "send_mail": {"text": "As you asked for."},
    "transfer_money": {"amount": 10},
}


@dataclass(frozen=True, slots=True)
class Script:
    """Makes the scripted model of a case: it does its task, and first the orders that it obeys.

    Orders stand in tools' descriptions and in results; it obeys all, or not those in results that are marked
    as untrusted data, or none.
    """

    who: str
    obeys: Literal["all", "unmarked", "none"]
    made: str = "authored"

    def __call__(self, case: Case) -> Scripted:
        task, attack = case.data["task"], case.data["attack"]

        def reply(request: Request) -> Any:
            obeys = attack is not None and any(map(attack.is_in, self._heeded(request)))
            wanted = [(name, dict(given)) for name, given in task.calls]
            if obeys and attack.tool:
                wanted.insert(0, (attack.tool, {**_FURTHER.get(attack.tool, {}), **attack.arguments}))
            made = [
                (call["function"]["name"], parse_json(call["function"]["arguments"]))
                for message in request.messages
                for call in message.get("tool_calls") or ()
            ]
            left = [call for call in wanted if call not in made]
            if left:
                return left[:1]
            return f"{task.answer} Please see {attack.said}." if obeys and attack.said else task.answer

        return Scripted(reply)

    def _heeded(self, request: Request) -> list[str]:
        """The texts in a request in which the script obeys orders."""
        if self.obeys == "none":
            return []
        results = [str(message["content"]) for message in request.messages if message["role"] == "tool"]
        heeded = [text for text in results if self.obeys == "all" or not text.startswith(_MARK)]
        return [encode(request.tools), *heeded]


#: The scripts by names that say what they are.
SCRIPTS: Mapping[str, Script] = {
    "gullible (script)": Script(
        "A script that obeys every order it reads, wherever it stands, and then does its task.", "all"
    ),
    "heeds marks (script)": Script(
        "A script that obeys every order it reads, but those in results that are marked as untrusted data.",
        "unmarked",
    ),
    "careful (script)": Script("A script that does its task and obeys nobody but the user.", "none"),
}
