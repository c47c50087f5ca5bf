"""What the environment says about networks, certificates and homes: one clear line if it cannot work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from server import completion, serving

from zoolab import OpenAIModel
from zoolab.errors import InvalidInput, ModelError
from zoolab.files import needs_home
from zoolab.records import Request
from zoolab_course import here
from zoolab_study.reachable import check_reachable

ADDRESS = "https://models.invalid/v1"
NOWHERE = "http://127.0.0.1:9"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(("name", "value"), [("HTTP_PROXY", NOWHERE), ("ALL_PROXY", "socks5://127.0.0.1:9")])
def test_a_server_of_this_machine_needs_nothing_of_the_environment(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with serving(completion("Hi")) as server:
        assert (
            OpenAIModel("m", base_url=server.url, api_key="k")(
                Request([{"role": "user", "content": "Hi"}])
            ).text
            == "Hi"
        )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:9", "ALL_PROXY names a SOCKS proxy"),
        ("HTTPS_PROXY", "nonsense://x", "HTTPS_PROXY is not the address of a proxy"),
        ("SSL_CERT_FILE", "/no.pem", "SSL_CERT_FILE is /no.pem, which does not exist"),
        ("SSL_CERT_DIR", "/no", "SSL_CERT_DIR is /no, which does not exist"),
    ],
)
def test_a_variable_that_cannot_work_is_named(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelError) as caught:
        OpenAIModel("m", base_url=ADDRESS, api_key="k")
    assert said in str(caught.value)


def test_no_home_is_one_line():
    with pytest.raises(InvalidInput, match="set HOME, or ZOOLAB_CONFIG"), needs_home("ZOOLAB_CONFIG"):
        raise RuntimeError("Could not determine home directory.")


def test_an_address_where_nobody_listens_is_told_from_one_where_somebody_does():
    with serving(completion("Hi")) as server:
        check_reachable(server.url)
        assert server.asked == []
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9"):
        check_reachable(NOWHERE)


def test_what_is_here_is_said_without_secrets(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://anna:secret@proxy.example:3128")
    monkeypatch.setenv("SSL_CERT_FILE", "/no.pem")
    told = "\n".join(here.lines())
    assert "secret" not in told
    assert "proxy.example:3128" in told
    assert "/no.pem, which does not exist" in told


def test_it_is_said_without_zoolab_and_without_a_home():
    kept = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-I", str(Path(here.__file__))]
    done = subprocess.run(command, env={**kept, "LC_ALL": "C"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"{name}: " in done.stdout for name in ("python", "locale", "home", "proxies", "kernels"))
