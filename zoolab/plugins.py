"""What others add to zoolab, found by entry points: the groups, and what a thing of each must have.

A distribution names its things in its own `pyproject.toml`, and needs nothing else:

    [project.entry-points."zoolab.faults"]
    shouting_keys = "my_package:SHOUTING_KEYS"

zoolab's own plugins do the same. Nothing is looked for before somebody asks for it. A name is looked up in
what came with zoolab, and if it is not there, in all other distributions. What came with zoolab comes first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from inspect import signature
from typing import Any

from zoolab.errors import InvalidInput, MissingPackage
from zoolab.extras import EXTRAS
from zoolab.jsontext import excerpt

#: The steps that a registered fault may happen in. `breaks` gets the arguments of a call as they are on the
#: wire, or the value that a tool returned; it returns the broken form, or None if there is nothing to break.
STAGES = ("tool_call", "execute")


class PluginWarning(UserWarning):
    """Something that is registered cannot be used, and is left out."""


class BrokenPlugin(InvalidInput):
    """Something that is registered cannot be imported, lacks something, or failed when it was used."""


class NeedsExtra(BrokenPlugin):
    """What came with zoolab needs a library that an extra installs."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line."""

    #: What it does, in a line.
    does: str
    #: Takes the options and returns the exit code.
    run: Callable[[Any], int]
    #: Its options, as `zoolab/commands/commands.toml` has those of zoolab. `options` maps each option or
    #: argument (such as "-o --output", or "file") to what argparse's `add_argument` takes; its `type` is a
    #: word (int, number, path, or names), or a function that takes a text. `actions` maps the name of each
    #: action to its `does` and `options`; the one that was chosen is `options.action`. `usage` is the line in
    #: the help. With `takes_command`, what stands behind `--` is `options.command`; with `passes_on`, words
    #: that it does not know are `options.more`.
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads conversations from a file of another program."""

    #: What it reads, in a few words.
    what: str
    #: Whether a value in a file of JSON has the form that it reads.
    recognises: Callable[[Any], bool]
    #: Takes such a value, and an `Unread` for what it does not understand; gives a `Conversation` for each.
    read: Callable[[Any, Any], Iterable[Any]]
    #: Takes the bytes of a file that is not JSON, the most bytes it may unpack to, and an `Unread`; gives the
    #: values in it, or None if it is no such file.
    opened: Callable[[bytes, int, Any], Sequence[Any] | None] | None = None
    #: Whether it takes the list of all values of a file, and not one after the other.
    of_whole_file: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of things that can be registered."""

    #: The name of the group of entry points.
    name: str
    #: What a thing of it is, with its article.
    what: str
    #: Takes a thing and its name; returns what it lacks, in words, or "" if it has all that it needs.
    lacks: Callable[[Any, str], str]

    def also(self, problem_of: Callable[[Any], str]) -> Group:
        """Return this group with a further check: why a thing of it cannot be used, or ""."""

        def lacks(thing: Any, name: str) -> str:
            problem = self.lacks(thing, name)
            found = "" if problem else problem_of(thing)
            return f"cannot be used: {found}" if found else problem

        return replace(self, lacks=lacks)

    def check(self, thing: Any, name: str) -> Any:
        """Return a thing that has all that it needs.

        Raises:
            BrokenPlugin: It lacks something; one sentence says what.

        >>> READERS.check(len, "mine")
        Traceback (most recent call last):
        zoolab.plugins.BrokenPlugin: mine in zoolab.readers has no what, recognises, read; expected a reader
        """
        try:
            lacking = self.lacks(thing, name)
        except Exception as error:
            lacking = f"cannot be used: {_said(error)}"
        if lacking:
            raise BrokenPlugin(f"{name} in {self.name} {lacking}", expected=self.what)
        return thing

    def load(self, entry: EntryPoint) -> Any:
        """Import what an entry point names, and check it.

        Raises:
            BrokenPlugin: It cannot be imported, or lacks something.
        """
        try:
            thing = entry.load()
        except Exception as error:
            what = f"{entry.name} in {self.name} cannot be imported from {entry.value}: {_said(error)}"
            if extra := _extra_for(error) if self.is_own(entry.name) else "":
                what = f"{entry.name} in {self.name} needs the extra {extra!r} of zoolab"
                raise NeedsExtra(what, advice=f"run: pip install 'zoolab[{extra}]'") from error
            package = entry.dist.name if entry.dist else entry.module.partition(".")[0]
            raise BrokenPlugin(what, advice=f"install {package} again") from error
        return self.check(thing, entry.name)

    def is_own(self, name: str) -> bool:
        """Return whether what has this name came with zoolab."""
        return name in _own(self.name)

    def call(self, name: str, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function of what is registered by this name.

        Raises:
            BrokenPlugin: It failed. What came with zoolab raises its own errors.

        >>> TOOLBOXES.call("mine", lambda: 1 / 0)
        Traceback (most recent call last):
        zoolab.plugins.BrokenPlugin: mine in zoolab.toolboxes failed: "ZeroDivisionError: ..."; ...
        """
        try:
            return function(*given)
        except Exception as error:
            if self.is_own(name):
                raise
            raise BrokenPlugin(f"{name} in {self.name} failed: {_said(error)}", expected=self.what) from error

    def attempt(self, name: str, function: Callable[..., Any], *given: Any) -> Any:
        """Call it as `call` does; where that raises `BrokenPlugin`, warn of it and return None."""
        return _or_warn(lambda: self.call(name, function, *given))

    def find(self, name: str) -> Any:
        """Return what is registered by this name, or None.

        Raises:
            BrokenPlugin: It cannot be imported, or lacks something.
        """
        entry = _own(self.name).get(name) or _all(self.name).get(name)
        return None if entry is None else self.load(entry)

    def needed(self, name: str, does: str) -> Any:
        """Return what is registered by this name; it does what the core alone does not.

        Raises:
            InvalidInput: Nothing is registered by this name.
            BrokenPlugin: It cannot be imported, or lacks something.

        >>> NAMES.needed("nobody", "answers")
        Traceback (most recent call last):
        zoolab.errors.InvalidInput: nothing that is installed answers; install all of zoolab
        """
        found = self.find(name)
        if found is None:
            raise InvalidInput(f"nothing that is installed {does}", advice="install all of zoolab")
        return found

    def entries(self) -> dict[str, EntryPoint]:
        """Return every entry point by its name, zoolab's own first, whether or not it can be used."""
        return dict(sorted(_all(self.name).items(), key=lambda named: (not self.is_own(named[0]), named[0])))

    def usable(self, name: str) -> Any:
        """Return what is registered by this name, or None; warn of what cannot be used."""
        return _or_warn(lambda: self.find(name))

    def everything(self) -> Iterator[tuple[str, Any]]:
        """Yield each name with what is registered by it; warn of what cannot be used, and leave it out."""
        for name in self.entries():
            thing = self.usable(name)
            if thing is not None:
                yield name, thing


def registered(module: str, name: str, package: str) -> Any:
    """Return what a plugin registered: a class of a model, a display for `zoolab.plots`, or another name.

    What came with zoolab has its name for good; for `zoolab.models`, others add classes of models only.

    Raises:
        ImportError: It cannot be imported, or lacks something.
        AttributeError: Nothing is registered by this name; `package`, if it has one, is not installed.

    >>> registered("zoolab.models", "AnthropicModel", "zoolab_connect").__name__
    'AnthropicModel'
    """
    try:
        if module == "zoolab.models" and not NAMES.is_own(name):
            models = (MODELS.load(each) for each in MODELS.entries().values() if each.attr == name)
            value = next((kind for kind in models if isinstance(kind, type)), None)
        else:
            value = (DISPLAYS if module == "zoolab.plots" else NAMES).find(name)
    except BrokenPlugin as error:
        raise ImportError(f"{module}.{name} is not here: {error}", name=package or None) from error
    if value is None:
        told = f": it comes with {package}, which is not installed" if package else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{told}")
    return value


@cache
def _own(group: str) -> Mapping[str, EntryPoint]:
    """Return what came with zoolab."""
    try:
        return {each.name: each for each in distribution("zoolab").entry_points if each.group == group}
    except PackageNotFoundError:
        return {}


@cache
def _all(group: str) -> Mapping[str, EntryPoint]:
    """Return what is registered anywhere; nobody takes the place of what came with zoolab."""
    return {**{each.name: each for each in entry_points(group=group)}, **_own(group)}


def _or_warn(find: Callable[[], Any]) -> Any:
    try:
        return find()
    except BrokenPlugin as error:
        warnings.warn(str(error), PluginWarning, stacklevel=3)
        return None


def _said(error: Exception) -> str:
    return excerpt(f"{type(error).__name__}: {error}", 200)


def _extra_for(error: Exception) -> str:
    """Return the extra of zoolab that installs what could not be imported; empty if none does."""
    if isinstance(error, MissingPackage):
        return error.advice.partition("[")[2].partition("]")[0]
    return EXTRAS.get(str(getattr(error, "name", "")).partition(".")[0], "")


def _having(texts: tuple[str, ...] = (), **calls: int) -> Callable[[Any, str], str]:
    """Return what checks that a thing has these texts, and functions of so many arguments."""

    def lacks(thing: Any, _name: str) -> str:
        missing = [name for name in texts if not _is_text(getattr(thing, name, None))]
        missing += [name for name in calls if not callable(getattr(thing, name, None))]
        if missing:
            return f"has no {', '.join(missing)}"
        given = ((name, [None] * count) for name, count in calls.items())
        return next((why for name, each in given if (why := refuses(getattr(thing, name), *each))), "")

    return lacks


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _called_with(*given: Any, **named: Any) -> Callable[[Any, str], str]:
    """Return what checks that a thing can be called so."""

    def lacks(thing: Any, _name: str) -> str:
        return _is_called(thing) or refuses(thing, *given, **named)

    return lacks


def _is_called(thing: Any) -> str:
    return "" if callable(thing) else f"is {excerpt(thing)}, which cannot be called"


def refuses(function: Callable[..., Any], /, *given: Any, **named: Any) -> str:
    """Return why a function cannot be called so, in words; empty if it can, as far as Python knows.

    >>> refuses(lambda name: name)
    "takes other arguments: missing a required argument: 'name'"
    """
    try:
        signature(function).bind(*given, **named)
    except TypeError as error:
        return f"takes other arguments: {error}"
    except ValueError:  # Python does not know the arguments of some functions that are written in C
        return ""
    return ""


def _has_docstring(thing: Any, _name: str) -> str:
    if callable(thing) and not _is_text(getattr(thing, "__doc__", None)):
        return "has no docstring that says what it does"
    return _is_called(thing)


def _is_api(thing: Any, name: str) -> str:
    if not isinstance(thing, type):
        return f"is {excerpt(thing)}, which is no class"
    return _is_named(thing, name) or refuses(thing)


def _is_fault(thing: Any, name: str) -> str:
    lacking = _having(("name", "stage", "does"), breaks=1)(thing, name)
    if lacking or thing.stage in STAGES:
        return lacking or _is_named(thing, name)
    return f"has the stage {excerpt(thing.stage)}, which is not one of {', '.join(STAGES)}"


def _is_named(thing: Any, name: str) -> str:
    own = getattr(thing, "name", name)
    return "" if own == name else f"calls itself {excerpt(own)}; its name must be that of its entry point"


APIS = Group(
    "zoolab.apis",
    "a class as zoolab.apis.interface describes it",
    _is_api,
)
MODELS = Group(
    "zoolab.models", "a class or function that takes a name and stream=", _called_with(None, stream=False)
)
FAULTS = Group(
    "zoolab.faults", "a fault: its name, its stage, what it does, and a function breaks", _is_fault
)
TOOLBOXES = Group("zoolab.toolboxes", "a function without arguments that returns tools", _called_with())
TOOLS = Group(
    "zoolab.tools",
    "a function that takes a tool of a framework and returns the fields of a zoolab.Tool, or None",
    _called_with(None),
)
TEXTCALLS = Group(
    "zoolab.textcalls",
    "a function that takes a text and the parameters of each tool by name, and returns `TextCall`s",
    _called_with("", {}),
)
READERS = Group("zoolab.readers", "a reader", _having(("what",), recognises=1, read=2))
TRACES = Group(
    "zoolab.traces",
    "what a `Trace` finds by name: a function that takes a trace, or a class of what is made of one",
    _has_docstring,
)
DISPLAYS = Group("zoolab.displays", "a function or class that shows a trace", _has_docstring)
COMMANDS = Group("zoolab.commands", "a zoolab.plugins.Command", _having(("does",), run=1))
NAMES = Group("zoolab.names", "any value", lambda _thing, _name: "")

#: All groups, by their names.
GROUPS: Mapping[str, Group] = {
    each.name: each
    for each in (
        APIS,
        MODELS,
        FAULTS,
        TOOLBOXES,
        TOOLS,
        TEXTCALLS,
        READERS,
        TRACES,
        DISPLAYS,
        COMMANDS,
        NAMES,
    )
}
