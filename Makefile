# Needs Rust (cargo) and Python 3.11 or later; the rest is put into .venv on the way.

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PY := $(BIN)/python
# The tests' real data; those that need it are skipped where it is missing.
export KERNELSTREAM_DATA ?= ../shared/data
# Cargo and maturin must agree on the interpreter, or each would build the bindings anew.
export PYO3_PYTHON := $(CURDIR)/$(PY)

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) python/Cargo.toml \
	$(shell find src python/src -name '*.rs')
PYTHON_SOURCES := python/kernelstream tests/python benchmarks examples

.DEFAULT_GOAL := help
.PHONY: help build demo test test-rust test-python lint bench docs reproduce peers clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.built ## Build the extension into .venv.

demo: $(VENV)/.built ## Watch terrain and an oscillator being learned; saves pictures in demo_output/.
	@$(BIN)/kernelstream demo terrain
	@$(BIN)/kernelstream demo duffing

test: test-rust test-python ## Run the tests, Rust and Python.

test-rust: $(VENV)/.made
	cargo test --workspace --quiet

# On matrices as small as the tests', the threads of OpenBLAS cost many times what they save.
test-python: $(VENV)/.built
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q

lint: $(VENV)/.built ## Check formatting, lints, types, stubs and docs.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace --quiet
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(PY) -m mypy.stubtest kernelstream._core
	$(PY) -m numpydoc lint $(filter-out %/cli/app.py, $(shell find python/kernelstream -name '*.py'))

bench: ## Time the primitives and the learners (criterion).
	cargo bench

docs: ## Build the Rust reference.
	cargo doc --no-deps

reproduce: $(VENV)/.built ## Recompute the literature's tables beside its figures, into benchmarks/output/.
	$(PY) benchmarks/regression_tables.py
	$(PY) benchmarks/regression_pkawv.py
	$(PY) benchmarks/regression_ranking.py
	$(PY) benchmarks/experts_tables.py
	$(PY) benchmarks/regression_scaling.py
	$(PY) benchmarks/classification_tables.py
	$(PY) benchmarks/tisvd.py
	$(PY) benchmarks/koopman_tables.py
	$(PY) benchmarks/koopman_memory.py
	$(PY) benchmarks/pendulum.py

peers: $(PEERS)/.built ## Measure other packages beside this one, into docs/peers.md (an hour).
	$(PEERS)/bin/python benchmarks/peers.py

# An environment of their own; one that does not install is named and left out.
$(PEERS)/.built: $(VENV)/.built benchmarks/requirements-peers.txt
	$(PY) -m venv $(PEERS)
	@grep -v '^#' benchmarks/requirements-peers.txt | while read -r package; do \
		$(PEERS)/bin/pip install --quiet --disable-pip-version-check "$$package" \
			|| echo "not installed, so left out: $$package" >&2; \
	done
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(PEERS) $(BIN)/maturin develop --release --quiet
	@touch $@

clean: ## Remove everything that was built.
	cargo clean
	rm -rf $(VENV) $(PEERS) dist demo_output python/kernelstream/*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.made:
	@for python in python3 python3.11 python3.12 python3.13 python3.14; do \
		"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
			2>/dev/null && found="$$python" && break; \
	done; \
	test -n "$$found" || { echo "kernelstream needs Python 3.11 or later, with venv" >&2; exit 1; }; \
	echo "making $(VENV) with $$($$found --version)"; \
	"$$found" -m venv $(VENV)
	@touch $@

$(VENV)/.tools: pyproject.toml $(VENV)/.made
	@command -v cargo >/dev/null || { echo "kernelstream needs Rust: https://rustup.rs" >&2; exit 1; }
	$(PY) -m pip install --quiet --disable-pip-version-check 'maturin>=1.9.4,<2'
	@touch $@

$(VENV)/.built: $(RUST_SOURCES) $(VENV)/.tools
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --extras all,dev --quiet
	@touch $@
