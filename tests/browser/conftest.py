"""A real JupyterLab in a headless Chromium.

`ZOOLAB_CHROMIUM` names another browser, `ZOOLAB_SHOTS` a folder for a screenshot of each test.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from looking import watched_page
from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=AutofillServerCommunication",
    "--disable-dev-shm-usage",
]
LAB_OPTIONS = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]
# No question about news, and cells out of sight are on the page as well.
LAB_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}
# The toolbar reads "idle" before the kernel is connected; a run-all sent then never ends.
KERNEL_IS_READY = """() => {
    const context = window.jupyterapp?.shell?.currentWidget?.context?.sessionContext;
    const kernel = context?.session?.kernel;
    return !!(context?.isReady && kernel?.connectionStatus === 'connected' && kernel?.status === 'idle');
}"""
# Never wait for the command in evaluate(), which has no time limit.
RUN_ALL = "() => { window.jupyterapp.commands.execute('runmenu:run-all'); return 0 }"
# An error ends the run: the cells after it stay without a number for ever.
ALL_HAVE_RUN = """() => {
    const notebook = window.jupyterapp?.shell?.currentWidget?.content;
    const cells = notebook.widgets.map(cell => cell.model).filter(model => model.type === 'code');
    const done = cell => cell.executionState === 'idle' && cell.executionCount;
    const failed = cell => cell.sharedModel.outputs.some(output => output.output_type === 'error')
        && !(cell.getMetadata('tags') ?? []).includes('raises-exception');
    const settled = cell => done(cell) || !cell.sharedModel.source.trim();
    return cells.some(failed) || (cells.length > 0 && cells.every(settled));
}"""
OUTPUT_TYPES = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code')
    .map(cell => ({source: cell.model.sharedModel.source,
                   types: cell.model.sharedModel.outputs.map(output => output.output_type)}))"""


@dataclass(frozen=True)
class Lab:
    """One running JupyterLab; `root` is the folder that it serves."""

    address: str
    token: str
    root: Path

    def open(self, page: Page, notebook: Path, seconds: float = 90) -> None:
        """Open a copy of a notebook in a workspace of its own and wait for its kernel."""
        copy = Path(shutil.copy(notebook, self.root))
        workspace = secrets.token_hex(4)
        url = f"{self.address}/lab/workspaces/{workspace}/tree/{copy.name}?token={self.token}"
        page.set_default_timeout(seconds * 1000)
        page.goto(url, wait_until="domcontentloaded")
        page.locator(".jp-NotebookPanel:visible .jp-Notebook .jp-Cell").first.wait_for()
        page.wait_for_function(KERNEL_IS_READY)

    def run_all(self, page: Page) -> list[dict[str, object]]:
        """Run every cell; each code cell's source and the types of its outputs."""
        page.evaluate(RUN_ALL)
        page.wait_for_function(ALL_HAVE_RUN)
        return page.evaluate(OUTPUT_TYPES)

    def outputs(self, page: Page) -> str:
        """The text of every output on the page, widgets included."""
        return "\n".join(page.locator(".jp-NotebookPanel:visible .jp-OutputArea").all_text_contents())

    def answers(self) -> bool:
        """Whether the server is up."""
        try:
            with urllib.request.urlopen(f"{self.address}/api/status?token={self.token}", timeout=2):
                return True
        except OSError:
            return False

    def shut_down(self) -> None:
        """Ask the server to end its kernels and itself."""
        request = urllib.request.Request(
            f"{self.address}/api/shutdown", method="POST", headers={"Authorization": f"token {self.token}"}
        )
        urllib.request.urlopen(request, timeout=5).close()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(home: Path) -> dict[str, str]:
    """Folders of its own for all that Jupyter keeps, and JupyterLab's settings for tests."""
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    for name, settings in LAB_SETTINGS.items():
        path = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(settings), encoding="utf-8")
    return {**os.environ, "HOME": str(home), **{name: str(home / part) for name, part in folders.items()}}


def wait_until_up(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while not lab.answers():
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            pytest.fail(log.read_text(encoding="utf-8")[-4000:])
        time.sleep(0.2)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab for the whole session, on a folder of its own."""
    home = tmp_path_factory.mktemp("lab")
    root, log = home / "root", home / "lab.log"
    root.mkdir()
    port, token = free_port(), secrets.token_hex(16)
    lab = Lab(f"http://127.0.0.1:{port}", token, root)
    command = [sys.executable, "-m", "jupyterlab", *LAB_OPTIONS, f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env=environment(home), stdout=out, stderr=out, cwd=root) as server,
    ):
        try:
            wait_until_up(lab, server, log)
            yield lab
            lab.shut_down()
            server.wait(120)
        finally:
            server.kill()


# Not for the session: while playwright is open, no other test of this process can run an event loop.
@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """A headless Chromium; without one the test is skipped, and with `--complete` it fails."""
    found = os.environ.get("ZOOLAB_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        missing = "no chromium: apt-get install chromium, or set ZOOLAB_CHROMIUM"
        (pytest.fail if pytestconfig.getoption("complete") else pytest.skip)(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, headless=True, args=BROWSER_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of its own a test; an uncaught JavaScript error in it fails the test."""
    with watched_page(browser) as page:
        yield page
        if folder := os.environ.get("ZOOLAB_SHOTS"):
            page.screenshot(path=Path(folder) / f"{request.node.name}.png")
