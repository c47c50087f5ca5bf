"""What the models of all APIs have in common: one constructor, which tells options of a client from settings.

An option of a client, such as `api_key`, is never sent as a field of the body. A keyword that is neither an
option nor a setting of the API raises `UnknownOption`, and the error names what is nearest. `settings={...}`
passes on anything.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar

from zoolab.apis import APIS, Api
from zoolab.errors import InvalidInput, ModelError, UnknownOption
from zoolab.files import read_table
from zoolab.jsontext import encode_strict, excerpt, one_line
from zoolab.models.rejected import Rejections
from zoolab.records import Reply, Request

#: The parameters of the constructor that are no settings.
PARAMETERS = ("base_url", "api_key", "client", "stream", "timeout", "max_retries", "headers", "settings")
#: What a model says itself; whoever sets it in `settings` would ask something else.
_RESERVED = ("model", "messages", "stream")
_INSTEAD: dict[str, str] = read_table("zoolab.models", "options.toml")["instead"]
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Connection:
    """How an endpoint is reached; what is None is left to the client or to the environment."""

    base_url: str | None = None
    api_key: Any = field(default=None, repr=False)
    client: Any = None
    timeout: Any = None
    max_retries: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __post_init__(self) -> None:
        check_headers(self.headers)
        for name, text in (("base_url", self.base_url), ("api_key", self.api_key)):
            if text is not None and not isinstance(text, str):
                raise InvalidInput(f"{name} is {type(text).__name__}", expected="a text")
        if self.base_url is not None and not self.base_url.strip():
            raise InvalidInput("base_url is blank", expected="an address, such as http://127.0.0.1:8000/v1")
        if isinstance(self.timeout, str | bool) or self.timeout == 0:
            raise InvalidInput(f"timeout is {excerpt(self.timeout)}", expected="seconds")
        if self.max_retries is not None and not (type(self.max_retries) is int and self.max_retries >= 0):
            raise InvalidInput(f"max_retries is {excerpt(self.max_retries)}", expected="0, 1, 2 and so on")


class ApiModel(ABC):
    """A model behind an API.

    Args:
        model: Its name; by default what `ZOOLAB_MODEL` says.
        base_url: The address of the API; by default what the environment says, or the provider's own.
        api_key: The key; by default from the environment. No file, page or error shows it.
        client: A client of your own, for instance one with a proxy.
        stream: Whether the reply is streamed; its deltas are then in `Reply.pieces`.
        timeout: Seconds after which a request is given up; by default what the client says.
        max_retries: How often a request is sent again that found no server or a busy one. The openai client
            does it twice by default, and the models of other APIs do not do it.
        headers: Further headers of each request. They are treated as secrets, like the key.
        settings: Further fields of each request, whatever they are.
        more: The settings that the API is known to have, by name; `temperature` is 0 unless given, or left
            to the API where it refuses it beside what is given (`top_p` at Anthropic).

    A setting that the endpoint rejects by name is left out from then on, as `Reply.left_out` says.

    Raises:
        UnknownOption: A keyword is neither a parameter nor a known setting; the error names the right one.
        ModelError: No model is named, no key is there, or the endpoint does not answer as it should.
    """

    made = "recorded"
    shared = True
    #: What the model is asked in: one of `zoolab.apis.APIS`.
    api: ClassVar[Api]
    #: How a client of one's own is made, for errors.
    _client_made_by: ClassVar[str]

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        stream: bool = False,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.model = model or os.environ.get("ZOOLAB_MODEL") or ""
        if not isinstance(self.model, str) or not self.model:
            raise ModelError("no model is named", advice="give model=, or set ZOOLAB_MODEL")
        self.stream = stream
        own = self._settings_of(settings, more)
        chosen = self.api.instead_of_temperature & {*more, *(settings or {})}
        self.settings: dict[str, Any] = own if chosen else {"temperature": 0, **own}
        self._rejections: Rejections = {}
        self._connect(Connection(base_url, api_key, client, timeout, max_retries, headers or {}))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model}>"

    @abstractmethod
    def __call__(self, request: Request) -> Reply:
        """Return the reply of the model."""

    @abstractmethod
    def _connect(self, to: Connection) -> None:
        """Make the client, or take the one that is given."""

    @classmethod
    def _settings_of(cls, settings: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
        given = {} if settings is None else settings
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InvalidInput("settings is not an object", expected='a dict, such as {"seed": 7}')
        reserved = [name for name in _RESERVED if name in given]
        twice = [name for name in more if name in given]
        if reserved or twice:
            advice = f"give {(reserved + twice)[0]} as a parameter alone"
            raise UnknownOption(f"settings contains {', '.join(reserved + twice)}", advice=advice)
        for name in more:
            if name not in cls.api.known:
                raise cls._unknown(name)
        made = cls.api.placed({**given, **more})
        _check_json(made)
        return made

    @classmethod
    def _unknown(cls, name: str) -> UnknownOption:
        """Return the error for a keyword; its value, which may be a key, is not shown."""
        shown = one_line(name, 60)
        instead = _INSTEAD
        # A setting of another API is no typing error.
        meant = plain_name(name) in instead or any(name in api.known for api in APIS.values())
        near = "" if meant else _nearest(name, [*PARAMETERS, *cls.api.known, *instead])
        right = instead.get(near or plain_name(name)) or (f"{near}=" if near else "")
        right = right.replace("CLIENT", cls._client_made_by)
        if right:
            what = f"{cls.__name__} has no option {shown!r}"
            return UnknownOption(what, advice=f"write {right}")
        return UnknownOption(
            f"{cls.__name__} has no option and its API no known setting {shown!r}",
            advice=f'settings={{"{shown}": ...}} sends it as it is',
        )


def plain_name(name: str) -> str:
    """Return a name as Python writes it: `maxTokens` and `max-tokens` become max_tokens.

    >>> plain_name("maxTokens"), plain_name("baseURL")
    ('max_tokens', 'base_url')
    """
    return _HUMP.sub("_", name).replace("-", "_").lower()


def _nearest(name: str, known: Iterable[str]) -> str:
    plain = {plain_name(each).replace("_", ""): each for each in known}
    near = get_close_matches(plain_name(name).replace("_", ""), plain, n=1, cutoff=0.8)
    return plain[near[0]] if near else ""


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `InvalidInput` for headers that cannot be sent; no value is shown."""
    if not isinstance(headers, Mapping):
        raise InvalidInput("headers is not an object", expected='a dict, such as {"X-Team": "a"}')
    for name, value in headers.items():
        for text in (name, value):
            if not isinstance(text, str) or not (text.isascii() and text.isprintable()):
                raise InvalidInput(
                    f"the header {excerpt(name, 40)} cannot be sent", expected="text in ASCII, without breaks"
                )


def _check_json(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        try:
            encode_strict(value)
        except (TypeError, ValueError, RecursionError):
            raise InvalidInput(
                f"the setting {excerpt(name, 60)} is not JSON", expected="texts, numbers, lists and dicts"
            ) from None
