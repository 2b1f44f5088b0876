# Every target works from a fresh clone with Python 3.11 or newer and make.
#
#   make demo [ROUNDS=100] [DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres]
#   make test [ARGS="-k fence"]
#   make bench [FAMILY=single] [ORM=django|sqlalchemy]
#
# Variables given on the command line reach the commands through the environment.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

# The stamps carry the interpreter's name, so that another PYTHON makes the environment anew.
TAG    := $(subst /,_,$(PYTHON))
RUN    := $(VENV)/.run-$(TAG)
DEV    := $(VENV)/.dev-$(TAG)
BENCH  := $(VENV)/.bench-$(TAG)
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs bench bench-check demo-fleet demo-admin soak clean

help:
	@echo "make demo        two processes race for one row, on Django and SQLAlchemy, with and without compare-and-swap"
	@echo "make test        the tests (SQLite always; PostgreSQL and MariaDB where they answer)"
	@echo "make lint        ruff, mypy, import-linter"
	@echo "make format      ruff, in place"
	@echo "make docs        the documentation, in docs/_build/html"
	@echo "make bench       the benchmarks; FAMILY=single|... picks one"
	@echo "make bench-check the same, and exit 1 where a figure is below its floor"
	@echo "make clean       remove what these commands made"

$(RUN): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "cas-orm needs Python 3.11 or newer; $(PYTHON) is not. Try: make PYTHON=python3.13 ..."; exit 2; }
	@echo "making $(VENV) ..."
	@test -e $@ || rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "$(PYTHON) cannot make virtual environments (on Debian: apt-get install python3-venv)"; exit 2; }
	@$(PIP) -e '.[demo]'
	@touch $@

$(DEV): $(RUN)
	@echo "installing the development tools ..."
	@$(PIP) -e '.[dev]'
	@touch $@

$(BENCH): $(RUN)
	@echo "installing what is measured against ..."
	@$(PIP) -e '.[bench]'
	@touch $@

demo: $(RUN)
	@$(BIN)/python -m examples.demo

test: $(DEV)
	$(BIN)/python -m pytest $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV)
	$(BIN)/python -m sphinx -q -W -n --keep-going -b html docs docs/_build/html

bench: $(BENCH)
	@$(BIN)/python -m benchmarks

bench-check: $(BENCH)
	@$(BIN)/python -m benchmarks --check

demo-fleet demo-admin soak:
	@echo "make $@: not in this release yet"
	@exit 2

clean:
	rm -rf $(VENV) .nox docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
