"""Build `tutorials/*.ipynb` from their py:percent sources, beside them (`make notebooks`).  They are not committed."""

from __future__ import annotations

import nbformat

from tvmlab.workspace import to_notebook, tutorials_folder

for source in sorted(tutorials_folder().glob("*.py")):
    target = source.with_suffix(".ipynb")
    nbformat.write(to_notebook(source), target)
    print(target)
