"""Says where zoolab runs: versions, folders, locale, proxies, certificates, kernels. Standard library only.

`zoolab doctor --here` prints it. start.py runs this file by its path when an installer fails.
"""

import contextlib
import locale
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

_PACKAGES = ("zoolab", "openai", "jupyterlab", "ipykernel", "ipython", "anywidget", "pandas", "mcp")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


def lines() -> Iterator[str]:
    """Yield one line a fact; one that is likely to fail ends in what to do about it.

    >>> next(lines()).partition(":")[0]
    'python'
    """
    yield f"python: {platform.python_version()}, {sys.executable}"
    yield f"system: {platform.platform()}"
    yield f"packages: {', '.join(_versions())}"
    yield f"folder: {_ascii(str(Path.cwd()))}{_room()}"
    encodings = f"{locale.getpreferredencoding(False)}, of file names {sys.getfilesystemencoding()}"
    yield f"locale: {os.environ.get('LC_ALL') or os.environ.get('LANG') or 'not set'}; encoding {encodings}"
    yield f"home: {_home()}"
    proxies = [f"{name}={_without_password(value)}" for name, value in _set(_PROXIES)]
    yield f"proxies: {', '.join(proxies) or 'none'}"
    yield f"certificates: {', '.join(_certificates()) or 'those of Python'}"
    yield f"kernels: {', '.join(_kernels()) or 'none found'}"


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name} not installed"


def _set(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in names:
        for each in (name, name.lower()):
            if os.environ.get(each):
                yield each, os.environ[each]


def _without_password(address: str) -> str:
    user, at, host = address.rpartition("@")
    return f"{urlsplit(user).scheme or 'http'}://[hidden]@{_ascii(host)}" if at else _ascii(address)


def _certificates() -> Iterator[str]:
    for name, place in _set(_CERTIFICATES):
        missing = "" if Path(place).exists() else f", which does not exist: correct {name}, or unset it"
        yield f"{name}={_ascii(place)}{missing}"


def _room() -> str:
    try:
        return f" ({shutil.disk_usage('.').free // 1_000_000:,} MB free)"
    except OSError:
        return ""


def _home() -> str:
    try:
        return _ascii(str(Path.home()))
    except (RuntimeError, KeyError):
        return "none: set HOME to a folder of your own"


def _kernels() -> Iterator[str]:
    folders = [Path(sys.prefix, "share/jupyter/kernels")]
    with contextlib.suppress(RuntimeError, KeyError):
        folders.append(Path.home() / ".local/share/jupyter/kernels")
    for folder in folders:
        if folder.is_dir():
            yield from (f"{each.name} ({_ascii(str(folder))})" for each in sorted(folder.iterdir()))


def _ascii(text: str) -> str:
    """Return a text that every terminal can print."""
    return "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in text)


if __name__ == "__main__":
    for line in lines():
        print(line)
