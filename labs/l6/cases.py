"""The cases of lab 6: repair what a model wrote badly, and change nothing that it meant."""

import json
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from zoolab_grader import Callback, Lab, Student, Wrong, case

LAB = Lab("l6", "Repair", functions=("repair", "run_tool"))

TEXTS = ("city", "owner", "room", "topic", "street", "guest")
COUNTS = ("days", "seats", "level", "copies", "nights", "pages")
CHOICES = {"unit": ("metric", "imperial"), "size": ("small", "large"), "mode": ("fast", "careful")}
WORDS = ("amber", "harbor", "willow", "cedar", "falcon", "lantern", "meadow", "copper", "velvet")


class Task:
    """Arguments as they were meant, and the schema that they meet; `optional` is not required."""

    def __init__(self, chance: Random) -> None:
        self.text, self.count = chance.choice(TEXTS), chance.choice(COUNTS)
        self.choice, self.optional = chance.choice(sorted(CHOICES)), chance.choice(["note", "label"])
        self.number = chance.randrange(12, 90)
        values = {"type": "string", "enum": list(CHOICES[self.choice])}
        texts = " ".join(chance.sample(WORDS, 2)).title(), chance.choice(WORDS)
        names = [self.text, self.count, self.choice, self.optional]
        kinds = [{"type": "string"}, {"type": "integer"}, values, {"type": "string"}]
        picked = [texts[0], self.number, chance.choice(values["enum"]), texts[1]]
        self.meant: dict[str, Any] = dict(zip(names, picked, strict=True))
        self.schema: dict[str, Any] = {"type": "object", "properties": dict(zip(names, kinds, strict=True))}
        self.schema |= {"required": names[:3], "additionalProperties": False}

    def but(self, **changes: Any) -> str:
        """The arguments as JSON, with some of text, count, choice and optional changed."""
        return json.dumps({**self.meant, **{getattr(self, part): new for part, new in changes.items()}})

    def bare(self, **changes: Any) -> str:
        """The same without quotes, as no rule of the task can read it."""
        return "{" + ", ".join(f"{k}: {v}" for k, v in json.loads(self.but(**changes)).items()) + "}"


class Spent(Exception):
    """The model was asked more often than the budget allows."""


class Model:
    """Proposes one text after the other, the last one again and again, and keeps the questions.

    It is asked `budget` times; then the call of the student's code ends. How often a model may be asked is
    the affair of one case, and the others go on as if the code had given up there.
    """

    def __init__(self, *proposals: Any, budget: int = 100) -> None:
        self.proposals, self.budget = proposals, budget
        self.questions: list[str] = []

    def __call__(self, question: Any) -> Any:
        if not isinstance(question, str):
            raise TypeError("the model takes one text")
        self.questions.append(question)
        if len(self.questions) > self.budget:
            raise Spent
        proposal = ("I cannot help.", *self.proposals)[min(len(self.questions), len(self.proposals))]
        if isinstance(proposal, Exception):
            raise proposal
        return proposal


def ask(student: Student, task: Task, raw: str, model: Model, budget: int) -> Any:
    model.budget = budget
    try:
        return student.call("repair", raw, task.schema, Callback(model, "model"), budget).value
    except Spent:
        return None


def same(found: Any, wanted: Any) -> bool:
    """Equal as JSON: true is not 1, and 1 is not 1.0; the order of keys says nothing."""
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def must_give(student: Student, task: Task, raw: str, model: Model, budget: int, what: str) -> None:
    found = ask(student, task, raw, model, budget)
    if not same(found, task.meant):
        instead = "gave it up" if found is None else "returned something else than what was meant"
        raise Wrong(f"{what}: `repair` {instead}")


def must_give_up(student: Student, task: Task, raw: str, model: Model, budget: int, what: str) -> None:
    """Nothing comes back. Other cases ask that it is `None`, not `{}`, and how often the model is asked."""
    if ask(student, task, raw, model, budget) not in (None, {}):
        raise Wrong(f"{what}: `repair` returned arguments all the same, and a tool would have run with them")


