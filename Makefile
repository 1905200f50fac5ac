# Every target makes .venv by itself and needs only Python 3.11+ and make.
#   make run [FOR=20]    the engine at work on a building full of sensors
#   make test            lint, types and all tests (what .ci/run calls)
#   make bench           the quick benchmarks; tables and plots go to bench/out/
#   make lint            ruff and mypy alone
#   make lock            write the *.lock files again after a change of pyproject.toml (UPGRADE=1: newest versions)
#   make clean           remove everything that make made, .venv included
# PYTHON=python3.12 chooses the interpreter .venv is made with.

PYTHON ?= python3
FOR ?=
UPGRADE ?=

VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/stamp

# The lock of the build tools holds inside pip's isolated builds too: old pips read the first, new ones the second.
export PIP_CONSTRAINT := $(CURDIR)/requirements-build.lock
export PIP_BUILD_CONSTRAINT := $(CURDIR)/requirements-build.lock
export PIP_ROOT_USER_ACTION := ignore
export PIP_DISABLE_PIP_VERSION_CHECK := 1
INSTALL := $(RUN) -m pip install --quiet --no-input --no-deps

.PHONY: run test bench lint lock clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

run: $(STAMP)-run
	@$(RUN) examples/building.py $(if $(FOR),--for $(FOR))

test: lint
	@$(RUN) -m pytest

bench: $(STAMP)-dev
	@$(RUN) -m bench all --quick

lint: $(STAMP)-dev
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --check --quiet . || { $(RUN) -m ruff format --check .; exit 1; }
	@$(RUN) -m mypy

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "cacq needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "$(PYTHON) cannot make a venv; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(STAMP)-run: $(VENV)/bin/pip pyproject.toml requirements.lock requirements-build.lock
	@echo "installing what cacq needs (about 100 MB, once)"
	@$(INSTALL) -r requirements.lock
	@$(INSTALL) --editable .
	@$(RUN) -m pip check --quiet
	@touch $@

$(STAMP)-dev: $(VENV)/bin/pip pyproject.toml requirements-dev.lock requirements-build.lock
	@echo "installing what the tests need (about 600 MB, once; building pyspark takes a minute or two)"
	@$(INSTALL) -r requirements-dev.lock
	@$(INSTALL) --editable .
	@$(RUN) -m pip check --quiet
	@touch $(STAMP)-run $@

# One file for all versions of Python and all machines (--universal). The lock names versions only: no index, no path.
COMPILE = $(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade)
lock: $(VENV)/bin/pip
	@$(RUN) -m venv $(VENV)/lock
	@PIP_CONSTRAINT= $(VENV)/lock/bin/python -m pip install --quiet --no-input uv
	@$(COMPILE) pyproject.toml --output-file requirements.lock > /dev/null
	@$(COMPILE) --extra dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock > /dev/null
	@printf 'hatchling\neditables\nsetuptools\nwheel\n' \
		| $(COMPILE) --constraint requirements-dev.lock - --output-file requirements-build.lock > /dev/null

clean:
	rm -rf $(VENV) bench/out dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
