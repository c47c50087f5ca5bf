"""The cases of lab 3: define.

A schema is judged by what it accepts and refuses, a description by what a lexical model chooses with it; how
either is written is the student's business. Hosts, services, words, numbers and orders come from `chance`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

from zoolab.errors import ZoolabError
from zoolab.retrieval import BM25
from zoolab.schema.checker import SchemaChecker
from zoolab_grader import Lab, Student, Wrong, case

LAB = Lab(
    "l3",
    "Define three tools",
    functions=("check_disk_usage", "search_logs", "open_ticket"),
    uses=("pydantic",),
)

Call = dict[str, Any]

_SERVICES = ("nginx", "postgres", "redis", "cron", "postfix", "grafana")
_WHOLE = "all of it"
_LEVELS = ("debug", "info", "warning", "error")
_NO_CHOICES = (
    "very high",
    "critical",
    "urgent",
    "medium",
    "fatal",
    "trace",
    "warn",
    "%",
    "GB",
    "bytes",
    "none",
)
_SEVERITIES, _UNITS = ("low", "normal", "high"), ("percent", "gigabytes")
#: What may be chosen for each of the arguments that have choices.
_CHOICES = {"unit": _UNITS, "level": _LEVELS, "severity": _SEVERITIES}
# fmt: off
#: The arguments that each tool needs; the others may be left out.
_REQUIRED = {
    "check_disk_usage": ("host",), "search_logs": ("service", "level"),
    "open_ticket": ("title", "severity", "contact"),
}
_FOUND_FOR = {
    "check_disk_usage": ("disk", "usage", "space"), "search_logs": ("logs", "lines", "errors"),
    "open_ticket": ("ticket", "problem", "support"),
}
_REQUESTS = {
    "check_disk_usage": (
        "How much space is left on the disk of {}?", "Disk usage of {}, please.",
        "I want to see the usage of the disk space on {}.", "Will the disk of {} run out of space?",
        "Is any space left on {}?",
    ),
    "search_logs": (
        "Show me the last lines of the logs of {}.", "Are there errors in the logs of {}?",
        "What do the logs of {} say?", "Which lines tell about errors of {}?",
    ),
    "open_ticket": (
        "Please open a ticket about the problem with {}.", "Tell support that there is a problem with {}.",
        "Support should get a ticket because of {}.", "{} is a problem, make it a ticket.",
    ),
}
#: Tools of other people: a description, and a request that is theirs.
_STRANGERS = {
    "Say how much memory a host has and how much of it is swapped. Use this when the user asks about RAM.":
        "How much memory does {} have, and is it swapped?",
    "Send packets to a host to see whether it answers. Use this when the user asks about the network.":
        "Is {} on the network, or are packets lost?",
    "Restart a service, which causes downtime. Use this only if the user asks for a restart.":
        "Restart {} now, the downtime is fine.",
    "Request a web page and return its HTTP status. Use this when the user asks about a website.":
        "Which HTTP status has the website of {}?",
    "List the backups of a host with their dates. Use this before something is restored.":
        "Which backups of {} can be restored?",
    "Say how busy the processors of a host are. Use this when the user asks about CPU load.":
        "Are the processors of {} busy, what is the CPU load?",
}
_WORD = re.compile(r"[^\W_]+")
_SMALL_WORDS = frozenset(_WORD.findall("""
a about after all an and any are as asks at be before below by can do for from has have how if in into is it
its me not of on only or out over please so than that the their them there they this to use used user uses
was what when where whether which who why will with you"""))
# fmt: on


def _tool(student: Student, name: str) -> dict[str, Any]:
    """What a tool says of itself, in OpenAI's form or without its outer part."""
    value = student.value(name)
    function = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(function, dict) or not {"description", "parameters"} & function.keys():
        raise Wrong(f"`{name}` is not a tool: a dict with `description` and `parameters`")
    return function


def _about(student: Student, name: str) -> str:
    """The description of a tool; empty if there is none."""
    description = _tool(student, name).get("description")
    return description if isinstance(description, str) else ""


def _parameters(student: Student, name: str) -> dict[str, Any]:
    parameters = _tool(student, name).get("parameters")
    if not isinstance(parameters, dict):
        raise Wrong(f"`{name}` has no dict as its `parameters`")
    return parameters