def refuses(student: Student, task: Task, what: str, *proposals: str, raw: str = "") -> None:
    """None of these is accepted; a right one that follows may be, if the code asks again."""
    for proposal in proposals:
        found = ask(student, task, raw or task.bare(), Model(proposal, task.but()), 2)
        if found not in (None, {}) and not same(found, task.meant):
            raise Wrong(
                f"{what}: `repair` returned arguments all the same, and a tool would have run with them"
            )


def by_rules(student: Student, task: Task, raw: str, what: str, unasked: bool = False) -> None:
    model = Model()
    must_give(student, task, raw, model, 2, what)
    if unasked and model.questions:
        raise Wrong(f"{what}: the model was asked, and need not have been")


# Behind the three backticks; all of them are tried, or equal work would get unequal points.
FENCES = ("json", "", "JSON")


def fenced(text: str, word: str = "json") -> str:
    return f"```{word}\n{text}\n```"


#: The rules of the task, each with what undoes it.
WAYS: dict[str, Callable[[str], str]] = {
    "a fence": fenced,
    "a trailing comma": lambda text: text[:-1] + ",}",
    "single quotes": lambda text: str(json.loads(text)),
    "JSON in a JSON string": json.dumps,
}


def is_read(student: Student, task: Task, raw: str) -> bool:
    """Whether the student's code reads this without a model."""
    return same(ask(student, task, raw, Model(), 0), task.meant)


def ways(student: Student, task: Task) -> dict[str, Callable[[str], str]]:
    """The rules that the student's code has: that it has all of them is asked in a case for each."""
    found = {what: way for what, way in WAYS.items() if is_read(student, task, way(task.but()))}
    name = Task(Random(0))
    name.meant[name.text] = "O'Hara"
    if not is_read(student, name, str(name.meant)):
        found.pop("single quotes", None)
    if not found:
        raise Wrong("none of the rules works where one fault comes alone")
    return found


#: Strings with marks in them that the rules look for, and with blanks, letters and signs of their own.
ODD: tuple[str, ...] = (
    "it's {0}, isn't it",
    "{0},}} and {0},]",
    "```{0}```",
    "'{0}': None",
    ", }}",
    "  {0}  {0} ",
)
ODD += ("a {{ {0}", "7", "true", "null", "Málaga, 東京, Łódź {0}", 'the "{0}"', "{0}\n{0}\t")
ODD += ("C:\\new\\{0}\\", "https://{0}.example/#{0}", "", "json {0}", "/* {0} */ // {0}", "“{0}” and ‘{0}’")
ODD += ("True {0}, False and None",)


@case(points=1, hint="Is it valid already? Then nothing may touch it.", public=True)
def leaves_the_valid_alone(student: Student, chance: Random) -> None:
    """Text that is valid already comes back as it is, whatever marks stand inside its strings; the model is
    not asked."""
    for odd in (*ODD, "{0}\u00a0{0}"):  # Python prints a no-break space as \xa0, which changes the words
        task = Task(chance)
        task.meant[task.text] = odd.format(chance.choice(WORDS))
        for plain in (True, False):
            by_rules(student, task, json.dumps(task.meant, ensure_ascii=plain), "a valid text", unasked=True)
    more = {"homeTown": "here", "urgent": True, "late": False, "price": 2.5, "change": -12}
    kinds = {str: "string", bool: "boolean", float: "number", int: "number"}
    for name, value in more.items():
        task.meant[name], task.schema["properties"][name] = value, {"type": kinds[type(value)]}
        by_rules(student, task, task.but(), f"a valid text with `{name}`")


@case(points=1, hint="The three backticks, and the word behind them, stand around the JSON.", public=True)
def takes_off_a_fence(student: Student, chance: Random) -> None:
    """A Markdown fence around the JSON (three backticks) comes off."""
    task = Task(chance)
    for word in FENCES:
        by_rules(student, task, fenced(task.but(), word), "a fenced text", unasked=True)


