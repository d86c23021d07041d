# Everything runs in VENV, made from the pinned requirements of PYTHON's version.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# One pinned set per PyMC era: 5.28 on Python 3.11, 6.x on Python 3.12 and later.
ERA := $(shell $(PYTHON) -c 'import sys; print("3.11" if sys.version_info < (3, 12) else "3.12")')
PINS = requirements/python-$(ERA).txt
STAMP = $(VENV)/.installed

.PHONY: help demo test lint types tests docs bench validate lock clean

help:
	@echo "make demo    calibrate real Reuters scores, print the comparison, draw the figure"
	@echo "make test    lint, types and the whole test suite"
	@echo "make docs    the documentation site, in build/site (NOTEBOOKS=force: with outputs)"
	@echo "make bench   performance ratios against peers"
	@echo "make validate  rerun the studies behind docs/validation (about two hours)"
	@echo "make lock    pin the newest versions again (needs uv)"

$(STAMP): $(PINS) pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bayescal needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r $(PINS)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	$(BIN)/bayescal demo --out demo_output

test: lint types tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Those that PyMC has a part in: MARKS="not one_era".
MARKS ?=
tests: $(STAMP)
	$(BIN)/python -m pytest --numprocesses 2 -m "$(MARKS)"

# "off" shows notebooks as they are in git, without outputs; "force" runs them for the site.
NOTEBOOKS ?= off
docs: $(STAMP)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet \
	  --define nb_execution_mode=$(NOTEBOOKS) --doctree-dir build/doctrees docs build/site

bench: $(STAMP)
	$(BIN)/python -m benchmarks

validate: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m studies

lock:
	for era in 3.11 3.12; do \
	  uv pip compile pyproject.toml --group dev --python-version $$era --upgrade \
	    --generate-hashes --no-annotate --no-header --no-emit-index-url \
	    --output-file requirements/python-$$era.txt; done

clean:
	rm -rf .venv* demo_output build dist .pytest_cache .mypy_cache .ruff_cache
