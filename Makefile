# tvmlab: `make help` lists the targets.  Every target sets up .venv first, once.

VENV ?= .venv
BIN = $(VENV)/bin
PY = $(BIN)/python
# The environment's own Python if there is one, else the first that is new enough; PYTHON=python3.13 chooses another.
SUITABLE = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for p in $(PY) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	"$$p" -c '$(SUITABLE)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
DIR ?= tvmlab-notebooks

.DEFAULT_GOAL := help
.PHONY: help setup demo test browser lab bench notebooks docs js lint types layers format lock clean

help: ## this list
	@echo "tvmlab: from a notebook cell to a fused, verified, timed kernel in a real network"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Another Python:  make test PYTHON=python3.13    Needed: Python 3.11 to 3.14 with venv"

demo: setup ## an own operator in ResNet-50, fused, verified and timed; notebook and report in demo/
	@"$(BIN)/tvmlab" demo --dir demo

test: setup ## unit tests and every tutorial in a real kernel
	@"$(PY)" -m pytest $(ARGS)

browser: setup js ## the tests that drive JupyterLab in Chromium, which has to be installed
	@"$(PY)" -m pytest -m browser $(ARGS)

lab: setup ## JupyterLab on your own copy of the tutorials, in tvmlab-notebooks/
	@"$(BIN)/tvmlab" lab "$(DIR)"

setup: ## the virtual environment .venv, from requirements.lock (350 MB to download, 1.2 GB on disk)
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "tvmlab: no Python from 3.11 to 3.14 $(if $(PYTHON),called $(PYTHON),on this machine's PATH);" \
	    "install one, or say where it is: make demo PYTHON=/path/to/python3.13" >&2; exit 1; }
	@"$(PYTHON)" tools/set_up.py "$(VENV)"

bench: setup ## every benchmark, one after the other, into benchmarks/RESULTS.md; ARGS=--quick for a look
	@"$(PY)" benchmarks/_results.py $(ARGS)

notebooks: setup ## tutorials/*.ipynb from their py:percent sources (not committed)
	@"$(PY)" tools/build_notebooks.py

docs: setup ## the documentation, docs/_build/html, with the notebooks run; ARGS="-D nb_execution_mode=off" leaves them
	@"$(PY)" -m sphinx -q -W --keep-going -b html $(ARGS) docs docs/_build/html
	@echo docs/_build/html/index.html

js: ## the bundles of the explorers anew, from tvmlab/show/js (needs Node 18 or newer)
	@cd tvmlab/show/js && npm ci --silent --ignore-scripts && npm run --silent build

lint: setup ## ruff: rules and format
	@"$(BIN)/ruff" check .
	@"$(BIN)/ruff" format --check .

types: setup ## mypy, strict, on the package
	@"$(BIN)/mypy"

layers: setup ## which room may import which, and where private TVM names may stand
	@"$(BIN)/lint-imports"
	@"$(PY)" tools/check_imports.py

format: setup ## put the code into form
	@"$(BIN)/ruff" check --fix-only --quiet .
	@"$(BIN)/ruff" format .

lock: ## requirements.lock anew, with the newest releases that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra lab --extra test --extra docs --upgrade --quiet \
	  --no-emit-package tvmlab --generate-hashes --custom-compile-command "make lock" --output-file requirements.lock

clean: ## remove the environment and everything that was made
	rm -rf .venv .venv-* build dist demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf docs/_build docs/tutorials
	rm -f tutorials/*.ipynb docs/articles.md docs/reference/commands.md docs/reference/magics.md
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
