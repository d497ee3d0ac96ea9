# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint docs bench-smoke clean

demo: $(READY)
	$(BIN)/c2rf demo

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

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api .pytest_cache .mypy_cache .ruff_cache .coverage c2rf-demo

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@
