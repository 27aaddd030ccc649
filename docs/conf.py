"""The documentation: `make docs`.  Built without a network; notebooks are run unless told otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import pages  # noqa: E402

import tvmlab  # noqa: E402

pages.write(HERE)

project = "tvmlab"
author = "the authors of tvmlab"
version = release = tvmlab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
html_theme = "furo"
html_title = "tvmlab"
html_show_copyright = False
default_role = "code"
html_static_path = ["_static"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
# The hint of an exercise, the starter of another, an error on purpose: cells say so by a tag.
nb_execution_allow_errors = False
# Plain text stands beside every picture, for terminals.
nb_mime_priority_overrides = [("html", "text/html", 10), ("html", "image/png", 20), ("html", "text/plain", 90)]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
