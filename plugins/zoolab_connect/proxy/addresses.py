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

#: The variables in which the clients of an API look for its address; the first one is the API's own.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
    "ollama": ("OLLAMA_HOST", "OLLAMA_API_BASE"),
}
#: The variables in which they look for their key; any of them is enough.
KEYS: Mapping[str, tuple[str, ...]] = {name: APIS[name].key_from for name in VARIABLES if APIS[name].key_from}
_OLLAMA_PORT = 11434
_VERSION = re.compile(r"/v\d\w*")


@dataclass(frozen=True, slots=True)
class Endpoint:
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
        """The address for a request that came with this path.

        >>> Endpoint("openai", "https://host.example/v1beta/openai", ()).target("/v1beta/openai/models?a=1")
        'https://host.example/v1beta/openai/models?a=1'
        >>> Endpoint("anthropic", "https://api.anthropic.com", ()).target("/messages")
        'https://api.anthropic.com/v1/messages'
        """
        version = _VERSION.match(APIS[self.api].path)
        base = self.path.rstrip("/")
        if not self.given and version and path.startswith(f"{base}/"):
            rest = path.removeprefix(base)
            if not _VERSION.match(rest):
                return f"{self.origin}{base}{version.group()}{rest}"
        return self.origin + path


def endpoints_of(environment: Mapping[str, str], to: str = "") -> tuple[Endpoint, ...]:
    """The endpoints that a program with this environment asks; with `to`, all requests go there.

    An endpoint of `to` is the address as it stands for OpenAI's clients. Other clients write the version of
    their API themselves, so it is left out of the address for them.

    >>> [each.address for each in endpoints_of({"OLLAMA_HOST": "box"}, "")][-1]
    'http://box:11434'
    >>> [each.address for each in endpoints_of({}, "http://host.example/x/v1")][:2]
    ['http://host.example/x/v1', 'http://host.example/x']
    """
    found: dict[tuple[str, str], Endpoint] = {}
    for api, variables in VARIABLES.items():
        own = environment.get(variables[0])
        for variable in variables:
            said = "" if to else environment.get(variable) or own or ""
            if to:
                address = to if api == "openai" else re.sub(r"/v\d\w*/?\Z", "", to).rstrip("/")
            else:
                address = _ollama_address(said) if api == "ollama" else said or APIS[api].address
            before = found.get((api, address))
            named = (*(before.variables if before else ()), variable)
            given = bool(said) or bool(to and api == "openai")
            found[api, address] = Endpoint(api, address, named, given or bool(before and before.given))
    return tuple(found.values())


def _ollama_address(said: str) -> str:
    """The address that Ollama's clients make of their variable: the scheme and the port may be missing."""
    if not said:
        return APIS["ollama"].address
    if "://" in said:
        return said
    host, slash, path = said.partition("/")
    has_port = re.search(r":\d+\Z", host) is not None
    # A server that listens everywhere is asked on this machine.
    host = re.sub(r"\A0\.0\.0\.0(?=:|\Z)", "127.0.0.1", host)
    return f"http://{host}{'' if has_port else f':{_OLLAMA_PORT}'}{slash}{path}"
