"""An API: Ollama's chat, with another name for one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoolab_connect.apis.ollama import Ollama


class Tellers(Ollama):
    """Ollama's chat at another address; its settings stand under `parameters`."""

    name = "tellers"
    label = "Tellers"
    place = 100
    address = "https://tellers.invalid"
    address_from = "TELLERS_BASE_URL"
    path = "/v1/chat"
    key_from = ("TELLERS_API_KEY",)
    own = Ollama.own - {"options"} | {"parameters"}
    _nest = "parameters"

    def recognises(self, body: Mapping[str, Any]) -> bool:
        return "parameters" in body
