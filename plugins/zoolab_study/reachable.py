"""Whether a server listens at an address, before an experiment asks it a thousand questions."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from zoolab.errors import ModelError
from zoolab.models.network import LOOPBACK

_SECONDS = 10.0


def check_reachable(address: str) -> None:
    """Raise `ModelError` if nothing listens at an address. Nothing is asked; a proxy is not tried."""
    parts = urlsplit(address)
    host = parts.hostname
    if not host or parts.scheme not in ("http", "https"):
        return
    through = getproxies()
    if (
        not LOOPBACK.match(address)
        and not proxy_bypass(host)
        and (parts.scheme in through or "all" in through)
    ):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError as error:
        what = f"cannot reach {parts.scheme}://{host}:{port}: {error.strerror or error}"
        raise ModelError(what, advice="check the address and that a server runs there") from None