def _written(student: Student) -> Iterator[str]:
    """The names of the tools that are written; one that is not costs the case, but after the others."""
    missing = []
    for name in _REQUIRED:
        try:
            _tool(student, name)
        except Wrong as wrong:
            missing.append(wrong.happened)
        else:
            yield name
    if missing:
        others = "; in the others nothing is wrong here" if len(missing) < len(_REQUIRED) else ""
        raise Wrong(missing[0] + others)


def _own(student: Student) -> dict[str, str]:
    """The descriptions of the tools that are written."""
    own = {}
    with suppress(Wrong):
        for name in _written(student):
            own[name] = _about(student, name)
    return own


def _call(name: str, chance: Random) -> Call:
    """A right call with all of its arguments."""
    service = "nginx"  # not drawn: who lists the services in the schema fails the case about any text only
    if name == "check_disk_usage":
        return {"host": f"web{chance.randrange(9)}", "path": f"/{service}", "unit": _UNITS[0]}
    if name == "search_logs":
        words = {"words": chance.sample(_SERVICES, 2), "limit": chance.randrange(20, 100)}
        return {"service": service, "level": _LEVELS[-1], **words}
    contact = {"name": chance.choice(["Ada", "Bo", "Chen"]), "email": "someone@example.com"}
    ticket = {"title": f"{service} is slow", "severity": _SEVERITIES[-1], "contact": contact}
    return {**ticket, "hours": chance.randrange(2, 9), "public": True}


def _without(call: Call, *keys: str) -> Call:
    return {key: value for key, value in call.items() if key not in keys}


def _try(
    student: Student, name: str, right: list[Call], wrong: list[tuple[str, Any]], about: str = ""
) -> None:
    """Right calls are accepted, and wrong ones refused; each wrong one with what it has, in words.

    What is wrong with the first right call is the business of other cases, unless it is `about` this
    argument, or about none of its arguments if it is `_WHOLE`.
    """
    try:
        checker = SchemaChecker(_parameters(student, name))
        checker.compile()
    except ZoolabError as error:
        raise Wrong(f"the `parameters` of `{name}` are no usable JSON Schema: {error.what}"[:300]) from None

    def problems(call: Any) -> list[tuple[str, str]]:
        return [(problem.pointer or "", problem.message) for problem in checker.problems(call)]

    first = [found for call in right[:1] for found in problems(call)]
    at = {found: found[0].removeprefix("/").partition("/")[0] for found in first}
    known = {
        found for found in first if not about or (at[found] if at[found] in right[0] else _WHOLE) != about
    }
    for call in right:
        if new := [at for at, why in problems(call) if (at, why) not in known]:
            raise Wrong(f"`{name}` refuses a right call, because of {new[0] or 'all of it'}")
    for what, call in wrong:
        if not set(problems(call)) - known:
            raise Wrong(f"`{name}` accepts a call with {what}")


def _changed(what: str, call: Call, values: dict[str, tuple[Any, ...]]) -> list[tuple[str, Call]]:
    """The call with one argument changed, for each value in turn; `contact.name` is inside of `contact`."""
    changed = []
    for path, other in [(path, other) for path, others in values.items() for other in others]:
        outer, _, inner = path.partition(".")
        value = {**call[outer], inner: other} if inner else other
        changed.append((f"{what} in `{path}`", {**call, outer: value}))
    return changed


def _found(student: Student, texts: list[str]) -> list[str]:
    """The tools that are found for one of their words; another case judges the others."""
    own, names = _own(student), list(_written(student))
    found = [name for name in names if any(_chosen(word, texts) == own[name] for word in _FOUND_FOR[name])]
    if not found:
        raise Wrong("none of the three tools is found for one of its words")
    return found


def _of_other_types(right: Any) -> tuple[Any, ...]:
    """Values of every other type than a right one; none of them breaks a bound."""
    tried = ("20", "true", 7, 0, 1, True, False, [right], {"name": "Ada"}, None)
    others = tuple(value for value in tried if _kind(value) != _kind(right))
    return (*others, [7], ["x", None]) if isinstance(right, list) else others


def _kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def _chosen(request: str, texts: list[str]) -> str | None:
    """The lexical model: the description that shares most with a request; None where none does, or two do."""
    words = [word for word in _WORD.findall(request.lower()) if word not in _SMALL_WORDS]
    scores = BM25().scores(" ".join(words), texts)
    best = max(scores)
    return texts[scores.index(best)] if best > 0 and scores.count(best) == 1 else None


