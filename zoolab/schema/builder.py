"""The parameters of a tool, named one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

from zoolab.errors import InvalidToolSignature

T = TypeVar("T")


class ToolBuilder(Generic[T]):
    """Collects the parameters of a tool; `call` ends it. See `Tool.build`."""

    def __init__(self, name: str, description: str, make: Callable[..., T]) -> None:
        self._make = make
        self._name = name
        self._description = description
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def param(self, name: str, type: str, description: str = "", **schema: Any) -> ToolBuilder[T]:
        """Add a required parameter; `schema` adds keywords, for instance `enum=[...]`."""
        self.param_opt(name, type, description, **schema)
        self._required.append(name)
        return self

    def param_opt(self, name: str, type: str, description: str = "", **schema: Any) -> ToolBuilder[T]:
        """Add an optional parameter; the function needs a default for it."""
        if name in self._properties:
            raise InvalidToolSignature(
                f"{self._name}: two parameters are named {name!r}",
                expected="a different name for each parameter",
            )
        described = {"description": description} if description else {}
        self._properties[name] = {"type": type, **described, **schema}
        return self

    def call(
        self,
        function: Callable[..., Any],
        *,
        risk: Literal["safe", "medium", "high"] = "safe",
        timeout: float | None = None,
        resource: Callable[[dict[str, Any]], str] | None = None,
        untrusted: str = "",
    ) -> T:
        """End with the function, which takes the parameters as keywords."""
        schema = {
            "type": "object",
            "properties": self._properties,
            "required": self._required,
            "additionalProperties": False,
        }
        self._check_fits(function)
        return self._make(
            self._name,
            self._description,
            schema,
            function,
            risk=risk,
            timeout=timeout,
            resource=resource,
            untrusted=untrusted,
        )

    def _check_fits(self, function: Callable[..., Any]) -> None:
        """Refuse a function that cannot take the parameters; one that says nothing of itself may."""
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return
        for given in (self._properties, self._required):
            try:
                signature.bind(**dict.fromkeys(given))
            except TypeError as error:
                raise InvalidToolSignature(
                    f"{self._name}: the function does not accept these parameters: {error}",
                    expected=", ".join(self._properties),
                ) from None
