# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-oldest lint docs bench-smoke release-check clean

demo: $(READY)
	$(BIN)/c2rf demo --force

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench-smoke: $(READY)
	$(BIN)/python -m benchmarks.smoke

# The lowest versions that pyproject.toml allows.
OLDEST := build/oldest
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct -e ".[dev]"
	$(OLDEST)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(OLDEST_TESTS)

# Wheel and sdist as others get them: each alone in an empty environment, the sdist with its own tests.
RELEASE := $(CURDIR)/build/release
release-check: $(READY)
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(RELEASE)/wheel
	$(RELEASE)/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(RELEASE) && wheel/bin/c2rf demo
	mkdir $(RELEASE)/source
	tar xzf dist/*.tar.gz --strip-components=1 -C $(RELEASE)/source
	$(PYTHON) -m venv $(RELEASE)/sdist
	cd $(RELEASE)/source && ../sdist/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]"
	cd $(RELEASE)/source && ../sdist/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(RELEASE_TESTS)

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api .pytest_cache .mypy_cache .ruff_cache .coverage c2rf-demo

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@
