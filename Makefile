# Each target makes .venv and installs what it needs when that is missing or stale.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: help quickstart test release bench gallery results lint clean

help:
	@echo "make quickstart   train with and without Pro-RandConv on small data, compare (5 minutes)"
	@echo "make test         lint, types, tests, doctests, the site and the code in README and docs"
	@echo "make docs         build the documentation into site/"
	@echo "make release      build wheels and sdist, install them into empty environments, test them there"
	@echo "make bench        speed and memory against stock operators, as ratios"
	@echo "make gallery      the pictures of docs/gallery.md, again"
	@echo "make results      the table of docs/results/README.md, again"
	@echo "make lint         ruff, mypy and import-linter only"
	@echo "make clean        remove .venv and everything generated"

$(INSTALLED): pyproject.toml setup.py $(wildcard src/prorandconv/ops/csrc/*)
	@echo "== installing prorandconv and its tools into $(VENV) (about two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

quickstart: $(INSTALLED)
	@echo "== training ERM and Pro-RandConv on digits-mini (under five minutes on two cores)"
	@$(BIN)/prorandconv quickstart

$(INSTALLED)-bench: $(INSTALLED)
	@echo "== installing what it is compared with"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

bench: $(INSTALLED)-bench
	@echo "== speed and memory of the augmentation (a quarter of an hour; leave the machine alone)"
	@$(BIN)/python benchmarks/augmentation.py
	@echo "== speed of a training step (about eight minutes)"
	@$(BIN)/python benchmarks/training.py --output docs/results/speed/runs/training.json
	@echo "== speed of the data (about two minutes)"
	@$(BIN)/python benchmarks/data.py --output docs/results/speed/runs/data.json

GALLERY := cat-overview cat-steps cat-contrast astronaut-smoothing pagoda-offsets cat-receptive \
	pagoda-labels street-draws retina-draws

gallery: $(INSTALLED)
	@for name in $(GALLERY); do \
		$(BIN)/prorandconv gallery docs/gallery/originals/$${name%-*}.webp --figure $${name#*-} \
			--output docs/gallery/$$name.webp || exit; \
	done

results: $(INSTALLED)
	@$(BIN)/prorandconv report docs/results --index docs/results/README.md

lint: $(INSTALLED)
	@echo "== ruff: lint and format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@echo "== mypy --strict"
	@$(BIN)/mypy
	@echo "== who imports whom"
	@$(BIN)/lint-imports

test: lint
	@echo "== pytest: tests, doctests, README"
	@$(BIN)/python -m pytest --numprocesses auto --dist loadgroup

.PHONY: docs # docs/ is a folder, too
docs: $(INSTALLED)
	@$(BIN)/python docs/site/build.py
	@echo "== site/index.html is ready; to look at it: $(BIN)/python -m http.server --directory site"

$(INSTALLED)-release: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@

release: $(INSTALLED)-release
	@.ci/release.sh $(BIN)/python

clean:
	rm -rf $(VENV) dist quickstart site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	find . -name '*.egg-info' -o -name __pycache__ | xargs rm -rf
