"""The README's first operator, typed into a notebook in JupyterLab, in a real browser and without a network.

Run by `make browser`; needs Chromium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import sync_playwright

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
CHROMIUM = ["chromium", "chromium-browser", "google-chrome"]
OFFLINE = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
OFFLINE += ["--disable-component-update", "--disable-sync", "--no-sandbox"]
TOKEN = "for-this-test-alone"
IDLE = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.context?.isReady && panel.sessionContext?.session?.kernel?.status === "idle";
}"""

pytestmark = pytest.mark.browser


def cells():
    """The cells of the README's step-by-step section up to the call of the operator."""
    section = README.split("\n## Your own operator", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^( *)```python\n(.*?)^\1```", section, re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE).strip() for indent, code in found][:3]


@pytest.fixture
def folder(tmp_path):
    """A folder with a notebook that comes before all tutorials, so that JupyterLab opens it."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells()])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = tmp_path / "mine"
    made.mkdir()
    nbformat.write(notebook, made / "00_mine.ipynb")
    return made


@pytest.fixture
def address(folder, tmp_path):
    """JupyterLab as `tvmlab lab` starts it; the address that it opens."""
    config, settings = tmp_path / "config", tmp_path / "settings" / "@jupyterlab" / "apputils-extension"
    config.mkdir()
    settings.mkdir(parents=True)
    (config / "jupyter_lab_config.json").write_text(json.dumps({"LabApp": {"expose_app_in_browser": True}}))
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTER_TOKEN": TOKEN,
    }
    command = [sys.executable, "-m", "tvmlab.cli", "lab", str(folder), "--no-browser", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            yield wait_for(f"http://127.0.0.1:{port}/lab/tree/00_mine.ipynb?token={TOKEN}", server)
        finally:
            shut_down(port)
            server.wait(timeout=30)


def wait_for(address, server):
    """The address, once it answers."""
    for _ in range(120):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return address
        except OSError:
            assert server.poll() is None, server.stdout.read().decode()
            time.sleep(0.5)
    raise AssertionError("JupyterLab did not answer in a minute")


def shut_down(port):
    """End JupyterLab and its kernels through its own interface."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/shutdown", method="POST", headers={"Authorization": f"token {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


@pytest.fixture
def page(address, tmp_path):
    """A page of a browser that reaches this machine alone; what else it asked for is in ``page.outside``."""
    outside = []

    def gate(route):
        if route.request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(tmp_path / "profile"), executable_path=program, args=OFFLINE, viewport={"width": 1200, "height": 1600}
        )
        opened = browser.new_page()
        opened.route("**/*", gate)
        opened.outside = outside
        opened.goto(address)
        opened.wait_for_function(IDLE, timeout=90_000)
        yield opened
        browser.close()


def test_the_first_operator_is_defined_shown_and_called_in_jupyterlab(page, folder, tmp_path):
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.get_by_text("array([-2. ,  0.5,  2. ]", exact=False).wait_for(timeout=90_000)
    card = page.locator(".jp-OutputArea-output", has_text="lab.hard_tanh").first
    assert card.is_visible()
    assert "identity card" in card.inner_text()
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    page.screenshot(path=str(tmp_path / "lab.png"))
    assert page.outside == []
    assert sorted(file.name for file in folder.glob("*.ipynb"))[:2] == ["00_mine.ipynb", "00_tour.ipynb"]
