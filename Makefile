# `make help` says what there is.
#
# One virtual environment, .venv, serves every target. `make run` installs what the site runs on; the tools are added by
# the first target that needs them. Versions are locked for both together, so what was tested is what runs.

SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := .venv/bin
TESTS = tests
# The end-to-end tests are looked for in their folder: in all tests that would take each worker a quarter of a minute.
E2E_TESTS = $(if $(filter tests,$(TESTS)),tests/e2e,$(TESTS))

# Some machines forbid Python to keep compiled modules. Then each of the processes that a target starts would compile
# Django, the site and the tests anew, which takes up to 20 s of processor time.
unexport PYTHONDONTWRITEBYTECODE

# `make run HOST=...`: only what stands on the command line is passed on. Shells and build tools export a HOST of their
# own, which would otherwise decide where the site listens.
option = $(if $(filter command,$(firstword $(origin $(1)))),--$(2) '$($(1))')
run_options = $(strip $(call option,HOST,host) $(call option,PORT,port) $(call option,DATA,data) \
    $(call option,REFEREES,referees) $(call option,PUBLIC_URL,public-url))

.PHONY: help setup setup-run run test unit e2e lint bench docs wheels chaos fuzz messages lock clean

help:  ## say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "make run takes HOST, PORT, DATA, REFEREES and PUBLIC_URL:  make run HOST=0.0.0.0 PORT=8080"
	@echo "make test takes TESTS:                                     make test TESTS=tests/matches"
	@echo "all of them take PYTHON, any Python from 3.11 on:          make setup PYTHON=python3.12"

setup:  ## make .venv and install the site and the tools; quick when that is done
	@PYTHON='$(PYTHON)' deploy/setup-venv.sh dev

setup-run:
	@PYTHON='$(PYTHON)' deploy/setup-venv.sh run

run: setup-run  ## run the whole site in one command: web, conductor, referees
	$(BIN)/python manage.py host $(run_options)

# In a fresh clone every worker would compile all tests anew, so they are compiled once, beside mypy, which keeps only one
# processor busy. The run itself reports errors in them.
test: setup  ## check the style, the types and the import arrows, then run all tests but the long and the exhaustive ones
	[ -d tests/__pycache__ ] || $(BIN)/python -m pytest --collect-only -qq $(TESTS) >/dev/null 2>&1 & \
	    $(MAKE) --no-print-directory lint; status=$$?; wait; exit $$status
	$(MAKE) --no-print-directory -j2 unit e2e

# worksteal: neighbouring tests, which share what they look at, go to one worker; one that has finished takes over some of
# another's, so that no processor is idle at the end.
# 5 is pytest's word for: nothing was selected, as with TESTS=tests/matches among those with real processes.
unit: setup
	.ci/pytest -n $$(getconf _NPROCESSORS_ONLN) --dist worksteal \
	    -m "not long and not exhaustive and not e2e" $(TESTS) || [ $$? = 5 ]

# Tests with real processes often wait, so they run beside the others. What they print is shown in one piece at their end.
e2e: setup
	@mkdir -p build
	@.ci/pytest -n 2 --dist loadfile -m "e2e and not long" $(E2E_TESTS) >build/e2e.log 2>&1; status=$$?; \
	    cat build/e2e.log; [ $$status = 0 ] || [ $$status = 5 ]

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: setup  ## measure how fast the site is on this machine
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.shared
	$(BIN)/python -m tests.bench.local
	$(BIN)/python -m tests.bench.dialects
	$(BIN)/python -m tests.bench.dialling
	$(BIN)/python -m tests.bench.mcp
	$(BIN)/python -m tests.bench.watching
	$(BIN)/python -m tests.bench.drawings
	$(BIN)/python -m tests.bench.room
	$(BIN)/python -m tests.bench.hostile
	$(BIN)/python -m tests.bench.inflight
	$(BIN)/python -m tests.bench.outage
	$(BIN)/python -m tests.bench.scale
	$(BIN)/python -m tests.bench.crowd
	$(BIN)/python -m tests.bench.watchers
	$(BIN)/python -m tests.bench.statements
	$(BIN)/python -m tests.bench.sizes
	$(BIN)/python -m tests.bench.queries
	$(BIN)/python -m tests.bench.neighbours
	$(BIN)/python -m tests.bench.large
	$(BIN)/python -m tests.bench.practice
	$(BIN)/python -m tests.bench.luck

docs: setup  ## build the documentation as a site in build/docs-site; a running site shows it at /docs/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

wheels: docs  ## build the site and league_sdk as wheels in dist/: pip install dist/*.whl, then leaguesite host
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . ./league_sdk

chaos: setup  ## kill, stop and cut off everything while leagues are played, 1,000 times; docs/chaos.md
	$(BIN)/python -m tests.chaos

fuzz: setup  ## send 200,000 inputs that nobody should send; LEAGUE_FUZZ_SEED=7 draws others
	$(BIN)/python -m pytest -n 2 -m "long" tests/fuzz tests/matches/conducting/test_due_deliveries.py

messages: setup  ## find texts to translate (needs gettext) and compile the translations
	$(BIN)/python manage.py makemessages -l he --no-location --no-wrap -i .venv -i tests -i build
	$(BIN)/python manage.py compilemessages -l he -i .venv

# Every version is chosen for 3.11 and holds for newer ones too; each file keeps to the ones before it.
compile = ../$(BIN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.11 \
    --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

# Not `lock: setup`: a lock file that cannot be installed must not stand in the way of making a better one.
lock:  ## choose versions for requirements/*.in, keeping those that still fit; UPGRADE=1 takes the newest
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || PYTHON='$(PYTHON)' deploy/setup-venv.sh dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	cd requirements && $(compile) base.in -o base.txt
	cd requirements && $(compile) -c base.txt scale.in -o scale.txt
	cd requirements && $(compile) -c base.txt -c scale.txt telemetry.in -o telemetry.txt
	cd requirements && $(compile) -c base.txt -c scale.txt -c telemetry.txt docs.in -o docs.txt
	cd requirements && $(compile) -c base.txt -c scale.txt -c telemetry.txt -c docs.txt dev.in -o dev.txt

clean:  ## remove what can be made again; data/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache staticfiles
	rm -rf build dist league_sdk/build league_sdk/dist league_sdk/*.egg-info *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
