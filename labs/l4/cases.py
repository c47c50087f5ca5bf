"""The cases of lab 4: history. The conversations and the sizes of their messages come from here."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from zoolab.grading import Callback, Lab, Student, Wrong, case
from zoolab.jsontext import canonical

LAB = Lab("l4", "History", functions=("condense",))

Message = dict[str, Any]
Unit = list[Message]

LENGTHS = {"system": 10, "developer": 6, "user": 4, "assistant": 9}
PINNED = ("system", "developer")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many tokens a message takes: each model counts in a way of its own, so each case has its own."""

    base: int
    characters: int

    def of(self, message: Any) -> int:
        """What the student asks; the size of anything but a message is an error."""
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise TypeError("tokens_of takes one message, a dict")
        return (
            self.base + len(canonical([message.get("content"), message.get("tool_calls")])) // self.characters
        )

    def total(self, messages: list[Message]) -> int:
        """The size of several."""
        return sum(map(self.of, messages))


def _sizes() -> Sizes:
    """The same in every case but the one about sizes, or equal work would get unequal points."""
    return Sizes(5, 3)


def _text(chance: Random, words: int = 0) -> str:
    """Which words is drawn, but not how many: all have five letters, so sizes are the same for all."""
    chosen = chance.choices(WORDS, k=words or 7)
    return f"{' '.join(chosen)} {chance.randrange(10**5, 10**6)}"


def _says(chance: Random, role: str, words: int = 0) -> Message:
    return {"role": role, "content": _text(chance, words or LENGTHS[role])}


def _calls(chance: Random, ids: list[str], text: str | None = None, words: int = 0) -> Unit:
    """A reply with a call for each id, and their results."""
    asked = [
        {
            "id": id,
            "type": "function",
            "function": {"name": chance.choice(WORDS), "arguments": json.dumps({"of": _text(chance, 2)})},
        }
        for id in ids
    ]
    results = [
        {"role": "tool", "tool_call_id": id, "content": _text(chance, words or 3 + 4 * number)}
        for number, id in enumerate(ids)
    ]
    return [{"role": "assistant", "content": text, "tool_calls": asked}, *results]


def _id(chance: Random) -> str:
    return f"call_{chance.getrandbits(40):010x}"


def _talk(chance: Random, rounds: int, after: int = 1, calls: int = 1) -> list[Unit]:
    """A system prompt and rounds of question, calls, answer; the last has `after` replies with calls only."""
    units: list[Unit] = [[_says(chance, "system")]]
    for _ in range(rounds):
        units.append([_says(chance, "user")])
        units.append(_calls(chance, [_id(chance) for _ in range(calls)]))
        units.append([_says(chance, "assistant")])
    units.append([_says(chance, "user")])
    return [*units, *(_calls(chance, [_id(chance) for _ in range(calls)]) for _ in range(after))]


def _flat(units: list[Unit]) -> list[Message]:
    return [message for unit in units for message in unit]


def _keeps(units: list[Unit], budget: int, sizes: Sizes) -> list[Message]:
    """The one right answer: system messages, the last question, and the newest units that fit with them."""
    questions = [number for number, unit in enumerate(units) if unit[0]["role"] == "user"]
    kept = {number for number, unit in enumerate(units) if unit[0]["role"] in PINNED} | set(questions[-1:])
    left = budget - sum(sizes.total(units[number]) for number in kept)
    for number in reversed(range(len(units))):
        if number in kept:
            continue
        left -= sizes.total(units[number])
        if left < 0:
            break
        kept.add(number)
    return _flat([units[number] for number in sorted(kept)])


def _condensed(student: Student, units: list[Unit], budget: int, sizes: Sizes) -> list[Message]:
    """The messages that the student keeps of a conversation."""
    given = _flat(units)
    came = student.call("condense", given, budget, Callback(sizes.of, "tokens_of")).value
    if not isinstance(came, list) or not all(isinstance(message, dict) for message in came):
        raise Wrong("what `condense` returned is not a list of messages", walk=given)
    return came


def _shorter(student: Student, units: list[Unit], budget: int, sizes: Sizes) -> list[Message]:
    """As `_condensed`, for a conversation that is too long."""
    came = _condensed(student, units, budget, sizes)
    if not came:
        raise Wrong("nothing was kept", walk=_flat(units))
    if len(came) >= len(_flat(units)):
        raise Wrong("a conversation that is over the budget came back no shorter", walk=_flat(units))
    return came


def _exactly(student: Student, units: list[Unit], budget: int, sizes: Sizes) -> None:
    """The one right answer, or what is wrong with the one that came."""
    came, wanted = _condensed(student, units, budget, sizes), _keeps(units, budget, sizes)
    if canonical(came) == canonical(wanted):
        return
    known = {canonical(message) for message in _flat(units)}
    if any(canonical(message) not in known for message in came):
        raise Wrong("a message came back that is none of the conversation's", walk=came)
    if _torn(came):
        raise Wrong("a call stands without its result, or a result without its call", walk=came)
    if len(came) == len(wanted):
        raise Wrong("other messages were kept than the task says, or in another order", walk=came)
    raise Wrong(
        f"{'more' if len(came) > len(wanted) else 'fewer'} messages were kept than the task says", walk=came
    )


