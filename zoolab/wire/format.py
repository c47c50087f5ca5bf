"""What every format can do, and how: a request is made plain, written down, and read back.

A subclass says what differs: how its API carries messages, tools, the choice of them and settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from zoolab.records import Message, Request
from zoolab.schema.formats import TOOL_FORMATS
from zoolab.wire.chat import at_home, function_in, is_foreign, renamed, tool_names, with_settings
from zoolab.wire.normalise import (
    Manner,
    Placed,
    plain_choice,
    plain_message,
    plain_messages,
    plain_settings,
    plain_tools,
)
from zoolab.wire.reading import Reading, answered, read_tool, sent
from zoolab.wire.warnings import Notes, WireWarning

Tools = tuple[dict[str, Any], ...]
Fields = dict[str, Any]


class WireFormat(ABC):
    """The form of one API: of its requests, there and back, and of its replies, there and back."""

    #: The name of the format in `FORMATS`.
    name: ClassVar[str]
    _manner: ClassVar[Manner] = Manner()
    #: Whether the API refuses a result that answers no call.
    _pairs_results: ClassVar[bool] = True
    #: OpenAI's names of settings, and what this API calls them.
    _renamed: ClassVar[Mapping[str, str]]
    #: The way back.
    _names_back: ClassVar[Mapping[str, str]]
    #: OpenAI's settings that have a place in this body.
    _homes: ClassVar[tuple[str, ...]]
    #: The fields of the body that are no settings.
    _own: ClassVar[tuple[str, ...]]
    #: Names that a setting has in other APIs, and the name under which it comes back.
    _aliases: ClassVar[Mapping[str, str]] = {}
    #: The types of tools that zoolab writes; a tool of another type is the API's own. None: it has no own.
    _tool_types: ClassVar[tuple[str, ...] | None] = None
    #: What `from_body` expects.
    _a_body: ClassVar[str]

    def normalise(self, request: Request) -> tuple[Request, tuple[WireWarning, ...]]:
        """The request as this format can say it, and what of it changed."""
        notes = Notes()
        messages = self._arranged(plain_messages(request.messages, self._manner, notes), notes)
        if self._pairs_results:
            tool_names(messages)
        tools = plain_tools(request.tools, self._there_and_back, notes)
        choice = plain_choice(request.tool_choice, tools, notes)
        tools, choice = self._offered(tools, choice, notes)
        back = self._settings_back(request.settings, tools, choice)
        settings = plain_settings(request.settings, back, self._aliases_of(request.settings), notes)
        return Request(messages, tools, choice, settings), notes.warnings

    def to_body(self, request: Request, model: str = "", **settings: Any) -> dict[str, Any]:
        """The body of the HTTP request.

        Args:
            request: The conversation, the tools and the choice of them.
            model: The name of the model; left out if empty.
            settings: Further fields of the body. OpenAI's names are translated; what only OpenAI knows
                is left out, the others go as they are.

        Raises:
            InvalidInput: A message or a tool has no form in this API, or a result comes without its call.
        """
        plain, _ = self.normalise(with_settings(request, model, settings))
        return self._written(plain)

    def from_body(self, body: Any) -> Request:
        """The request that a body holds, in OpenAI's form.

        Raises:
            InvalidInput: The body is no request, or zoolab has no form for a part of it, such as an image.
        """
        reading = sent(body)
        return self._read(dict(reading.object(body, self._a_body)), reading)

    def normalise_reply(self, message: Message) -> tuple[Message, tuple[WireWarning, ...]]:
        """The assistant message as it comes back, and what of it changed."""
        notes = Notes()
        return plain_message(message, (), self._manner, notes), notes.warnings

    @abstractmethod
    def to_response(self, message: Message) -> dict[str, Any]:
        """The smallest response that answers with an assistant message."""

    def from_response(self, body: Any) -> Message:
        """The assistant message of a response that was not streamed, in OpenAI's form.

        Raises:
            ModelError: The response holds no assistant message.
        """
        return self._read_reply(body, answered(body))

    @abstractmethod
    def _written(self, plain: Request) -> dict[str, Any]:
        """The body of a request that is plain already."""

    @abstractmethod
    def _read(self, fields: Fields, reading: Reading) -> Request:
        """The request that the fields of a body make."""

    @abstractmethod
    def _read_reply(self, body: Any, reading: Reading) -> Message:
        """The assistant message in a response."""

    def _arranged(self, placed: list[Placed], notes: Notes) -> list[Message]:  # noqa: ARG002
        """The messages in an order that the API accepts."""
        return [message for _, message in placed]

    def _offered(self, tools: Tools, choice: str, notes: Notes) -> tuple[Tools, str]:  # noqa: ARG002
        """The tools and the choice as far as the API knows them."""
        return tools, choice

    def _settings_back(self, settings: Mapping[str, Any], tools: Tools, choice: str) -> Fields:  # noqa: ARG002
        """The settings as they come back out of a body."""
        return self._settings_in(self._fields(settings))

    def _aliases_of(self, settings: Mapping[str, Any]) -> Mapping[str, str]:  # noqa: ARG002
        return self._aliases

    def _fields(self, settings: Mapping[str, Any]) -> Fields:
        """The settings as fields of the body."""
        known, others = self._split(settings)
        return {**others, **known}

    def _split(self, settings: Mapping[str, Any]) -> tuple[Fields, Fields]:
        """The settings that this API renames, under their new names, and the others that it takes."""
        return renamed(at_home(settings, self._homes, self._own), self._renamed)

    def _settings_in(self, fields: Fields) -> Fields:
        """The settings, under OpenAI's names, that are left in the fields of a body."""
        known, others = renamed(fields, self._names_back)
        return {**others, **known}

    def _tool(self, tool: Any) -> dict[str, Any]:
        if self._tool_types is not None and is_foreign(tool, self._tool_types):
            return dict(tool)
        return TOOL_FORMATS[self.name](function_in(tool, "a tool"))

    def _tool_in(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        if self._tool_types is not None and is_foreign(tool, self._tool_types):
            return tool
        return read_tool(self._function(tool, reading), reading)

    @abstractmethod
    def _function(self, tool: dict[str, Any], reading: Reading) -> dict[str, Any]:
        """What OpenAI calls the `function` of a tool in this API's form."""

    def _tools_in(self, tools: Any, reading: Reading) -> Tools:
        return tuple(self._tool_in(tool, reading) for tool in reading.objects(tools, "a list of tools"))

    def _there_and_back(self, tool: Any) -> dict[str, Any]:
        made = self._tool(tool)
        return self._tool_in(made, sent(made))