@case(points=1, hint="It stands right before the closing brace, maybe with a blank between.", public=True)
def drops_a_trailing_comma(student: Student, chance: Random) -> None:
    """A comma before the closing brace is dropped."""
    task = Task(chance)
    for end in (",}", ", }", ",\n}", ",\t}", ",\r\n}"):
        by_rules(student, task, task.but()[:-1] + end, "a text with a trailing comma")
    task.meant["urgent"], task.schema["properties"]["urgent"] = True, {"type": "boolean"}
    flag = is_read(student, task, task.but()[:-1] + ",}")  # beside true, which is asked elsewhere
    for end in (",\t}", ",\r\n}") if flag else ():
        by_rules(student, task, task.but()[:-1] + end, "a text with a trailing comma")


@case(points=2, hint="`eval` runs what a stranger wrote; `ast.literal_eval` only reads it.", public=True)
def reads_python_quotes(student: Student, chance: Random) -> None:
    """Single quotes are read as Python prints a dict: `{'guest': "O'Hara"}`. Text is read and never run."""
    task = Task(chance)
    for name in ("{0}", "O'{0}", "{0}'s"):
        task.meant[task.text] = name.format(chance.choice(WORDS).title())
        by_rules(student, task, str(task.meant), "a text with single quotes")
    expressions = (
        "6 * 7",
        "max(3, 40)",
        "[n for n in (1, 2)][1]",
        "__import__('os')._exit(7)",
        hex(task.number),
    )
    for expression in expressions:
        raw = str(task.meant).replace(str(task.number), expression)
        must_give_up(student, task, raw, Model("no"), 0, "an expression in place of a number")
    raw = str(task.meant).replace(f"'{task.meant[task.optional]}'", f"'{task.meant[task.optional]}'[:]")
    must_give_up(student, task, raw, Model("no"), 0, "an expression in place of a text")


@case(points=1, hint="`json.loads` gives a string? Then the object is inside.", public=True)
def opens_what_was_encoded_twice(student: Student, chance: Random) -> None:
    """JSON inside a JSON string is opened."""
    task = Task(chance)
    by_rules(student, task, json.dumps(task.but()), "a text that was encoded twice")


@case(
    points=2,
    hint="What one rule leaves may need another: go on until no rule fits, in whatever order they come.",
)
def two_faults_at_once(student: Student, chance: Random) -> None:
    """Several of these faults may come together."""
    task = Task(chance)
    task.meant["urgent"], task.schema["properties"]["urgent"] = True, {"type": "boolean"}
    rules = ways(student, task)
    if len(rules) < 2:
        raise Wrong("fewer than two rules work where one fault comes alone")
    fence, comma, python, twice = WAYS
    pairs = [(comma, fence), (python, comma), (comma, twice), (python, twice), (fence, twice), (twice, fence)]
    for faults in (*pairs, (python, comma, fence), (python, comma, fence, twice)):
        text = task.but()
        for fault in faults:
            text = WAYS[fault](text)
        if rules.keys() >= set(faults):
            by_rules(student, task, text, " and ".join(faults))


@case(
    points=2,
    hint="A rule is for what stands outside of the strings: anchor it at the end, or read the strings.",
)
def leaves_strings_alone(student: Student, chance: Random) -> None:
    """A rule changes how a text is written, never what it says: what stands inside a string stays as it is,
    whatever marks it holds."""
    task = Task(chance)
    task.meant["urgent"], task.schema["properties"]["urgent"] = True, {"type": "boolean"}
    rules = ways(student, task)
    for odd in ODD:
        task.meant[task.text] = odd.format(chance.choice(WORDS))
        whole = json.dumps(task.meant, ensure_ascii=False)
        if is_read(student, task, whole):  # that valid text is read is asked elsewhere
            for what, way in rules.items():
                by_rules(student, task, way(whole), f"{what}, and strings with marks in them")
    task.meant[task.text] = f"  {chance.choice(WORDS)}  {chance.choice(WORDS)} "
    found = ask(student, task, task.bare(), Model(task.but()), 2)
    if found is not None and found != {} and not same(found, task.meant):
        raise Wrong("a proposal with blanks in a string: `repair` changed them")
    task.meant[task.text] = f"True {chance.choice(WORDS)}"
    found = ask(student, task, task.but().replace(": true", ": True"), Model(task.but()), 2)
    if found is not None and found != {} and not same(found, task.meant):
        raise Wrong("a text beside a truth value as Python writes it: `repair` changed the text")


