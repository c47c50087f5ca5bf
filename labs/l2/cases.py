"""The cases of lab 2: history. The conversations and the sizes of their messages come from here."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from zoolab.jsontext import canonical
from zoolab_grader import Callback, Lab, Student, Wrong, case

LAB = Lab("l2", "History", functions=("condense",))

Message = dict[str, Any]
Unit = list[Message]

LENGTHS = {"system": 10, "developer": 6, "user": 4, "assistant": 9}
PINNED = ("system", "developer")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many tokens a message takes: one, but in the cases about sizes, or who counts messages would lose
    all points. `known` are messages that take as much as others do."""

    base: int = 1
    characters: int = 10**6
    known: dict[str, int] = field(default_factory=dict)

    def of(self, message: Any) -> int:
        """What the student asks; the size of anything but a message is an error."""
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise TypeError("tokens_of takes one message, a dict")
        written = canonical([message.get("content"), message.get("tool_calls")])
        return self.known.get(canonical(message), self.base + len(written) // self.characters)

    def total(self, messages: list[Message]) -> int:
        """The size of several."""
        return sum(map(self.of, messages))


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


def _condensed(
    student: Student, units: list[Unit], budget: int, sizes: Sizes, added: bool = False
) -> list[Message]:
    """The messages that the student keeps of a conversation, and, if `added`, a text that was added."""
    given = _flat(units)
    came = student.call("condense", given, budget, Callback(sizes.of, "tokens_of")).value
    if not isinstance(came, list) or not all(isinstance(message, dict) for message in came):
        raise Wrong("what `condense` returned is not a list of messages", walk=given)
    known = {canonical(message) for message in given}
    return [message for message in came if added or canonical(message) in known or _of_calls(message)]


def _of_calls(message: Message) -> bool:
    return message.get("role") == "tool" or bool(message.get("tool_calls"))


def _shorter(
    student: Student, units: list[Unit], budget: int, sizes: Sizes, added: bool = False
) -> list[Message]:
    """As `_condensed`, for a conversation that is too long. It may be a little too long afterwards, too."""
    came = _condensed(student, units, budget, sizes, added)
    if not came:
        raise Wrong("nothing was kept", walk=_flat(units))
    if len(came) >= len(_flat(units)):
        least = sizes.total(_keeps(units, 0, sizes))
        if len(_condensed(student, units, least, sizes, added)) >= len(_flat(units)):
            raise Wrong("a conversation that is over the budget came back no shorter", walk=_flat(units))
    return came


def _exactly(student: Student, units: list[Unit], budget: int, sizes: Sizes) -> None:
    """The one right answer, or what is wrong with the one that came."""
    came, wanted = _condensed(student, units, budget, sizes, added=True), _keeps(units, budget, sizes)
    if canonical(came) == canonical(wanted):
        return
    known = {canonical(message) for message in _flat(units)}
    if any(canonical(message) not in known for message in came):
        raise Wrong("a message came back that is none of the conversation's", walk=came)
    if _torn(came) and not _torn(wanted):
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


def _kept_alike(
    student: Student, plain: list[Unit], odd: list[Unit], every: int = 2, free: Sequence[Message] = ()
) -> None:
    """Of two conversations that differ in something that does not matter, the same messages are kept.

    The messages that are `free` in `plain` take no tokens: whether they are counted does not matter here.

    What else is wrong with the student's code is wrong with both, and the business of other cases.
    """
    one, other = _flat(plain), _flat(odd)
    sizes = Sizes(known={canonical(message): 0 for message in free})
    alike = Sizes(known={canonical(b): sizes.of(a) for a, b in zip(one, other, strict=True)})
    pairs = {canonical(a): canonical(b) for a, b in zip(one, other, strict=True)}
    _keeps_some(student, plain)
    for budget in _budgets(plain, sizes, every=every):
        wanted = [_shown(pairs, message) for message in _shorter(student, plain, budget, sizes)]
        came = _shorter(student, odd, budget, alike)
        if [_shown({text: text for text in pairs.values()}, message) for message in came] != wanted:
            raise Wrong("other messages were kept than of the same conversation without this", walk=came)


def _shown(texts: dict[str, str], message: Message) -> str:
    return texts.get(canonical(message), str(message.get("role")))


def _keeps_some(student: Student, units: list[Unit]) -> None:
    """More of a conversation is kept than has to be, if the budget is large by any estimate."""
    came = _condensed(student, units, 10**9, Sizes())
    if len(came) < len(_flat(units)) // 4 or len(came) <= len(_keeps(units, 0, Sizes())):
        raise Wrong("of a conversation that fits, nearly nothing came back", walk=came)


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
    units, sizes = _talk(chance, 3, after=0), Sizes()
    for budget in _budgets(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if any(not isinstance(message.get("role"), str) for message in came) or sizes.total(came) > budget:
            raise Wrong("what came back is over the budget", walk=came)


@case(points=1, hint="Set the system messages aside before you count back from the end.", public=True)
def keeps_the_system_prompt(student: Student, chance: Random) -> None:
    """The system prompt stays, at its place, however old it is."""
    units, sizes = _talk(chance, 3), Sizes()
    for budget in _budgets(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if canonical(came[0]) != canonical(units[0][0]):
            raise Wrong("the system prompt is not the first message any more", walk=came)


@case(points=2, hint="In a long chain of calls the question is far from the end. It stays.", public=True)
def keeps_the_question(student: Student, chance: Random) -> None:
    """The last message of the user stays, also when many calls came after it."""
    units, sizes = _talk(chance, 2, after=5), Sizes()
    question = next(unit for unit in reversed(units) if unit[0]["role"] == "user")
    for budget in _within_units(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if not any(canonical(message) == canonical(question[0]) for message in came):
            raise Wrong("what the user asked last is gone", walk=came)


@case(points=3, hint="Group first: a reply with calls and its `tool` messages are one unit.", public=True)
def calls_and_results_together(student: Student, chance: Random) -> None:
    """A reply with calls and all of its results stay together or go together, whatever the budget."""
    units, sizes = _talk(chance, 1, after=2, calls=6), Sizes()
    given = [canonical(message) for message in _flat(units)]
    _keeps_some(student, units)
    for budget in _within_units(units, sizes):
        came = _shorter(student, units, budget, sizes)
        if all(canonical(message) in given for message in came):  # their order is judged below
            came = sorted(came, key=lambda message: given.index(canonical(message)))
        if _torn(came):
            raise Wrong("a call stands without its result, or a result without its call", walk=came)


@case(points=2, hint="Leave out whole messages. Never shorten, rewrite, reorder or add one.", public=True)
def messages_stay_as_they_were(student: Student, chance: Random) -> None:
    """What is kept stays as it was: the same messages, in the same order, each once, arguments untouched."""
    units, sizes = _talk(chance, 2, after=2, calls=2), Sizes()
    units[-1][-1]["content"] = _text(chance, 2_000)
    for call, written in zip(
        units[-1][0]["tool_calls"], ('{"of":"\\u00e9",  "n": 1.50}', '{"of": '), strict=True
    ):
        call["function"]["arguments"] = written
    units[-1][1:] = units[-1][:0:-1]  # the results of calls that run side by side come in any order
    _keeps_some(student, units)
    for budget in (sizes.total(_flat(units)) - 1, *_budgets(units, sizes)):
        came = [canonical(message) for message in _shorter(student, units, budget, sizes, added=True)]
        left = map(canonical, _flat(units))
        if not all(message in left for message in came):
            walk = [json.loads(message) for message in came]
            raise Wrong("a message was changed, added, repeated or moved", walk=walk)


@case(points=2, hint="Stop only when the next older unit does not fit. Budget reached exactly is within it.")
def no_more_goes_than_must(student: Student, chance: Random) -> None:
    """As much is kept as fits. A conversation that fits exactly comes back whole; one token less, and the
    oldest unit goes, and no more."""
    units, sizes = _talk(chance, 3), Sizes()
    whole = sizes.total(_flat(units))
    waiting = [*units, _calls(chance, [_id(chance)])[:1]]
    for some in (units, units[1:], units[3:], waiting, _talk(chance, 17)):
        for budget in (sizes.total(_flat(some)), 100 * whole):
            if len(_condensed(student, some, budget, sizes)) != len(_flat(some)):
                raise Wrong("of a conversation that fits, less or more came back", walk=_flat(some))
    last = [unit for unit in units if unit[0]["role"] == "user"][-1]
    for budget in (whole - 1, *_budgets(units, sizes)):
        came = _shorter(student, units, budget, sizes)
        kept = {canonical(message) for message in came}
        if not kept <= {canonical(message) for message in _flat(units)}:
            continue  # changed messages are the business of another case
        gone = [unit for unit in units if not any(canonical(message) in kept for message in unit)]
        free = [unit for unit in gone if unit[0]["role"] not in PINNED and unit is not last]
        if free and sizes.total(_flat([free[-1]])) <= budget - sum(map(sizes.of, came)):
            raise Wrong("a unit was left out for which there was room", walk=came)


@case(points=2, hint="Go back from the newest unit and stop at the first that does not fit; do not skip it.")
def oldest_go_first(student: Student, chance: Random) -> None:
    """The oldest units go first: where one does not fit, nothing older is kept, however small it is."""
    small = [[_says(chance, "assistant", 1)], _calls(chance, [_id(chance)], words=1)]
    large = _calls(chance, [_id(chance) for _ in range(6)])
    units = [[_says(chance, "system")], *small, large, [_says(chance, "assistant", 1)], *_talk(chance, 0)[1:]]
    sizes = Sizes()
    whole = sizes.total(_flat(units))
    _keeps_some(student, units)
    most = [canonical(message) for message in _shorter(student, units, whole - 1, sizes)]
    came = _shorter(student, units, whole - sizes.total(large) + chance.randrange(4), sizes)
    kept = {canonical(message) for message in came}
    # Who never keeps the large unit as a whole has another mistake.
    never = any(canonical(message) not in most for message in large)
    gone = any(canonical(message) not in kept for message in large)
    if gone and not never and any(canonical(message) in kept for message in _flat(small)):
        raise Wrong("something is kept that is older than a unit that is not", walk=came)


@case(
    points=1, hint="Ids repeat: a result belongs to the reply that it follows, not to any reply with its id."
)
def ids_repeat(student: Student, chance: Random) -> None:
    """Calls of different replies may have the same id: the results of a reply are the ones that follow it. A
    question that was asked before, word by word, is another message."""
    question, other = _says(chance, "user"), _says(chance, "user")
    chain = [
        _calls(chance, [f"call_{number}", f"call_{number + 4}"][: 1 + number % 2]) for number in range(5)
    ]
    again = json.loads(re.sub(r"call_[1-9]", lambda id: f"call_{id[0] > 'call_4':d}", json.dumps(chain)))
    plain = [[_says(chance, "system")], *_talk(chance, 1)[1:3], [other], *chain[:3], [question], *chain[3:]]
    _kept_alike(student, plain, [*plain[:3], [dict(question)], *again[:3], [question], *again[3:]])


@case(
    points=1,
    hint="`assistant` with calls begins a unit; it may have text too. `tool_calls: null` begins none.",
)
def text_beside_calls(student: Student, chance: Random) -> None:
    """A reply with text and calls is a reply with calls; one whose `tool_calls` is null or [] is not."""
    plain: list[Unit] = [[_says(chance, "system")]]
    odd, free = list(plain), []
    either: list[Any] = [None, []]
    for nothing in either:
        calls, answer = _calls(chance, [_id(chance), _id(chance)]), _says(chance, "assistant")
        question = [_says(chance, "user")]
        free.append(calls[0])
        plain += [question, calls, [answer]]
        odd += [
            question,
            [{**calls[0], "content": _text(chance)}, *calls[1:]],
            [{**answer, "tool_calls": nothing}],
        ]
    _kept_alike(student, plain, odd, every=1, free=free)


@case(points=1, hint="What must stay, stays, even over the budget; nothing else does.")
def too_small_a_budget(student: Student, chance: Random) -> None:
    """If the system messages and the last question alone are over the budget, just these come back."""
    units, sizes = _talk(chance, 2, after=2), Sizes()
    must = _keeps(units, 0, sizes)
    known = {canonical(message) for message in must}
    whole = _shorter(student, units, sizes.total(must) + sizes.total(units[-1]), sizes)
    wanted = [each for message in whole if (each := canonical(message)) in known]
    if not wanted:
        return  # whoever loses them all fails the cases about each of them
    for budget in range(sizes.total(must) + 1):
        came = [canonical(message) for message in _shorter(student, units, budget, sizes)]
        if came != wanted:
            walk = [json.loads(message) for message in came]
            raise Wrong(
                "with a budget too small, other messages came back than those that must stay", walk=walk
            )


@case(points=1, hint="Go by the role, not by the position: `system` and `developer`. None of them is a stop.")
def every_system_message(student: Student, chance: Random) -> None:
    """All messages with role `system` or `developer` stay, in the middle of a conversation too, and what is
    older than they are is kept as else."""
    first, *rest = _talk(chance, 3)
    inserted = [[_says(chance, "developer")], [_says(chance, "system")]]
    units, sizes = [first, *rest[:3], inserted[0], *rest[3:9], inserted[1], *rest[9:]], Sizes()
    if first[0] not in _shorter(student, [first, *rest], sizes.total(_flat(rest)), sizes):
        return  # whoever loses the only one fails the case about it
    for budget in _budgets(units, sizes, every=2):
        came = [canonical(message) for message in _shorter(student, units, budget, sizes)]
        if any(canonical(unit[0]) not in came for unit in inserted):
            raise Wrong("a message with role system or developer is gone", walk=[json.loads(m) for m in came])
        else_kept = _shorter(student, [first, *inserted, *rest], budget, sizes)
        if sorted(came) != sorted(map(canonical, else_kept)):
            raise Wrong("other messages were kept than if the system messages were all at the beginning")


@case(points=1, hint="Do not estimate: models count differently. Ask `tokens_of` about every message.")
def sizes_are_asked_for(student: Student, chance: Random) -> None:
    """Sizes are what `tokens_of` says, however it counts."""
    units = [*_talk(chance, 3), _calls(chance, [_id(chance)])]
    ask, result = map(canonical, units[-1])
    _keeps_some(student, units)
    for budget in _budgets(units, Sizes())[2:]:
        wanted = _shorter(student, units, budget, Sizes())
        for small in (5, 95):  # of 100 that the newest unit has
            sizes = Sizes(50, known={ask: small, result: 100 - small})
            if canonical(came := _shorter(student, units, 50 * budget, sizes)) != canonical(wanted):
                raise Wrong("what is kept is not what fits, by what `tokens_of` said", walk=came)
    said, found = _says(chance, "assistant"), []
    for heavy in (said, {**said, "name": "ada"}):
        named = [*units[:-1], [heavy], units[-1]]
        found.append(len(_shorter(student, named, 50, Sizes(known={canonical(heavy): 100}))))
    if found[0] != found[1]:
        raise Wrong("`tokens_of` was not asked about the message as it is", walk=[heavy])
    must = _keeps(units, 0, Sizes())
    nothing = Sizes(known={canonical(message): 0 for message in _flat(units) if message not in must})
    for budget, alike, kept in ((len(must), 10**9, _flat(units)), (len(must) - 1, len(must), must)):
        came, usual = (_condensed(student, units, *each) for each in ((budget, nothing), (alike, Sizes())))
        if usual == kept and came != kept:  # else there is another mistake
            raise Wrong("of messages without any token, others were kept than the rules say", walk=came)


@case(points=1, hint="Build a list of your own; `pop` and `remove` change the caller's.")
def callers_list_stays(student: Student, chance: Random) -> None:
    """The list that the caller gave is afterwards as it was before."""
    units, sizes = _talk(chance, 3), Sizes()
    given = _flat(units)
    for budget in (*_budgets(units, sizes), 1):
        _shorter(student, units, budget, sizes)
        tokens_of = Callback(sizes.of, "tokens_of")
        answer = student.call("condense", given, budget, tokens_of, args_after=True)
        if canonical(answer.args[:1]) != canonical([given]):
            raise Wrong("the caller's own list of messages was changed", walk=given)


@case(points=1, hint="Go by the role only: content may be empty, null or a list, and keys may be new to you.")
def messages_of_every_kind(student: Student, chance: Random) -> None:
    """What a message holds does not matter: empty text, null, none at all, a list of parts, new keys;
    a question without text is the user's last message too."""
    parts = [{"type": "text", "text": _text(chance)}]
    for content in ("", None, parts, f"  {_text(chance)}\n"):
        plain: list[Unit] = [[_says(chance, "system")]]
        odd = list(plain)
        said = [_says(chance, role) for role in ("user", "assistant", "user")]
        calls = _calls(chance, [_id(chance)])
        silent = [{key: value for key, value in calls[0].items() if key != "content"}, *calls[1:]]
        plain += [[message] for message in said] + [calls]
        kinds: list[Message] = [
            {},
            {"content": content, "refusal": None},
            {"content": content, "name": "ada"},
        ]
        odd += [[{**message, **kind}] for message, kind in zip(said, kinds, strict=True)] + [silent]
        _kept_alike(student, plain, odd, every=1, free=[calls[0], *([] if content else said[1:])])


@case(points=1, hint="Read rules 1 to 3 again and play small conversations by hand: each rule, at its edges.")
def whatever_the_conversation(student: Student, chance: Random) -> None:
    """Of any conversation, at any budget, just those messages come back that the three rules name."""
    for kind in ("user", "assistant"):
        parted = [[_says(chance, "assistant", 1)], [_says(chance, kind)], [_says(chance, "user", 1)]]
        sizes = Sizes(0, 1)
        _exactly(student, parted, sizes.total([*parted[0], *parted[2]]), sizes)
    waiting = [[_says(chance, "user", 1)], _calls(chance, [_id(chance)])[:1]]
    _exactly(student, waiting, Sizes().total(waiting[0]), Sizes())
    pinned = [[_says(chance, role)] for role in ("assistant", "assistant", "system", "user")]
    takes = zip(_flat(pinned), (5, 1, 10, 1), strict=True)
    _exactly(student, pinned, 12, Sizes(known={canonical(message): size for message, size in takes}))
    many = [[_says(chance, role, 1)] for role in ("assistant", *["user"] * 102)]
    many += [_calls(chance, [_id(chance) for _ in range(102)], words=1), [_says(chance, "user", 1)]]
    _exactly(student, many, sizes.total(_flat(many)) - 1, sizes)
    long = ["user", *["assistant"] * 102]
    for roles in (["system"] * 102 + ["user", "assistant", "user"], ["user"] * 103, long):
        many = [[_says(chance, role, 1)] for role in roles]
        _exactly(student, many, sizes.total(_keeps(many, 0, sizes)), sizes)
    shapes = Random("l4")  # any seed, the same for all: equal work, equal points
    for _ in range(40):
        units: list[Unit] = []
        for kind in shapes.choices([*LENGTHS, "calls", "calls"], k=shapes.randrange(9)):
            ids = shapes.choices(["call_0", "call_1", "call_2"], k=shapes.randrange(1, 4))
            more = (
                shapes.choice([{}, {"tool_calls": None}, {"tool_calls": []}]) if kind == "assistant" else {}
            )
            text = _text(chance, shapes.randrange(1, 9)) if shapes.random() < 0.5 else None
            made = _calls(chance, ids, text) if kind == "calls" else [{**_says(chance, kind), **more}]
            units.append(made[: shapes.choice([1, 2, 9, 9])])  # not every call has a result
        units.insert(shapes.randrange(len(units) + 1), [_says(chance, "user")])
        sizes = Sizes(*shapes.choice([(5, 3), (40, 10**6), (0, 1)]))
        fits = sizes.total(_flat(units[shapes.randrange(len(units)) :]))
        _exactly(student, units, max(fits + shapes.choice([-1, 0, 0, 1]), 1), sizes)