@case(1, "Compare with the tool in the notebook's first cell, key by key.", public=True)
def are_tools(student: Student, chance: Random) -> None:
    """Each of the three variables holds a tool in OpenAI's form: `type` and `function`, and in it the
    variable's name, a `description`, and as `parameters` a JSON Schema of an object."""
    for name in _written(student):
        value, call = student.value(name), _call(name, chance)
        if _tool(student, name).get("name") != name:
            raise Wrong(f"the tool in `{name}` has another `name`")
        if not isinstance(_tool(student, name).get("description"), str):
            raise Wrong(f"`{name}` has no text as its `description`")
        if value.get("type") != "function" or "function" not in value:
            raise Wrong(f'`{name}` is not {{"type": "function", "function": {{...}}}}')
        _try(student, name, [call], [("a list in place of an object", [call])])


@case(2, "The message names the argument: is its type another, or is it optional?", public=True)
def accepts_right_calls(student: Student, chance: Random) -> None:
    """A call as the table describes it is accepted, with all of its arguments and with the required ones
    only; one that has numbers in place of all arguments is not."""
    for name in _written(student):
        call = _call(name, chance)
        numbers = dict.fromkeys(call, chance.randrange(1000, 2000))
        required = {key: call[key] for key in _REQUIRED[name]}
        _try(student, name, [call, required], [("numbers in place of all arguments", numbers)])
        for key in [_WHOLE, *(key for key in call if key not in _CHOICES)]:
            _try(student, name, [call], [], about=key)


@case(
    2,
    "`required` lists what the table calls required and nothing else, in the inner object too.",
    public=True,
)
def requires_what_is_needed(student: Student, chance: Random) -> None:
    """A call without a required argument is refused, also one whose contact has no name; the optional
    ones may each be left out."""
    for name in _written(student):
        call, needed = _call(name, chance), _REQUIRED[name]
        right = [call, *(_without(call, key) for key in call if key not in needed)]
        wrong = [(f"no `{key}`", _without(call, key)) for key in needed]
        (key,) = _CHOICES.keys() & call.keys()
        few = {each: call[each] for each in needed}
        for choice in _CHOICES[key] if key in needed else ():  # none of them needs more than another
            only = {**few, key: choice}
            right.append({**only, "contact": {"name": "Ada"}} if "contact" in only else only)
        if name == "open_ticket":
            right.append({**call, "contact": _without(call["contact"], "email")})
            wrong.append(("a contact without a name", {**call, "contact": _without(call["contact"], "name")}))
        _try(student, name, right, wrong)


@case(2, "additionalProperties: false, once for each object.", public=True)
def refuses_extras(student: Student, chance: Random) -> None:
    """An argument that the table does not name is refused, in the contact too."""
    for name in _written(student):
        call, extra = _call(name, chance), chance.choice(["verbose", "force", "note", "timeout"])
        # Also what the schema itself names and the table does not.
        named = [key for key, _ in _properties(_parameters(student, name))]
        patterns = [word for part in _parts(_parameters(student, name)) for word in _of_patterns(part)]
        keys = dict.fromkeys([extra, "x-note", "_id", "HOST", "", *named, *patterns])
        tried = [(key, value) for key in keys for value in ("x", 1, True, ["x"], {}, None)]
        what = "an argument that the table does not name"
        few = {key: call[key] for key in _REQUIRED[name]}
        wrong = [
            (what, {**right, key: value}) for right in (call, few) for key, value in tried if key not in call
        ]
        if name == "open_ticket":
            contact, what = call["contact"], "a contact that has more than name and email"
            alone = _without(contact, "email")
            unknown = [(key, value) for key, value in tried if key not in contact]
            inner = [{**right, key: value} for right in (contact, alone) for key, value in unknown]
            wrong += [(what, {**call, "contact": more}) for more in inner]
        _try(student, name, [call], wrong)


@case(
    2,
    "string, integer, number, boolean, array with items, object. Optional means not in `required`, not null.",
)
def has_types(student: Student, chance: Random) -> None:
    """A value of another type than the table's is refused: "20" is no whole number and neither is 2.5, "yes"
    is not true or false, a text is no list and no contact, a list of numbers is no list of texts, and null
    is none of all this."""
    for name in _written(student):
        call = _call(name, chance)
        values = {**call, **{f"contact.{key}": value for key, value in call.get("contact", {}).items()}}
        wrong = {key: _of_other_types(value) for key, value in values.items() if key not in _CHOICES}
        for key, part in _properties(_parameters(student, name)):  # also what the schema itself lists
            places = [place for place in (key, f"contact.{key}") if place in wrong]
            listed = [value for each in _parts(part) for value in _listed(each)]
            for place in places:
                wrong[place] += tuple(v for v in listed if _kind(v) != _kind(values[place]))
        if "limit" in call:
            wrong["limit"] += (2.5,)
        _try(student, name, [call], _changed("a value of another type", call, wrong))