@case(points=2, hint="JSON has true, Python has True. Drop the comma, and read JSON first, then Python.")
def reads_every_type(student: Student, chance: Random) -> None:
    """Truth values and numbers are read too, before a comma, as JSON and as Python write them."""
    task = Task(chance)
    by_rules(student, task, task.but(), "a valid text")
    comma = is_read(student, task, task.but()[:-1] + ", }")
    for flag, price in ((True, chance.randrange(1, 9) + 0.5), (False, chance.randrange(-90, -10))):
        task.meant |= {"urgent": flag, "price": price}
        task.schema["properties"] |= {"urgent": {"type": "boolean"}, "price": {"type": "number"}}
        if is_read(student, task, task.but()):  # that valid text is read is asked elsewhere
            for raw in (str(task.meant), *[task.but()[:-1] + ", }"] * comma):
                by_rules(student, task, raw, "truth values and numbers")


@case(points=2, hint="Check what the rules read as you check a proposal, and add no rule of your own.")
def has_no_other_rules(student: Student, chance: Random) -> None:
    """These are all the rules: keys without quotes, and numbers in quotes, go to the model. Valid JSON that
    does not meet the schema is not returned."""
    task = Task(chance)
    task.meant["urgent"], task.schema["properties"]["urgent"] = True, {"type": "boolean"}
    quoted, other = task.but(count=str(task.number)), task.but(choice=task.meant[task.optional])
    whole = task.but()
    unread = [task.bare(), task.bare()[1:-1], quoted, str(json.loads(quoted)), whole[1:]]
    unread += [whole.replace("true", mark) for mark in ('"true"', '"True"')]
    number_for_text = json.dumps({**task.meant, task.optional: task.number})
    unread += [
        f"[{task.meant}]",
        whole.replace(",", "", 1),
        whole.replace(", ", "\n", 1),
        re.sub(r'"(\w+)":', r"\1:", whole),
    ]
    for raw in (*unread, number_for_text):
        must_give_up(student, task, raw, Model(whole), 0, "no rule reads this, and the budget is 0")
    # Python reads sets here: for one of dicts it raises a TypeError, and json.dumps raises one for the other.
    python, text = str(task.meant), repr(task.meant[task.text])
    strange = "{" + python + "}", python.replace(text, "{" + text + "}")
    around = fenced(task.bare()), f"{task.bare()} That is all.", f"Sure!\n{fenced(whole)}"
    for raw in (*unread, *around, *strange, "} " + task.bare()[:-1]):
        must_give(student, task, raw, Model(whole), 2, "a text that no rule need read, and a right proposal")
    missing = json.dumps({key: value for key, value in task.meant.items() if key != task.count})
    for raw in (other, missing, f"[{task.but()}]"):
        must_give_up(student, task, raw, Model("no"), 1, "valid JSON that does not meet the schema")
    by_rules(student, task, whole, "a valid text")
    del task.schema["properties"][task.optional]
    must_give_up(student, task, whole, Model("no"), 1, "the same text with a schema that it does not meet")


@case(points=2, hint="The question is text: put what came, and the schema, into it.", public=True)
def asks_with_the_text_and_the_schema(student: Student, chance: Random) -> None:
    """What the rules cannot read goes to the model, in a question that holds the raw text and the schema."""
    task = Task(chance)
    text = f"Fish & Chips < {' '.join(chance.choices(WORDS, k=500))}"
    raw = task.bare(text=text).replace(", ", ",\n  ", 2)
    task.schema["properties"][task.choice]["enum"] += [f"{word}-{chance.randrange(10**6)}" for word in WORDS]
    model = Model("I am not sure.", TimeoutError("no answer in time"), task.but())
    with suppress(Wrong):  # what an error of the model does is asked elsewhere
        ask(student, task, raw, model, 3)
    if not model.questions:
        raise Wrong("the model was not asked about a text that no rule reads")
    for question in model.questions:
        if not any(form in question for form in (raw, json.dumps(raw)[1:-1], repr(raw)[1:-1])):
            raise Wrong("a question does not hold the raw text")
        parts = re.findall(r"\w+", json.dumps(task.schema))
        if not all(part.lower() in question.lower() for part in parts):
            raise Wrong("a question does not hold the whole schema")


