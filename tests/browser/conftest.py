"""JupyterLab and Notebook 7 in a real browser that reaches this machine alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = ["chromium", "chromium-browser", "google-chrome"]
OFFLINE = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
OFFLINE += ["--disable-component-update", "--disable-sync", "--no-sandbox"]
TOKEN = "for-this-test-alone"
NOTEBOOK = "00_mine.ipynb"
SERVERS = {  # how each is started, and the path under which it opens a notebook
    "lab": (["tvmlab.cli", "lab"], "lab/tree"),
    "notebook": (["notebook", "--allow-root"], "notebooks"),
}
IDLE = """() => {
  const panel = window.jupyterapp?.shell?.currentWidget;
  return panel?.context?.isReady && panel.sessionContext?.session?.kernel?.status === "idle";
}"""


def write_notebook(folder, cells):
    """A notebook that comes before all tutorials, so that JupyterLab opens it; of cells, or one that is there."""
    notebook = cells
    if not isinstance(cells, nbformat.NotebookNode):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / NOTEBOOK)


@contextlib.contextmanager
def served(kind, folder, home, notebook):
    """Run JupyterLab, as `tvmlab lab` starts it, or Notebook 7; gives the address of the notebook."""
    config, settings = home / "config", home / "settings" / "@jupyterlab" / "apputils-extension"
    config.mkdir(exist_ok=True)
    settings.mkdir(parents=True, exist_ok=True)
    for app in ("LabApp", "JupyterNotebookApp"):
        name = {"LabApp": "jupyter_lab_config", "JupyterNotebookApp": "jupyter_notebook_config"}[app]
        (config / f"{name}.json").write_text(json.dumps({app: {"expose_app_in_browser": True}}))
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    cells = home / "settings" / "@jupyterlab" / "notebook-extension"
    cells.mkdir(exist_ok=True)
    (cells / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')  # all cells are on the page
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTER_TOKEN": TOKEN,
    }
    module, path = SERVERS[kind]
    command = [sys.executable, "-m", *module, str(folder), "--no-browser", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            yield wait_for(f"http://127.0.0.1:{port}/{path}/{notebook}?token={TOKEN}", server)
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
    raise AssertionError("Jupyter did not answer in a minute")


def shut_down(port):
    """End Jupyter and its kernels through its own interface."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/shutdown", method="POST", headers={"Authorization": f"token {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


@contextlib.contextmanager
def browsing(profile, width, height):
    """A page of a browser that reaches this machine alone; what else it asked for is in ``page.outside``."""
    outside = []

    def gate(route):
        if route.request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "file:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=program, args=OFFLINE, viewport={"width": width, "height": height}
        )
        page = browser.new_page()
        page.set_default_timeout(180_000)  # a shared machine may stand still
        page.route("**/*", gate)
        page.outside = outside
        yield page
        browser.close()


@pytest.fixture(scope="session")
def opened():
    """Open a notebook in "lab" or "notebook": ``with opened(kind, cells, home) as page``; no cell has run yet.

    In place of cells, the file name of a tutorial.
    """

    @contextlib.contextmanager
    def open_(kind, cells, home, width=1280, height=1000):
        folder, notebook = home / "mine", cells
        if not isinstance(cells, str):
            notebook = NOTEBOOK
            write_notebook(folder, cells)
        with served(kind, folder, home, notebook) as address, browsing(home / "profile", width, height) as page:
            page.goto(address)
            page.wait_for_function(IDLE, timeout=90_000)
            yield page

    return open_


@pytest.fixture(scope="session")
def turned_into_a_page():
    """Open HTML from disk: ``with turned_into_a_page(html, home) as page``."""

    @contextlib.contextmanager
    def open_(html, home, width=1280, height=1000):
        (home / "page.html").write_text(html, encoding="utf-8")
        with browsing(home / "profile", width, height) as page:
            page.goto((home / "page.html").as_uri())
            yield page

    return open_


@pytest.fixture(scope="session")
def command():
    """Run a command of JupyterLab or Notebook 7, to its end."""

    def run(page, name, **options):
        page.evaluate("([name, options]) => window.jupyterapp.commands.execute(name, options)", [name, options])

    return run
