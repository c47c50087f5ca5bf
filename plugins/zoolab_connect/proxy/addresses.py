"""Where the endpoints of a program are, and where it finds them while it is watched.

The program gets the same path on loopback, and what it asks there is forwarded to the same path at its
endpoint. Nothing is rewritten, so a program that works alone works when it is watched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from zoolab.apis import APIS
from zoolab_connect.proxy.recognising import watched

_VERSION = re.compile(r"/v\d\w*")
_VERSION_AT_END = re.compile(r"/v\d\w*/?\Z")


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """One address of an API, and the variables that name it."""

    api: str
    address: str
    variables: tuple[str, ...]
    #: Whether the user named the address; else the API's version may be missing in the path of a request.
    given: bool = False

    @property
    def origin(self) -> str:
        """The address without its path."""
        return self.address.removesuffix(self.path)

    @property
    def path(self) -> str:
        """The path of the address, with a slash at its end only if the user wrote one."""
        return urlsplit(self.address).path

    def target(self, path: str) -> str:
        """Return the address for a request that came with this path.

        >>> ApiAddress("openai", "https://host.example/v1beta/openai", ()).target("/v1beta/openai/models?a=1")
        'https://host.example/v1beta/openai/models?a=1'
        >>> ApiAddress("anthropic", "https://api.anthropic.com", ()).target("/messages")
        'https://api.anthropic.com/v1/messages'
        """
        version = _VERSION.match(APIS[self.api].path)
        base = self.path.rstrip("/")
        if not (self.given or _VERSION_AT_END.search(base)) and version and path.startswith(f"{base}/"):
            rest = path.removeprefix(base)
            if not _VERSION.match(rest):
                return f"{self.origin}{base}{version.group()}{rest}"
        return self.origin + path


def variables() -> dict[str, tuple[str, ...]]:
    """Return the variables in which the clients of each API look for its address, its own one first.

    A variable belongs to the first API that names it. An API whose own variable belongs to another one has
    no entry: its requests go where those of the other go.

    >>> variables()["openai"]
    ('OPENAI_BASE_URL', 'OPENAI_API_BASE')
    """
    found: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for each in watched():
        if each.address_from in taken:
            continue
        found[each.name] = tuple(name for name in (each.address_from, *each.also_from) if name not in taken)
        taken.update(found[each.name])
    return found


def endpoints_of(environment: Mapping[str, str], to: str = "") -> tuple[ApiAddress, ...]:
    """Return the endpoints that a program with this environment asks; with `to`, all requests go there.

    With `to`, clients whose address ends with the version of the API, as OpenAI's does, get it as it stands.
    Other clients write the version themselves, so it is left out of the address for them.

    >>> [each.address for each in endpoints_of({"OLLAMA_HOST": "box"}, "")][-1]
    'http://box:11434'
    >>> [each.address for each in endpoints_of({}, "http://host.example/x/v1")][:2]
    ['http://host.example/x/v1', 'http://host.example/x']
    """
    found: dict[tuple[str, str, bool], ApiAddress] = {}
    for api, names in variables().items():
        own = environment.get(names[0])
        as_it_stands = _VERSION_AT_END.search(APIS[api].address) is not None
        for variable in names:
            said = "" if to else environment.get(variable) or own or ""
            if to:
                address = to if as_it_stands else _VERSION_AT_END.sub("", to).rstrip("/")
            else:
                address = APIS[api].address_said(said)
            # Clients that read another variable than the user's may leave the version to the address.
            given = as_it_stands if to else bool(environment.get(variable))
            before = found.get((api, address, given))
            named = (*(before.variables if before else ()), variable)
            found[api, address, given] = ApiAddress(api, address, named, given)
    return tuple(found.values())