@case(points=1, hint="A proposal is a text like any other: read it by the same rules, then stop asking.")
def reads_a_proposal_by_the_same_rules(student: Student, chance: Random) -> None:
    """A proposal may be badly written itself: the same rules read it. The first right one ends the asking."""
    task = Task(chance)
    plain = Model(task.but())
    must_give(student, task, task.bare(), plain, 4, "a right proposal")
    if len(plain.questions) > 1:
        raise Wrong(f"the first proposal was right, and the model was asked {len(plain.questions)} times")
    for what, way in ways(student, task).items():
        must_give(
            student, task, task.bare(), Model(way(task.but())), 2, f"a right proposal, written with {what}"
        )


@case(points=2, hint="Count the questions, those without an answer too. The last one may help.", public=True)
def keeps_to_the_budget(student: Student, chance: Random) -> None:
    """The model is asked at most `budget` times, and not at all with a budget of 0. A model that raises an
    error has used one question; the next may help."""
    task = Task(chance)
    failures = TimeoutError("no answer in time"), RuntimeError("overloaded"), ConnectionError("gone")
    others = KeyError("choices"), AttributeError("text"), TypeError("no text")
    for bad in ("I am not sure.", "", *failures, ValueError("no JSON came"), *others):
        for budget in (1, 2, 4, 25):
            model = Model(*[bad] * (budget - 1), task.but())
            must_give(student, task, task.bare(), model, budget, "right with the last question")
        if bad == "":
            must_give(student, task, task.bare(), Model(*[bad] * 101, task.but()), 102, "the last of 102")
        for allowed in (0, 1, 2, 5):
            model = Model(bad)
            ask(student, task, task.bare(), model, allowed)
            if len(model.questions) > allowed:
                raise Wrong(f"the model was asked more than {allowed} times, which is the budget")


@case(points=1, hint="Add the proposal, and what is wrong with it, to the next question.")
def says_what_was_wrong(student: Student, chance: Random) -> None:
    """After a proposal that failed, the next question holds that proposal."""
    task, odd = Task(chance), f"zq{chance.randrange(10**6)}"
    failed = f"Sorry, {odd}!", task.but(count=odd), task.but(text=odd), "{}".join([odd, odd])
    failed += (str(json.loads(task.but(text=odd))),)
    for bad in failed:
        model = Model("no", bad, task.but())
        found = ask(student, task, task.bare(), model, 4)
        if len(model.questions) < 3 and (found is None or bad == failed[0]):
            raise Wrong("after a proposal that failed no question followed")
        forms = bad, json.dumps(bad)[1:-1], repr(bad)[1:-1]
        if len(model.questions) > 2 and not any(form in model.questions[2] for form in forms):
            raise Wrong("the question after a proposal that failed does not hold that proposal")


