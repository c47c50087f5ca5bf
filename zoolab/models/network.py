"""What the environment says about networks: proxies, certificates. One clear line if that cannot work."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoolab.errors import ModelError

LOOPBACK = re.compile(r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?(?:/|\Z)")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


def client_options(address: str) -> dict[str, Any]:
    """Return options of an HTTP client for an address: a server of this machine is reached without a proxy.

    >>> client_options("http://127.0.0.1:8000/v1")
    {'trust_env': False}
    """
    return {"trust_env": False} if LOOPBACK.match(address) and address.startswith("http:") else {}


@contextmanager
def surroundings_named() -> Generator[None]:
    """Raise a `ModelError` that names the variable if a client cannot be made because of one."""
    for name in _CERTIFICATES:
        place = os.environ.get(name)
        if place and not Path(place).exists():
            what = f"{name} is {place}, which does not exist"
            raise ModelError(what, advice=f"correct {name}, or unset it")
    try:
        yield
    except ImportError as error:
        if "socks" not in str(error).lower():
            raise
        what = f"{_named_proxies()} names a SOCKS proxy, and the package socksio is not installed"
        raise ModelError(what, advice="pip install socksio, or unset the variable") from None
    except ValueError as error:
        if "proxy" not in str(error).lower():
            raise
        what = f"{_named_proxies()} is not the address of a proxy"
        raise ModelError(what, advice="write it as http://host:port, or unset it") from None


def _named_proxies() -> str:
    """List the variables that name a proxy, without their values, which may hold a password."""
    found = [name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
    return " or ".join(found) or "the system's settings"
