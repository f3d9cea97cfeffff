# `make demo` and `make test` do their own set-up in .venv; a second call starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

export OMP_NUM_THREADS ?= 1
export RAY_USAGE_STATS_ENABLED ?= 0

.PHONY: demo test test-quick check clean

demo: $(READY)
	$(BIN)/sextant demo

test: $(READY)
	$(BIN)/pytest --numprocesses 2 --dist worksteal

test-quick: $(READY)
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "not slow"

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) demo-output build dist *.egg-info

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