@case(points=2, hint="A proposal that parses is not yet right: ask `problems` about it, each time.")
def validates_each_proposal(student: Student, chance: Random) -> None:
    """Whatever comes back meets the schema: types (true is no integer), `enum`, `required`, no other keys."""
    task = Task(chance)
    by_rules(student, task, task.but(), "a valid text")
    task.meant |= {"urgent": True, "price": chance.randrange(1, 9) + 0.5}
    task.schema["properties"] |= {"urgent": {"type": "boolean"}, "price": {"type": "number"}}
    counts = (
        {task.count: value}
        for value in (str(task.number), [task.number], True, task.number + 0.5, task.number + 0.0)
    )
    flags = ({"urgent": 1}, {"urgent": "true"}, {"price": "7"}, {"price": True}, {"price": float("nan")})
    choices = ({task.choice: value} for value in (chance.choice(WORDS), task.meant[task.choice].upper()))
    wrongs: list[dict[str, Any]] = [*counts, *flags, *choices, {"extra": 1}]
    for wrong in wrongs:
        unfit = json.dumps({**task.meant, **wrong})
        refuses(student, task, "a proposal that does not meet the schema", unfit, raw=f"So: {unfit}")
    for unfit in (json.dumps({task.text: "x"}), f"[{task.but()}]"):
        refuses(student, task, "an argument that is missing, or a list", unfit, raw=f"So: {unfit}")
    many = {f"n{number}": number for number in range(300)}
    task.meant, task.schema["required"] = many, list(many)
    task.schema["properties"] = {name: {"type": "integer"} for name in many}
    halves = [dict(list(many.items())[part]) for part in (slice(150), slice(151, None))]
    unfits = [halves[0] | halves[1], halves[0] | {"extra": 1, "n150": 150} | halves[1]]
    unfits += [{**many, f"n{number}": str(number)} for number in range(5, 300, 20)]
    for unfit in map(json.dumps, unfits):
        refuses(student, task, "one of 300 arguments is wrong", unfit, raw=f"So: {unfit}")


@case(points=3, hint="Compare the words of `raw` with those of the proposal, letter by letter.", public=True)
def changes_no_value(student: Student, chance: Random) -> None:
    """A proposal has the words of `raw`, all of them: none is changed, and none is left out."""
    task = Task(chance)
    by_rules(student, task, task.but(), "a valid text")
    less = json.dumps({key: task.meant[key] for key in task.schema["required"]})
    refuses(student, task, "a changed number", task.but(count=task.number + 1))
    changed = task.but(text="Somewhere Else")
    must_give_up(student, task, task.bare(), Model(changed), 2, "a changed text, proposed again and again")
    refuses(student, task, "a digit more", task.but(count=task.number * 10))
    name = task.meant[task.text]
    for changed in (name.upper(), name.lower(), f"{name} City", f"The {name}"):
        refuses(student, task, "a text in other letters, or longer", task.but(text=changed))
    refuses(student, task, "an optional argument left out", less)
    task.meant[task.text] = f"007 {name}"
    refuses(student, task, "a text without its zeros", task.but(text=f"7 {name}"))
    task.meant |= {"urgent": True, "change": -task.number}
    task.schema["properties"] |= {"urgent": {"type": "boolean"}, "change": {"type": "integer"}}
    refuses(student, task, "a changed truth value", json.dumps({**task.meant, "urgent": False}))
    refuses(student, task, "a changed sign", json.dumps({**task.meant, "change": task.number}))
    long = [chance.choice(WORDS) for _ in range(300)]
    task.meant[task.text] = " ".join(long)
    changed = " ".join([*long[:150], "other", *long[151:]])
    refuses(student, task, "one of 300 words changed", task.but(text=changed))


