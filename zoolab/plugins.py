"""What others add to zoolab, found by entry points: the groups, and what a thing of each must have.

A distribution names its things in its own `pyproject.toml`, and needs nothing else:

    [project.entry-points."zoolab.faults"]
    shouting_keys = "my_package:SHOUTING_KEYS"

zoolab's own plugins do the same. Nothing is looked for before somebody asks for it. A name is looked up in
what came with zoolab, and if it is not there, in all other distributions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import Any

from zoolab.errors import InvalidInput
from zoolab.jsontext import excerpt

#: The steps that a registered fault may happen in. `breaks` gets the arguments of a call as they are on the
#: wire, or the value that a tool returned; it returns the broken form, or None if there is nothing to break.
STAGES = ("tool_call", "execute")


class PluginWarning(UserWarning):
    """Something that is registered cannot be used, and is left out."""


class BrokenPlugin(InvalidInput):
    """Something that is registered cannot be imported, or lacks something."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the command line."""

    #: What it does, in a line.
    does: str
    #: Takes the options and returns the exit code.
    run: Callable[[Any], int]
    #: Its options, as `commands.toml` has those of zoolab.
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
    #: What a thing lacks, in words; empty if it has all that it needs.
    lacks: Callable[[Any], str]

    def check(self, thing: Any, name: str) -> Any:
        """Return a thing that has all that it needs.

        Raises:
            BrokenPlugin: It lacks something; one sentence says what.

        >>> READERS.check(len, "mine")
        Traceback (most recent call last):
        zoolab.plugins.BrokenPlugin: mine in zoolab.readers has no what, recognises, read; expected a reader
        """
        lacking = self.lacks(thing)
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
            why = f"{type(error).__name__}: {error}"
            what = f"{entry.name} in {self.name} cannot be imported from {entry.value}: {excerpt(why, 200)}"
            raise BrokenPlugin(what, advice=f"install {entry.module.partition('.')[0]} again") from error
        return self.check(thing, entry.name)

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
        """Return every entry point by its name, whether or not what it names can be used."""
        return dict(sorted(_all(self.name).items()))

    def usable(self, name: str) -> Any:
        """Return what is registered by this name, or None; warn of what cannot be used."""
        try:
            return self.find(name)
        except BrokenPlugin as error:
            warnings.warn(str(error), PluginWarning, stacklevel=2)
            return None

    def everything(self) -> Iterator[tuple[str, Any]]:
        """Yield each name with what is registered by it; warn of what cannot be used, and leave it out."""
        for name in self.entries():
            thing = self.usable(name)
            if thing is not None:
                yield name, thing


def registered(module: str, name: str, package: str) -> Any:
    """Return what a plugin registered: a class of a model, a display for `zoolab.plots`, or another name.

    Raises:
        ImportError: It cannot be imported, or lacks something.
        AttributeError: Nothing is registered by this name; `package`, if it has one, is not installed.

    >>> registered("zoolab.models", "AnthropicModel", "zoolab_connect").__name__
    'AnthropicModel'
    """
    models = (each for each in MODELS.entries().values() if each.attr == name)
    try:
        named = DISPLAYS if module == "zoolab.plots" else NAMES
        value = next((MODELS.load(each) for each in models), None) or named.find(name)
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


def _having(texts: tuple[str, ...] = (), calls: tuple[str, ...] = ()) -> Callable[[Any], str]:
    """Return what checks that a thing has these texts, and these functions."""

    def lacks(thing: Any) -> str:
        missing = [name for name in texts if not _is_text(getattr(thing, name, None))]
        missing += [name for name in calls if not callable(getattr(thing, name, None))]
        return f"has no {', '.join(missing)}" if missing else ""

    return lacks


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_called(thing: Any) -> str:
    return "" if callable(thing) else f"is {excerpt(thing)}, which cannot be called"


def _is_display(thing: Any) -> str:
    if callable(thing) and not _is_text(getattr(thing, "__doc__", None)):
        return "has no docstring that says what it shows"
    return _is_called(thing)


def _is_fault(thing: Any) -> str:
    lacking = _having(("name", "stage", "does"), ("breaks",))(thing)
    if lacking or thing.stage in STAGES:
        return lacking
    return f"has the stage {excerpt(thing.stage)}, which is not one of {', '.join(STAGES)}"


def _is_any(_: Any) -> str:
    return ""


APIS = Group(
    "zoolab.apis",
    "a class as zoolab.apis.interface describes it",
    _having(("name", "label", "address", "path"), ("to_body", "from_body", "reply")),
)
MODELS = Group("zoolab.models", "a class or function that takes a name and stream=", _is_called)
FAULTS = Group(
    "zoolab.faults", "a fault: its name, its stage, what it does, and a function breaks", _is_fault
)
TOOLBOXES = Group("zoolab.toolboxes", "a function without arguments that returns tools", _is_called)
TOOLS = Group(
    "zoolab.tools",
    "a function that takes a tool of a framework and returns the fields of a zoolab.Tool, or None",
    _is_called,
)
TEXTCALLS = Group(
    "zoolab.textcalls",
    "a function that takes a text and the parameters of each tool by name, and returns `TextCall`s",
    _is_called,
)
READERS = Group("zoolab.readers", "a reader", _having(("what",), ("recognises", "read")))
DISPLAYS = Group("zoolab.displays", "a function or class that shows a trace", _is_display)
COMMANDS = Group("zoolab.commands", "a zoolab.plugins.Command", _having(("does",), ("run",)))
NAMES = Group("zoolab.names", "any value", _is_any)

#: All groups, by their names.
GROUPS: Mapping[str, Group] = {
    each.name: each
    for each in (APIS, MODELS, FAULTS, TOOLBOXES, TOOLS, TEXTCALLS, READERS, DISPLAYS, COMMANDS, NAMES)
}
