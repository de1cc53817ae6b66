# `make eval` and `make test` do all the set-up themselves. They need CPython 3.11 or later with pip, and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: eval test check bench venv lock clean
.DELETE_ON_ERROR:

# The main job: a real embedded model beside the baselines, on labelled test cases: one of each of so many conversations.
# `make eval CASES=all` takes every test case, and some four times as long.
CASES ?= 60
FEWER = $(if $(filter 1 2 3 4 5 6 7 8 9,$(CASES)),$(CASES),20)
eval: $(READY)
	$(BIN)/salience eval --split test --show 3 $(if $(filter all,$(CASES)),,-n $(CASES)) \
	  -m baseline/silent -m baseline/verbatim -m baseline/rules -m embedded/smollm2 \
	  -p default -p embedded-default
	@echo
	@$(BIN)/salience eval --task consolidation --split test --brief $(if $(filter all,$(CASES)),,-n $(FEWER)) \
	  -m baseline/duplicate-none -m baseline/nearest-update -m embedded/smollm2
	@$(BIN)/salience eval --task scenario --split test --brief $(if $(filter all,$(CASES)),,-n 1) \
	  -m baseline/rules+distance -m embedded/smollm2 -p embedded-default+distance

test: check
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Speed and memory against their targets, in one table; about a quarter of an hour.
bench: $(READY)
	PYTHONPATH=. $(BIN)/python tests/benchmarks/table.py

venv: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "CPython 3.11 or later is needed: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Setting up $(VENV): about 1.5 GB of packages, a minute or two"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# Only to change dependencies; needs uv.
lock:
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --python-version 3.11 \
	  --extra all --extra dev --custom-compile-command "make lock" -o requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .salience .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
