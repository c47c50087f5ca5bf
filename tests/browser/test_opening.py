"""What a student meets who opens the course: no question, and a notebook that counts as unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from looking import watched_page
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

READY = """() => {
    const context = window.jupyterapp?.shell?.currentWidget?.context;
    return !!context?.model?.sharedModel.getMetadata('language_info')?.version
        && context.sessionContext?.session?.kernel?.status === 'idle';
}"""


def test_opening_a_notebook_asks_nothing_and_changes_nothing(browser: Browser, tmp_path: Path):
    folders = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR")}
    options = ["--no-browser", "--ServerApp.token=", "--LabApp.expose_app_in_browser=True"]
    lab = subprocess.Popen(
        [sys.executable, "-m", "zoolab", "course", "mine", *options],
        cwd=tmp_path,
        env={**os.environ, **folders, "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = next(line.split()[-1] for line in lab.stderr or () if "http://127.0.0.1" in line)
        with watched_page(browser) as page:
            page.goto(address)
            page.wait_for_function(READY, timeout=120_000)
            page.wait_for_timeout(3_000)  # a question about news would come now
            assert page.evaluate("() => window.jupyterapp.shell.currentWidget.context.model.dirty") is False
            assert page.locator(".Toastify__toast, .jp-Dialog").count() == 0
    finally:
        lab.terminate()
        lab.communicate(timeout=60)
