# Everything runs in VENV, made from the pinned requirements of PYTHON's version.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# One pinned set per PyMC era: 5.28 on Python 3.11, 6.x on Python 3.12 and later.
ERA := $(shell $(PYTHON) -c 'import sys; print("3.11" if sys.version_info < (3, 12) else "3.12")')
PINS = requirements/python-$(ERA).txt
STAMP = $(VENV)/.installed

.PHONY: help demo test test-fast test-slow test-studies test-docs test-marked test-times every-size release \
  references mutations lint types docs bench validate lock clean

help:
	@echo "make demo    calibrate real Reuters scores, print the comparison, draw the figure"
	@echo "make test    lint, types, and the tests of every part: minutes"
	@echo "make test-slow   tests of one second and more, samplings, clusters, large data, packaging"
	@echo "make test-studies  studies, published experiments and tools"
	@echo "make test-docs   notebooks, code in pages, the site, the report in a browser"
	@echo "make test-marked MARKED=\"slow or docs\"  tests with markers, in one run"
	@echo "make every-size SEED=1  scores and weights of every size, once a release with a new seed"
	@echo "make test-times  a table of what tests take, in build/, of the lanes run last"
	@echo "make references  sample anew with NUTS what fast engines are compared with"
	@echo "make mutations   put faults into the package, count those that make test finds"
	@echo "make docs    the documentation site, in build/site (NOTEBOOKS=off: without their outputs)"
	@echo "make bench   performance ratios against peers"
	@echo "make validate  rerun the studies behind docs/validation (about two hours)"
	@echo "make release  build wheel and sdist, try them with the lowest and newest dependencies"
	@echo "make lock    pin the newest versions again (needs uv)"

$(STAMP): $(PINS) pyproject.toml
	@$(PYTHON) tools/machine.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r $(PINS)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# The demo needs a third of the packages, so without VENV it makes a smaller environment.
DEMO = $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)

.venv-demo/.installed: requirements/demo-$(ERA).txt
	@$(PYTHON) tools/machine.py
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --require-hashes -r $<
	@touch $@

demo: $(DEMO)/.installed
	PYTHONPATH=. $(DEMO)/bin/python -m bayescal demo --out demo_output

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Lanes of tests by their markers. Two processes of one thread each: threads of BLAS that wait for
# each other's cores make a fit three to five times slower. A file's tests stay in one process, so
# that what they share is made once. A process that dies is not started again: its test would be
# tried for ever.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder \
  --max-worker-restart 0
RECORD = --junitxml=build/times/$@-python-$(ERA).xml

test: lint types test-fast

test-fast: $(STAMP)
	@$(PYTHON) tools/machine.py
	$(PYTEST) $(RECORD) -m "not slow and not docs and not studies"

test-slow: $(STAMP)
	@$(PYTHON) tools/machine.py
	$(PYTEST) $(RECORD) -m "slow and not studies"

test-studies: $(STAMP)
	@$(PYTHON) tools/machine.py
	$(PYTEST) $(RECORD) -m "studies"

test-docs: $(STAMP)
	@$(PYTHON) tools/machine.py browser
	$(PYTEST) $(RECORD) -m "docs"

# Several lanes in one run collect the tests once, and no process waits at the end of each.
test-marked: $(STAMP)
	@$(PYTHON) tools/machine.py browser
	$(PYTEST) $(RECORD) -m "$(MARKED)"

test-times: $(STAMP)
	$(BIN)/python -m tools.test_times build/times build/test-times.md

# Random inputs that no release was tried with; the slow lane's are those of seed 0.
every-size: $(STAMP)
	BAYESCAL_FULL_SIZE=1 BAYESCAL_SEED=$(SEED) $(PYTEST) -m slow tests/test_every_size.py

release:
	tools/release.sh

# What long runs of NUTS find, for the tests to compare with; once for each era.
references: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.nuts_cases

mutations: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.mutations

# "cache" runs notebooks that changed, for their outputs; "off" shows them as they are in git.
NOTEBOOKS ?= cache
docs: $(STAMP)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet \
	  --define nb_execution_mode=$(NOTEBOOKS) --doctree-dir build/doctrees docs build/site

bench: $(STAMP)
	$(BIN)/python -m benchmarks

validate: $(STAMP)
	BAYESCAL_FULL_SIZE=1 $(PYTEST) -m slow --override-ini faulthandler_timeout=0
	OMP_NUM_THREADS=1 $(BIN)/python -m studies

# With extras as they are asked for: of a package that another asks for with an extra, pip would
# take the newest release in place of the pinned one, and refuse it for its hash.
lock:
	for era in 3.11 3.12; do \
	  uv pip compile pyproject.toml --group dev --python-version $$era --upgrade \
	    --generate-hashes --no-strip-extras --no-annotate --no-header --no-emit-index-url \
	    --output-file requirements/python-$$era.txt; \
	  uv pip compile pyproject.toml --extra plots --constraint requirements/python-$$era.txt \
	    --python-version $$era --generate-hashes --no-strip-extras --no-annotate --no-header \
	    --no-emit-index-url --output-file requirements/demo-$$era.txt; done

clean:
	rm -rf .venv* demo_output build dist .pytest_cache .mypy_cache .ruff_cache
