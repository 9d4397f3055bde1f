# Which torch is installed, first of all. Machines with another index or a GPU choose here: see the README.
TORCH ?= torch==2.13.0
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install install-dev bench test test-slow lint perf perf-size perf-memlens perf-mirage clean

install: $(VENV)/installed

install-dev: $(VENV)/installed-dev

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

# the bundled corpus, the embedded reader, no key: DeliverMem's Table 1
bench: install
	$(BIN)/pytest cases -k memlens -m core -n 4

test: install-dev
	$(BIN)/pytest tests -m "not slow" -n 2 --dist loadfile

test-slow: install-dev
	$(BIN)/pytest tests -m slow

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

perf: install-dev
	$(BIN)/python tests/perf/throughput.py
	$(BIN)/python tests/perf/footprint.py
	$(BIN)/python tests/perf/maxsim.py
	$(BIN)/python tests/perf/stats.py
	$(BIN)/python tests/perf/controls.py
	$(BIN)/python tests/perf/certificates.py
	$(BIN)/python tests/perf/store.py

# writes 700 MB into a temporary folder
perf-size: install-dev
	$(BIN)/python tests/perf/big.py

# a quarter of an hour: every image of every control is prepared first
perf-memlens: install-dev
	$(BIN)/python tests/perf/memlens.py

# 800 probes at conversation states, scaled and at the paper's depths
perf-mirage: install-dev
	$(BIN)/python tests/perf/mirage.py

clean:
	rm -rf $(VENV) .bench
