"""Tools that are not plain functions: methods, and what files and other frameworks describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import isroutine
from types import MethodType
from typing import Any, ClassVar, Protocol

from zoolab.tools import P, R_co, Tool

__all__ = ["ForeignTool", "MethodTool", "NamedTool"]


class NamedTool(Protocol):
    """A tool of another framework, for type checkers."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    @property
    def description(self) -> str | None:
        """What the model reads of it."""
        ...


@dataclass(frozen=True, eq=False)
class MethodTool(Tool[P, R_co]):
    """The tool of a method, as its class has it; the same attribute of an object is the tool to call.

    >>> class Api: pass
    >>> Api.look = MethodTool("look", "Look.", {"type": "object"}, lambda self: type(self).__name__)
    >>> Api().look.invoke({})
    'Api'
    """

    #: Whether the method belongs to the class and not to an object.
    of_class: bool = False
    needs_object: ClassVar[bool] = True

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        holder = owner if self.of_class and not isinstance(instance, type) else instance
        if holder is None or self.function is None:
            return self
        # Compiled once for the class; each object has a tool of its own around them.
        made: Tool = Tool.__new__(Tool)
        bound = MethodType(self.function, holder)
        vars(made).update(vars(self), checker=self.checker, sent=self.sent, function=bound)
        return made


class ForeignTool(Tool[P, R_co]):
    """A tool as a file or another program describes it.

    Its schema may refer to what it does not contain; the verdict on its calls is then `invalid_schema`.
    """

    def _check_schema(self) -> None:
        from zoolab.schema.checker import check_schema_bounds

        check_schema_bounds(self.parameters)


def fields_of_others(value: Any) -> dict[str, Any] | None:
    """Return the fields of a tool that another framework made, if what is registered knows its form."""
    if isroutine(value) or isinstance(value, Tool | type | partial | str | int):
        return None
    from zoolab.plugins import TOOLS

    found = (TOOLS.attempt(name, _fields, read, value) for name, read in TOOLS.everything())
    return next((fields for fields in found if fields is not None), None)


def _fields(read: Callable[[Any], dict[str, Any] | None], value: Any) -> dict[str, Any] | None:
    from zoolab.plugins import refuses

    fields = read(value)
    if fields is not None and (why := refuses(Tool, **fields)):
        raise TypeError(why)
    return fields