def _budgets(units: list[Unit], sizes: Sizes, every: int = 3) -> list[int]:
    """Budgets at which some units have to go: what must stay fits, and so does a plain cut before each third
    message, one of every kind. None is drawn, or equal work would get unequal points."""
    must = sizes.total(_keeps(units, 0, sizes))
    messages = _flat(units)
    cuts = {must + sizes.total(messages[number:]) for number in range(1, len(messages) + 1, every)}
    return sorted(cut for cut in cuts if cut < sizes.total(messages))


def _within_units(units: list[Unit], sizes: Sizes) -> list[int]:
    """Budgets at which a cut by size alone falls between a call and a result, after the last question."""
    must = sizes.total(_keeps(units, 0, sizes))
    newest = _flat(units[-2:])
    cuts = [number for number, message in enumerate(newest) if message["role"] == "tool"]
    return [must + sizes.total(newest[number:]) for number in cuts]


def _torn(messages: list[Message]) -> bool:
    """Whether the calls of a message are not answered right after it, or a result stands alone."""
    waiting: list[Any] = []
    for message in messages:
        if message.get("role") == "tool":
            if not waiting or message.get("tool_call_id") != waiting.pop(0):
                return True
            continue
        if waiting:
            return True
        calls = message.get("tool_calls")
        waiting = (
            [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        )
    return bool(waiting)


@case(points=2, hint="Add up `tokens_of(message)` over all that you return.", public=True)
def stays_within_the_budget(student: Student, chance: Random) -> None:
    """What comes back of a conversation that is too long is within the budget, and not empty."""
    units, sizes = _talk(chance, 3), _sizes()
    for budget in _budgets(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if any(not isinstance(message.get("role"), str) for message in came) or sizes.total(came) > budget:
            raise Wrong("what came back is over the budget", walk=came)


@case(points=1, hint="Set the system messages aside before you count back from the end.", public=True)
def keeps_the_system_prompt(student: Student, chance: Random) -> None:
    """The system prompt stays, at its place, however old it is."""
    units, sizes = _talk(chance, 3), _sizes()
    for budget in _budgets(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if canonical(came[0]) != canonical(units[0][0]):
            raise Wrong("the system prompt is not the first message any more", walk=came)


@case(points=2, hint="In a long chain of calls the question is far from the end. It stays.", public=True)
def keeps_the_question(student: Student, chance: Random) -> None:
    """The last message of the user stays, also when many calls came after it."""
    units, sizes = _talk(chance, 2, after=5), _sizes()
    question = next(unit for unit in reversed(units) if unit[0]["role"] == "user")
    for budget in _within_units(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if not any(canonical(message) == canonical(question[0]) for message in came):
            raise Wrong("what the user asked last is gone", walk=came)


@case(points=3, hint="Group first: a reply with calls and its `tool` messages are one unit.", public=True)
def calls_and_results_together(student: Student, chance: Random) -> None:
    """A reply with calls and all of its results stay together or go together, whatever the budget."""
    units, sizes = _talk(chance, 1, after=2, calls=2), _sizes()
    seen = 0
    for budget in _within_units(units, sizes):
        came = _shorter(student, units, budget, sizes)
        seen += any(message.get("role") == "tool" for message in came)
        if _torn(came):
            raise Wrong("a call stands without its result, or a result without its call", walk=came)
    if not seen:
        raise Wrong("no call was kept, even where there was room for it", walk=_flat(units))


@case(points=2, hint="Leave out whole messages. Never shorten, rewrite, reorder or add one.", public=True)
def messages_stay_as_they_were(student: Student, chance: Random) -> None:
    """What is kept stays as it was: the same messages, in the same order, each once, arguments untouched."""
    units, sizes = _talk(chance, 2, after=2, calls=2), _sizes()
    given = [canonical(message) for message in _flat(units)]
    most = 0
    for budget in (sizes.total(_flat(units)) - 1, *_budgets(units, sizes)):
        came = [canonical(message) for message in _shorter(student, units, budget, sizes)]
        left = iter(given)
        if not all(message in left for message in came):
            walk = [json.loads(message) for message in came]
            raise Wrong("a message was changed, added, repeated or moved", walk=walk)
        most = max(most, len(came))
    if most < len(given) // 2:
        raise Wrong("less than half of the messages came back, whatever the budget", walk=_flat(units))


@case(points=2, hint="Stop only when the next older unit does not fit. Budget reached exactly is within it.")
def no_more_goes_than_must(student: Student, chance: Random) -> None:
    """As much is kept as fits. A conversation that fits exactly comes back whole; one token less, and the
    oldest unit goes, and no more."""
    units, sizes = _talk(chance, 3), _sizes()
    whole = sizes.total(_flat(units))
    for budget in (whole - 1, whole, whole + chance.randrange(1, 50), 10 * whole):
        _exactly(student, units, budget, sizes)
    for without_prompt in (units[1:], units[3:]):
        _exactly(student, without_prompt, whole, sizes)
    for budget in _budgets(units, sizes):
        _exactly(student, units, budget, sizes)


@case(points=2, hint="Go back from the newest unit and stop at the first that does not fit; do not skip it.")
def oldest_go_first(student: Student, chance: Random) -> None:
    """The oldest units go first: where one does not fit, nothing older is kept, however small it is."""
    small = [[_says(chance, "assistant", 1)], _calls(chance, [_id(chance)], words=1)]
    large = _calls(chance, [_id(chance)], words=60)
    units = [[_says(chance, "system")], *small, large, [_says(chance, "assistant", 1)], *_talk(chance, 0)[1:]]
    sizes = _sizes()
    without = [unit for unit in units if unit is not large]
    _exactly(student, units, sizes.total(_flat(without)) + chance.randrange(5), sizes)


@case(
    points=2, hint="Ids repeat: a result belongs to the reply that it follows, not to any reply with its id."
)
def ids_repeat(student: Student, chance: Random) -> None:
    """Calls of different replies may have the same id: the results of a reply are the ones that follow it. A
    question that was asked before, word by word, is another message."""
    sizes, question = _sizes(), _says(chance, "user")
    chain = [_calls(chance, ["call_0", "call_1"][: 1 + number % 2]) for number in range(5)]
    units = [[_says(chance, "system")], [question], *chain[:3], [dict(question)], *chain[3:]]
    _exactly(student, units, sizes.total(_keeps(units, 0, sizes)), sizes)
    for budget in _budgets(units, sizes, every=1):
        _exactly(student, units, budget, sizes)


@case(
    points=1,
    hint="`assistant` with calls begins a unit; it may have text too. `tool_calls: null` begins none.",
)
def text_beside_calls(student: Student, chance: Random) -> None:
    """A reply with text and calls is a reply with calls; one whose `tool_calls` is null or [] is not."""
    sizes = _sizes()
    units = [[_says(chance, "system")]]
    either: list[Any] = [None, [], None, []]
    for nothing in either:
        units += [_calls(chance, [_id(chance), _id(chance)], text=_text(chance))]
        units += [[{**_says(chance, "assistant"), "tool_calls": nothing}], [_says(chance, "user")]]
    for budget in _budgets(units, sizes):
        _exactly(student, units, budget, sizes)


@case(points=1, hint="What must stay, stays, even over the budget; nothing else does.")
def too_small_a_budget(student: Student, chance: Random) -> None:
    """If the system messages and the last question alone are over the budget, just these come back."""
    units, sizes = _talk(chance, 2, after=2), _sizes()
    must = sizes.total(_keeps(units, 0, sizes))
    for budget in (1, must - 1, must):
        _exactly(student, units, budget, sizes)


@case(points=1, hint="Go by the role, not by the position: `system` and `developer`.")
def every_system_message(student: Student, chance: Random) -> None:
    """All messages with role `system` or `developer` stay, in the middle of a conversation too."""
    first, *rest = _talk(chance, 3)
    units = [first, [_says(chance, "developer")], *rest]
    units.insert(7, [_says(chance, "system")])
    sizes = _sizes()
    for budget in _budgets(units, sizes):
        _exactly(student, units, budget, sizes)


@case(points=1, hint="Do not estimate: models count differently. Ask `tokens_of` about every message.")
def sizes_are_asked_for(student: Student, chance: Random) -> None:
    """Sizes are what `tokens_of` says, however it counts."""
    units = _talk(chance, 3)
    for sizes in (Sizes(0, 1), Sizes(40 + chance.randrange(20, 50), 10**6)):
        for budget in _budgets(units, sizes):
            _exactly(student, units, budget, sizes)


@case(points=1, hint="Build a list of your own; `pop` and `remove` change the caller's.")
def callers_list_stays(student: Student, chance: Random) -> None:
    """The list that the caller gave is afterwards as it was before."""
    units, sizes = _talk(chance, 3), _sizes()
    given = _flat(units)
    for budget in _budgets(units, sizes):
        answer = student.call("condense", given, budget, Callback(sizes.of, "tokens_of"))
        if canonical(answer.value) != canonical(_keeps(units, budget, sizes)):
            raise Wrong("other messages were kept than the task says", walk=given)
        if canonical(answer.args[:1]) != canonical([given]):
            raise Wrong("the caller's own list of messages was changed", walk=given)


@case(points=1, hint="Go by the role only: content may be empty, null or a list, and keys may be new to you.")
def messages_of_every_kind(student: Student, chance: Random) -> None:
    """What a message holds does not matter: empty text, null, a list of parts, keys that are new; a question
    without text is the user's last message too."""
    sizes = _sizes()
    units = [[_says(chance, "system")]]
    parts = [{"type": "text", "text": _text(chance)}]
    for content in ("", None, parts):
        units += [[_says(chance, "user")], [{"role": "assistant", "content": content, "refusal": None}]]
        units += [[{"role": "user", "content": content, "name": "ada"}], _calls(chance, [_id(chance)])]
    for last in range(4, len(units) + 1, 4):
        for budget in _budgets(units[:last], sizes, every=1):
            _exactly(student, units[:last], budget, sizes)