@case(points=3, hint="What if only the places change, or one word of two is lost, or a key is new?")
def changes_nothing_else(student: Student, chance: Random) -> None:
    """The words stay in the same order, and there are no others: what `raw` lacks is not made up."""
    task = Task(chance)
    by_rules(student, task, task.but(), "a valid text")
    texts = task.meant[task.optional], task.meant[task.text]
    refuses(student, task, "two values swapped", task.but(text=texts[0], optional=texts[1]))
    refuses(student, task, "half of a value", task.but(text=texts[1].split()[0]))
    refuses(student, task, "a word twice", task.but(text=f"{texts[1]} {texts[1].split()[1]}"))
    refuses(student, task, "two words in one", task.but(text=texts[1].replace(" ", "")))
    refuses(student, task, "keys in another order", json.dumps(dict(reversed(task.meant.items()))))
    accents = Task(chance)
    accents.meant[accents.text] = chance.choice(["Málaga", "Zürich", "Århus", "Kraków"])
    plain = unicodedata.normalize("NFKD", accents.meant[accents.text]).encode("ascii", "ignore").decode()
    refuses(student, accents, "a text without its accents", accents.but(text=plain))
    accents.meant[accents.text] = "4² e\u0301"
    alike = unicodedata.normalize("NFKC", accents.meant[accents.text])
    refuses(student, accents, "a text with signs that look alike", accents.but(text=alike))
    accents.meant[accents.text] = "Ma\u0301laga"
    composed = unicodedata.normalize("NFC", accents.meant[accents.text])
    refuses(student, accents, "a text with signs that look alike", accents.but(text=composed))
    keys = {task.text: task.optional, task.optional: task.text}
    refuses(student, task, "two keys swapped", json.dumps({keys.get(k, k): v for k, v in task.meant.items()}))
    other = json.dumps({"name": "delete_all", "arguments": task.meant})
    must_give_up(student, task, task.bare(), Model(other), 1, "another tool")
    refuses(student, task, "values that the model made up", task.but(text="x"), raw=f"{{{task.text}: x}}")
    task.schema["required"], named = [], json.dumps({task.optional: texts[1]})
    refuses(student, task, "a value under another name", named, raw=f"{{{task.text}: {texts[1]}}}")
    found, given_up = (ask(student, task, task.bare(), Model(said), 1) for said in ("{}", "I cannot help."))
    if found != given_up:
        raise Wrong("a proposal without any word: `repair` accepted it")


@case(points=2, hint="`{}` is an answer too, and the wrong one. What does the raw text say?", public=True)
def never_falls_back_to_nothing(student: Student, chance: Random) -> None:
    """Else the result is `None`, never `{}`, even where the schema would allow it."""
    task = Task(chance)
    task.schema["required"] = []
    must_give(student, task, task.but(), Model("{}"), 0, "a valid text")
    for hopeless in ("I do not know yet.", "", task.bare()):
        for budget in (0, 2):
            if ask(student, task, hopeless, Model("I do not know either."), budget) is not None:
                raise Wrong("a text beyond repair: `repair` did not return None")
    for lost in (task.but()[:-1], task.but() * 2):
        if ask(student, task, lost, Model("I do not know either."), 2) == {}:
            raise Wrong("a text that was cut off, or two objects: `repair` returned {}, not None")


@case(points=2, hint="No closing brace: something is missing, and nobody knows what.")
def gives_up_what_was_cut_off(student: Student, chance: Random) -> None:
    """Text with an opening brace and no closing one was cut off: the result is `None`, whatever the model
    proposes."""
    task = Task(chance)
    whole = task.but()
    by_rules(student, task, whole, "the same text, not cut off")
    task.meant[task.text] = "a { mark"
    must_give(student, task, task.bare(), Model(task.but()), 2, "an opening brace in a text, not cut off")
    for cut in (
        whole[:-1],
        whole[:-2],
        whole[: whole.index(":") + 5],
        f"```json\n{whole[:-1]}",
        f"Here you are: {whole[:-1]}",
        task.bare()[:-1],
        json.dumps(whole)[:-2],
    ):
        for proposal in (whole, cut + '"}', cut + "}"):
            must_give_up(student, task, cut, Model(proposal), 2, "a text that was cut off")


@case(points=2, hint="`json.loads` takes the last of two equal keys and does not say so. Count the words.")
def chooses_between_no_two_meanings(student: Student, chance: Random) -> None:
    """A key that stands twice, in one object or in two, gives two meanings: the result is `None`, whichever
    the model proposes."""
    task = Task(chance)
    one, other = task.but(), task.but(count=task.number * 10)
    by_rules(student, task, one, "one object")
    less = json.dumps({key: task.meant[key] for key in task.schema["required"]})
    for changed in (other, less, task.but(text=f"The {task.meant[task.text]}")):
        if same(ask(student, task, task.bare(), Model(changed), 2), json.loads(changed)):
            return  # not all words are compared, which other cases ask
    pairs = [f'{one[:-1]}, "{task.count}": {number}}}' for number in (task.number * 10, task.number)]
    python = [pair.replace('"', "'") for pair in pairs]
    raws = (*pairs, *python, f"{one}{other}", f"{one}\n{other}", f"{one}\n{one}", str(task.meant) * 2)
    for raw in (*raws, fenced(pairs[0]), json.dumps(pairs[0]), pairs[0][:-1] + ",}"):
        must_give_up(student, task, raw, Model("no"), 0, "a text of two meanings, and the budget is 0")
        for proposal in (one, other, raw):
            must_give_up(student, task, raw, Model(proposal), 2, "a text of two meanings")


