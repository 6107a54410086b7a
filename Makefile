# Everything a fresh machine with Python >= 3.11, git and make needs: each target sets up its environment by itself.
# Nothing outside this folder is touched; versions and hashes come from requirements.lock.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PEERS  := .venv-bench
UV     := uv==0.13.7
PIP    := pip==26.3
CODE   := src tests tools $(wildcard bench)
# Tests wait for processes and disks half of the time, so there are three at once for each core. One process collects
# them, the others are forked from it (tests/forking.py).
PYTEST := $(BIN)/pytest --forks=$(shell expr 3 \* $$(getconf _NPROCESSORS_ONLN))

# Tests start our program a thousand times: it is compiled once, whatever the caller's environment says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup lint layout types format test test-full test-agents test-agents-full agents soak soak-short demo bench docs lies lock clean

help:
	@echo 'make test       lint, types and all tests but the long ones'
	@echo 'make test-full  the same with the long tests'
	@echo 'make test-agents       the tests with real agent programs; make agents installs those'
	@echo 'make test-agents-full  the same with the long tests'
	@echo 'make soak MINUTES=30   real runs under random kills, full disks and user actions; SEED=… ONLY=… repeat one'
	@echo 'make demo       run a small plan in a temporary repository'
	@echo 'make bench      measure, beside other engines, and print a table'
	@echo 'make lint       ruff and mypy only;  make format  rewrite the layout'
	@echo 'make docs       write the generated reference pages'
	@echo 'make lock       choose and pin the newest allowed versions'
	@echo 'make clean      remove .venv, .venv-bench, .venv-demo and every cache'

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Drumline needs Python 3.11 or newer: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lint: layout types

layout: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy $(CODE)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# mypy works beside the tests, says in one piece what it found, and both have to be content.
# pytest's lines come last, unless mypy has found something.
define test_beside_types
@( said=$$($(BIN)/mypy $(CODE) 2>&1); code=$$?; printf '\nmypy: %s\n' "$$said"; exit $$code ) & types=$$!; \
$(1); tests=$$?; \
wait $$types || { echo 'mypy has found something: its lines are among those of the tests, make types repeats them'; exit 1; }; \
exit $$tests
endef

test: layout
	$(call test_beside_types,$(PYTEST) --ignore=tests/agents -m 'not long and not agents')

test-full: layout
	$(call test_beside_types,HYPOTHESIS_EXAMPLES=fresh $(PYTEST) -m 'not agents')

# The programs go to a cache outside this folder, $$XDG_CACHE_HOME/drumline/agents, and stay there.
agents: $(STAMP)
	$(BIN)/python -m tools.agents.install

# What could not be installed is skipped, and the skip says why. The tests wait for programs half of the time, so there
# are more of them at once than cores; they are handed out one by one, as some take a hundred times as long as others.
define test_agents
@$(MAKE) --no-print-directory agents || echo 'test-agents: what is missing is skipped'
$(BIN)/pytest --numprocesses=4 --dist=load --maxschedchunk=1 -m '$(1)' --durations=15 tests/agents
endef

test-agents: $(STAMP)
	$(call test_agents,agents and not long)

test-agents-full: $(STAMP)
	$(call test_agents,agents)

# Every scenario is drawn from the seed and its number; SEED and ONLY play one again, KINDS and THEMES
# choose among the faults; SHORT=1 draws as soak-short does.
MINUTES ?= 30

soak: $(STAMP)
	$(BIN)/python -m tools.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(KINDS),--kinds $(KINDS)) $(if $(THEMES),--themes $(THEMES)) $(if $(SHORT),--short) $(if $(JSON),--json)

# About a minute on two cores: fixed seeds, so that what fails here fails elsewhere, too.
soak-short: $(STAMP)
	$(BIN)/python -m tools.soak --minutes 1.2 --seed 39 --short --jobs 3 --scenarios 12

# An environment that is there already will do; else the demo gets a small one, without what only tests need.
DEMO := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)

demo: $(DEMO)/.installed
	$(DEMO)/bin/python -m drumline.demo

.venv-demo/.installed: requirements-runtime.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Drumline needs Python 3.11 or newer: make PYTHON=python3.12")'
	@echo "demo: installing the $$(grep -c == $<) packages that Drumline needs into .venv-demo, once"
	test -x .venv-demo/bin/python || $(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --disable-pip-version-check --require-hashes --requirement $<
	@.venv-demo/bin/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "drumline.pth").write_text(str(pathlib.Path("src").resolve()))'
	@touch $@

# The engines that ours is measured beside have an environment of their own; without a network it is measured alone.
bench: $(STAMP)
	@$(MAKE) --no-print-directory $(PEERS)/.installed || echo 'bench: the other engines cannot be installed; they are left out'
	$(BIN)/python bench/run.py

# The pip of Python 3.11 does not see that psycopg[binary] is psycopg, and wants a second pin.
$(PEERS)/.installed: bench/requirements-peers.lock
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check '$(PIP)'
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

docs: $(STAMP)
	$(BIN)/python -m tools.docs

lies: $(STAMP)
	$(BIN)/python -m tools.lies

# Universal: one file for every supported Python and platform. The flags keep host names out of it.
COMPILE := compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
           --no-header --no-annotate --no-emit-index-url --no-emit-find-links

lock:
	test -x $(VENV)/lock/bin/uv || $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check '$(UV)'
	$(VENV)/lock/bin/uv pip $(COMPILE) --extra dev --extra models --output-file requirements.lock pyproject.toml
	$(VENV)/lock/bin/uv pip $(COMPILE) --constraint requirements.lock --output-file requirements-runtime.lock pyproject.toml
	$(VENV)/lock/bin/uv pip $(COMPILE) --constraint requirements.lock --extra models --output-file requirements-models.lock pyproject.toml
	$(VENV)/lock/bin/uv pip $(COMPILE) --output-file bench/requirements-peers.lock bench/requirements-peers.in
	@! grep --line-number '://' requirements.lock requirements-runtime.lock requirements-models.lock bench/requirements-peers.lock

clean:
	rm -rf $(VENV) $(PEERS) .venv-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