@case(2, "Choices belong into an enum, letter by letter; in a description they bind nobody.")
def has_choices(student: Student, chance: Random) -> None:
    """`unit`, `level` and `severity` take each of their choices and nothing else."""
    for name in _written(student):
        call = _call(name, chance)
        (key,) = _CHOICES.keys() & call.keys()
        choices = _CHOICES[key]
        # Also what the schema itself lists and the table does not.
        texts = [each for part in _parts(_parameters(student, name)) for each in _listed(part)]
        others = (*map(str.upper, choices), *map(str.title, choices), choices[1][:-1], "", *_NO_CHOICES)
        others += (None, 1, True, [choices[0]], {choices[0]: True})
        others += tuple(
            around.format(choice) for choice in choices for around in ("{}s", "an {}", " {}", "{}\n")
        )
        others += tuple(each for each in texts if isinstance(each, str) and each not in choices)
        wrong = _changed("a choice that is none", call, {key: others})
        _try(student, name, [{**call, key: choice} for choice in choices], wrong, about=key)


@case(1, "minimum and maximum; for a list, minItems.")
def has_bounds(student: Student, chance: Random) -> None:
    """`limit` is at least 1 and at most 200, `hours` is not below 0, and `words` has at least one word."""
    outside: dict[str, dict[str, tuple[Any, ...]]] = {
        "search_logs": {"limit": (0, 201, -chance.randrange(1, 99)), "words": ([],)},
        "open_ticket": {"hours": (-1, -0.001)},
    }
    inside = {"search_logs": {"limit": (1, 200), "words": (["one"],)}, "open_ticket": {"hours": (0,)}}
    for name in _written(student):
        call = _call(name, chance)
        right = [changed for _, changed in _changed("", call, inside.get(name, {}))]
        _try(student, name, [call, *right], _changed("a value out of bounds", call, outside.get(name, {})))


@case(1, "A number need not be whole; and the table has no pattern, no length and no further bound.")
def takes_any_value(student: Student, chance: Random) -> None:
    """Whatever the table allows is accepted: half hours and many hours, true and false, any text, and a list
    of many words."""
    usual, long = chance.choice(_SERVICES), "Löschen geht nicht; " * 5_000
    texts = ("x", "7", " \t ", "../a..b", "10.0.0.7", f" {usual}@1 ", "C:\\my logs\n\n.", long)
    many = {
        "check_disk_usage": {"host": texts, "path": texts},
        "search_logs": {
            "service": texts,
            "words": (*([text] for text in texts), [usual] * 300),
            "limit": tuple(range(2, 200)),
        },
        "open_ticket": {
            "title": texts,
            "hours": (0.5, 7.5, 0.1, 1 / 3, 10**9),
            "public": (True, False),
            "contact.name": texts,
            "contact.email": texts,
        },
    }
    for name in _written(student):
        call = _call(name, chance)
        _try(student, name, [call, *(changed for _, changed in _changed("", call, many[name]))], [])


@case(1, "Put a description beside each type: what it is, with its unit or an example.")
def explains_arguments(student: Student, chance: Random) -> None:
    """Each argument, those of the contact too, has a `description` of three words or more beside its type,
    and no two arguments of a tool have the same."""
    for name in _written(student):
        call = _call(name, chance)
        schemas = [
            (key, part) for key, part in _properties(_parameters(student, name)) if isinstance(part, dict)
        ]
        found = ((key, _described(part, _parameters(student, name))) for key, part in schemas)
        said = {key: text for key, text in found if text}
        keys = [*call, *call.get("contact", ())]
        short = [key for key in keys if len(_WORD.findall(said.get(key, ""))) < 3]
        if short:
            raise Wrong(f"`{short[0]}` of `{name}` has no description of three words or more")
        if len({tuple(_WORD.findall(said[key].lower())) for key in keys}) < len(keys):
            raise Wrong(f"two arguments of `{name}` are described in the same words")