def runs(
    student: Student, task: Task, proposals: tuple[str, ...], gives: Any, budget: int, raw: str = ""
) -> int:
    """How often the tool, which gives this, runs: with what was meant only, and `run_tool` says so."""
    calls: list[dict[str, Any]] = []

    def tool(**arguments: Any) -> Any:
        calls.append(arguments)
        return gives

    hands = Callback(tool, "tool"), Callback(Model(*proposals, budget=budget), "model")
    try:
        said = student.call("run_tool", raw or task.bare(), task.schema, *hands, budget).value
    except Spent:
        probe = Model("no")
        ask(student, task, task.bare(), probe, 1)
        if len(probe.questions) == 1:  # else it is `repair` that asks too often, which is asked elsewhere
            raise Wrong("`run_tool` had the model asked more often than the budget allows") from None
        return len(calls)
    if not same(calls, [task.meant] * len(calls)):
        raise Wrong("the tool ran with other arguments than what was meant")
    wanted = {"ran": bool(calls), "result": gives if calls else None}
    if not isinstance(said, dict) or not same({key: said[key] for key in wanted if key in said}, wanted):
        raise Wrong(f"the tool ran {len(calls)} times, and `run_tool` returned something else")
    return len(calls)


@case(points=2, hint="Repair first; then `tool(**arguments)`, once.", public=True)
def runs_the_tool_once(student: Student, chance: Random) -> None:
    """`run_tool` calls the tool once and returns `{"ran": True, "result": what the tool returned}`."""
    task = Task(chance)
    results: list[Any] = [f"done with {task.number}", None, 0, False, "", [], {"done": task.number}]
    for raw in (task.but(), task.bare()):
        for gives in results:
            if (times := runs(student, task, (task.but(),), gives, 2, raw)) != 1:
                raise Wrong(f"the tool ran {times} times")
    names = ("tool", "raw", "schema", "model", "budget", "self", "function", "arguments", "name")
    task.meant |= {name: chance.choice(WORDS) for name in names}
    task.schema["properties"] |= {name: {"type": "string"} for name in names}
    if (times := runs(student, task, (), results[0], 0, task.but())) != 1:
        raise Wrong(f"a tool with an argument `tool`: it ran {times} times")


@case(points=1, hint="`{}` is falsy, and still arguments: compare with `is None`.")
def runs_a_tool_without_arguments(student: Student, chance: Random) -> None:
    """A tool that needs no arguments runs with none when the text is `{}`."""
    task = Task(chance)
    task.schema["required"], task.meant = [], {}
    for raw in ("{}", "{ }"):
        if runs(student, task, (), f"done with {task.number}", 0, raw) != 1:
            raise Wrong("a text that is `{}`: the tool did not run once")


@case(points=3, hint="Nothing runs before a proposal has passed every check.")
def runs_nothing_unchecked(student: Student, chance: Random) -> None:
    """If nothing right came the tool does not run, and `{"ran": False, "result": None}` comes back."""
    task, gives = Task(chance), f"done with {chance.randrange(10**6)}"
    for bad in ("I cannot help.", task.but(count="nine"), "[]", task.but()[:-1]):
        runs(student, task, (bad, task.but()), gives, 2)
        if runs(student, task, (bad, task.but()), gives, 1):
            raise Wrong("the tool ran, and the budget was spent before a right proposal came")
    task.schema["required"] = []
    if runs(student, task, ("I cannot help.",), gives, 1):
        raise Wrong("the tool ran, and nothing right came")
