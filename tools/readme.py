"""What builds zoolab runs this: the README as it appears on the package index, and the project's addresses.

A relative link leads nowhere on the index. The address of the repository is `ZOOLAB_REPOSITORY`, or what
GitHub Actions sets; with it, links are absolute. Without one, links and pictures become plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def repository() -> str:
    """Return the address of the repository, without a slash at its end; empty if nobody said it."""
    server = os.environ.get("GITHUB_SERVER_URL", "")
    name = os.environ.get("GITHUB_REPOSITORY", "")
    given = os.environ.get("ZOOLAB_REPOSITORY", f"{server}/{name}" if server and name else "")
    return given.rstrip("/")


def readme_for_index(text: str, address: str) -> str:
    """Return the README with absolute links, or without links if there is no address.

    >>> readme_for_index("[labs](labs/README.md) ![A picture](a.png)", "https://example.org/zoolab")
    '[labs](https://example.org/zoolab/blob/main/labs/README.md) ![A picture](https://example.org/...)'
    >>> readme_for_index("[labs](labs/README.md) ![A picture](a.png)[web](https://example.org)", "")
    'labs [web](https://example.org)'
    """

    def absolute(link: re.Match[str]) -> str:
        picture, label, target = link.groups()
        if not address:
            return "" if picture else label
        return f"{picture}[{label}]({address}/{'raw' if picture else 'blob'}/main/{target})"

    return _LINK.sub(absolute, text)


class Readme(MetadataHookInterface):
    """A hook of hatchling."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme and the addresses of the project."""
        address = repository()
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": readme_for_index(text, address),
        }
        pages = {"Source": "", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
        metadata["urls"] = {name: address + page for name, page in pages.items()} if address else {}