def _described(part: dict[str, Any], whole: dict[str, Any]) -> str:
    """The description of an argument: its own, or that of the part to which its `$ref` points."""
    target: Any = whole
    for step in str(part.get("$ref")).split("/")[1:]:
        target = target.get(step) if isinstance(target, dict) else None
    inherited = target.get("description") if isinstance(target, dict) and "$ref" in part else None
    described = part.get("description", inherited)
    return described if isinstance(described, str) else ""


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """A schema and every dict in it, whichever way it is put together."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, (list, tuple)) else ():
        yield from _parts(inner)


def _listed(part: dict[str, Any]) -> list[Any]:
    """What a schema names as its only value, or as one of several."""
    several = part.get("enum")
    return [*([part["const"]] if "const" in part else []), *(several if isinstance(several, list) else [])]


def _of_patterns(part: dict[str, Any]) -> list[str]:
    """The words in the patterns of keys: a key that is such a word often fits the pattern."""
    patterns = part.get("patternProperties")
    return re.findall(r"\w+", " ".join(map(str, patterns))) if isinstance(patterns, dict) else []


def _properties(schema: Any) -> Iterator[tuple[str, Any]]:
    for properties in [part.get("properties") for part in _parts(schema)]:
        yield from properties.items() if isinstance(properties, dict) else ()


@case(2, "Write its three words into the sentence, and keep them out of the others.", public=True)
def is_found_for_its_words(student: Student, chance: Random) -> None:
    """A lexical model that sees descriptions only, of these three tools and six strangers, finds
    `check_disk_usage` for "disk", "usage" and "space", `search_logs` for "logs", "lines" and "errors",
    `open_ticket` for "ticket", "problem" and "support", one word at a time."""
    texts = [*(own := _own(student)).values(), *_STRANGERS]
    for name in _written(student):
        for word in _FOUND_FOR[name]:
            if _chosen(word, chance.sample(texts, len(texts))) != own[name]:
                raise Wrong(f"for {word!r} the model does not choose `{name}`")


@case(2, "Say what the tool does and when to use it, with the words that people use.")
def is_chosen_for_requests(student: Student, chance: Random) -> None:
    """The model also chooses the right one of them for whole requests that contain these words."""
    texts = [*(own := _own(student)).values(), *_STRANGERS]
    chance.shuffle(texts)
    for name in _found(student, texts):
        for request in _REQUESTS[name]:
            if _chosen(request.format(chance.choice(_SERVICES)), texts) != own[name]:
                raise Wrong(f"for a request that is its own, the model does not choose `{name}`")


@case(2, "Take out words that are not the tool's own business: they win calls that it cannot answer.")
def leaves_others_alone(student: Student, chance: Random) -> None:
    """Each tool is chosen for its three words at once, and none of them for what belongs to a stranger. Where
    the strangers are not offered, no tool is chosen for their requests; one of the six may go wrong."""
    own = _own(student)
    alone = chance.sample(list(own.values()), len(own))
    for name in _found(student, alone):
        if _chosen(" ".join(_FOUND_FOR[name]), alone) != own[name]:
            raise Wrong(f"`{name}` is not even found for its own three words at once")
    for owner, request in _STRANGERS.items():
        if _chosen(request, chance.sample([*alone, *_STRANGERS], 9)) != owner:
            raise Wrong("one of the three tools wins a request that belongs to another tool, or shares it")
    if sum(_chosen(request, alone) is not None for request in _STRANGERS.values()) > 1:
        raise Wrong("without the strangers, the three tools win requests that none of them can answer")


@case(1, "Read it aloud. Would you say it like this to a colleague?", public=True)
def reads_as_text(student: Student, _chance: Random) -> None:
    """A description is text for a reader: 8 to 60 words, at least one in five of them a small word, and no
    other word more than three times."""
    for name in _written(student):
        words = [word.lower() for word in _WORD.findall(_about(student, name))]
        counts = Counter(word for word in words if word not in _SMALL_WORDS)
        if not 8 <= len(words) <= 60:
            raise Wrong(f"the description of `{name}` has {len(words)} words")
        if 5 * sum(word in _SMALL_WORDS for word in words) < len(words):
            raise Wrong(f"the description of `{name}` is a list of keywords, not a sentence")
        if max(counts.values(), default=0) > 3:
            raise Wrong(f"the description of `{name}` says the same word {max(counts.values())} times")
