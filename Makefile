# Needs Rust (cargo) and Python 3.11 or later; the rest is put into .venv on the way.

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
PY := $(BIN)/python
# The tests' real data; those that need it are skipped where it is missing.
export KERNELSTREAM_DATA ?= ../shared/data
# Cargo and maturin must agree on the interpreter, or each would build the bindings anew.
export PYO3_PYTHON := $(CURDIR)/$(PY)
# maturin asks pip for what is there already.
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

SHELL := bash
RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) python/Cargo.toml \
	$(shell find src python/src -name '*.rs')
PYTHON_SOURCES := python/kernelstream tests benchmarks examples live $(wildcard docs/*.py)

# pip install what pyproject.toml lists: the package's dependencies and those of the extras named.
define fetch
	@$(PY) -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		extras = [project["optional-dependencies"][name] for name in sys.argv[1:]]; \
		print(*project["dependencies"], *sum(extras, []), sep="\n")' $(1) \
		| $(PY) -m pip install --no-compile -r /dev/stdin
	@touch $@
endef

# Of what cargo and maturin say, a line now and then; errors and warnings as they are.
PROGRESS = { export LC_ALL=C; n=0; while IFS= read -r line; do \
	read -r verb crate _ <<< "$$line"; \
	case $$verb in \
		Compiling) n=$$((n + 1)); case $$crate in \
			faer) echo "  compiling faer, the longest of them (a minute)";; \
			kernelstream*) echo "  compiling $$crate";; \
			*) [ $$((n % 20)) != 0 ] || echo "  compiled $$n crates";; \
		esac;; \
		Updating | Downloading | Downloaded | Locking | Adding | Finished | Executable | [!\ -~]*) ;; \
		*) echo "$$line";; \
	esac; \
done; }

.DEFAULT_GOAL := help
.PHONY: help build release demo test test-rust test-python test-engines lint lint-devices bench fuzz live docs site wheel reproduce peers clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.built ## Build the extension into .venv, to be tried and tested.

release: $(VENV)/.released ## Build it as it is published, to be measured.

demo: $(VENV)/.built ## Watch an oscillator and terrain being learned; saves pictures in demo_output/.
	@$(BIN)/kernelstream demo duffing
	@$(BIN)/kernelstream demo terrain

test: $(VENV)/.built ## Run the tests, Rust and Python.
	@$(MAKE) --no-print-directory -j2 test-rust $(VENV)/.for-tests
	@$(MAKE) --no-print-directory test-python

# The bindings are tested from Python, and the benches by the linter. Named here, the bindings have no tests, but
# their dependencies' features are those they were compiled with already.
CARGO_TEST := cargo test --package kernelstream --package kernelstream-python

test-rust: $(VENV)/.made
	@echo "compiling the Rust tests (a minute or two the first time), then running them"
	@set -o pipefail; $(CARGO_TEST) --no-run 2>&1 | $(PROGRESS)
	@MAKEFLAGS= $(CARGO_TEST) --quiet

# On matrices as small as the tests', the threads of OpenBLAS cost many times what they save.
test-python: $(VENV)/.built $(VENV)/.for-tests
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -n auto

# Those that are missing are skipped by name in `make test`; Spark needs Java, Redis its server.
test-engines: $(VENV)/.built $(VENV)/.for-tests $(VENV)/.for-engines ## Start Dask, Spark, Ray, Redis, Kafka and FastAPI, and run their pages (minutes).
	OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -rs tests/python/test_engines.py \
		tests/python/test_brokers.py tests/python/test_distributed.py

lint: $(VENV)/.built $(VENV)/.for-lint $(VENV)/.for-tests ## Check formatting, lints, types, stubs, docs and words.
	$(PY) docs/check_words.py
	$(BIN)/typos
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	@$(MAKE) --no-print-directory lint-devices
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace --quiet
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(PY) tests/typing/check.py
	$(PY) -m mypy.stubtest kernelstream._core
	$(PY) docs/check_docstrings.py

# What devices and browsers use: no threads, no files.
BROWSER := wasm32-unknown-unknown
lint-devices:
	cargo clippy --package kernelstream --no-default-features --quiet -- -D warnings
	@if [ -d "$$(rustc --print target-libdir --target $(BROWSER))" ]; then \
		cargo check --package kernelstream --no-default-features --target $(BROWSER) --quiet \
			&& echo "checked for $(BROWSER)"; \
	else \
		echo "NOT checked for $(BROWSER), which is not installed: rustup target add $(BROWSER)"; \
	fi

# `make bench BENCH=kernel` times one of them.
bench: $(VENV)/.fetched ## Time the primitives and the learners (criterion), beside the release or run before.
	cargo bench --package kernelstream-benches $(addprefix --bench ,$(BENCH))
	$(PY) benchmarks speed benches

# By what they cover where cargo-fuzz and nightly Rust are there, and from seeds elsewhere: with the tests' build, which
# has checks of overflow.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS := model_file specification calls
fuzz: ## Look for model files, specifications and calls that crash, for an hour (FUZZ_SECONDS).
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then \
		for target in $(FUZZ_TARGETS); do \
			cargo +nightly fuzz run $$target -- -timeout=10 -rss_limit_mb=4096 \
				-max_total_time=$$(($(FUZZ_SECONDS) / 3)) || exit 1; \
		done; \
	else \
		for test in altered_model_files altered_specifications calls_on; do \
			FUZZ_SEED=$$(date +%s)000000 FUZZ_SECONDS=$$(($(FUZZ_SECONDS) / 3)) \
				$(CARGO_TEST) --test fuzz $$test -- --nocapture || exit 1; \
		done; \
	fi

docs: $(VENV)/.for-docs ## Build the site, with guides, examples and references, into site/.
	@echo "building the site; the first time all examples are run, which takes some minutes"
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet docs site
	cargo doc --no-deps --quiet
	@rm -rf site/rust && cp -r $${CARGO_TARGET_DIR:-target}/doc site/rust
	$(PY) docs/check_links.py site
	@echo "the site is in site/index.html"

LIVE := live/target/$(BROWSER)/release/kernelstream_live.wasm
live: $(VENV)/.built ## Build the page that learns in the browser into site/live/, and compare its figures with Python's.
	@rustup target add $(BROWSER)
	cargo build --release --quiet --manifest-path live/Cargo.toml --target-dir live/target --target $(BROWSER)
	$(PY) live/check.py $(LIVE)
	@mkdir -p site/live && cp live/page/* $(LIVE) site/live/
	@echo "python3 -m http.server --directory site/live   # and open what it says"

site: docs live ## Build both, and open every page in a browser without a window (Chromium).
	$(PY) docs/check_links.py site
	$(PY) docs/check_pages.py site

wheel: $(VENV)/.made $(VENV)/.tools ## Build the wheel that is published into dist/, and try it where there is nothing else.
	@rm -rf dist
	@echo "compiling the extension as it is published (three minutes the first time)"
	@set -o pipefail; $(BIN)/maturin build --release --locked --interpreter $(PY) --out dist 2>&1 | $(PROGRESS)
	.ci/try_wheel dist/*.whl $(PY)

reproduce: $(VENV)/.released ## Recompute the literature's tables beside its figures, into benchmarks/output/.
	$(PY) benchmarks regression tables
	$(PY) benchmarks regression pkawv
	$(PY) benchmarks regression ranking
	$(PY) benchmarks experts tables
	$(PY) benchmarks regression scaling
	$(PY) benchmarks classification tables
	$(PY) benchmarks decompositions tisvd
	$(PY) benchmarks koopman tables
	$(PY) benchmarks koopman memory
	$(PY) benchmarks control pendulum

peers: $(PEERS)/.built ## Measure other packages beside this one, into docs/peers.md (two hours).
	$(PEERS)/bin/python benchmarks peers tables
	$(PY) benchmarks peers picture
	$(PEERS)/bin/python benchmarks peers river
	$(PEERS)/bin/python benchmarks forecasting peers

# An environment of their own; one that does not install is named and left out.
$(PEERS)/.built: $(VENV)/.released benchmarks/requirements-peers.txt $(wildcard benchmarks/peers/irithyll/src/*.rs)
	$(PY) -m venv $(PEERS)
	@grep -v '^#' benchmarks/requirements-peers.txt | while read -ra package; do \
		$(PEERS)/bin/pip install "$${package[@]}" \
			|| echo "not installed, so left out: $$package" >&2; \
	done
	@cargo build --release --quiet --manifest-path benchmarks/peers/irithyll/Cargo.toml \
		|| echo "not installed, so left out: irithyll" >&2
	VIRTUAL_ENV=$(CURDIR)/$(PEERS) $(BIN)/maturin develop --release --quiet
	@touch $@

clean: ## Remove everything that was built.
	cargo clean
	rm -rf $(VENV) $(PEERS) benchmarks/peers/irithyll/target dist demo_output site docs/gallery docs/api/generated python/kernelstream/*.so
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

$(VENV)/.built: $(RUST_SOURCES) pyproject.toml $(VENV)/.made
	@echo "compiling the extension (a minute or two the first time) while pip fetches Python packages"
	@$(MAKE) --no-print-directory -j2 $(VENV)/.fetched compile
	@set -o pipefail; VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop 2>&1 | $(PROGRESS)
	@touch $@

$(VENV)/.released: $(VENV)/.built
	@echo "compiling the extension as it is published (three minutes the first time)"
	@set -o pipefail; VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release 2>&1 | $(PROGRESS)
	@touch $@

.PHONY: compile
compile: $(VENV)/.tools
	@set -o pipefail; VIRTUAL_ENV=$(CURDIR)/$(VENV) \
		$(BIN)/maturin develop --skip-install 2>&1 | $(PROGRESS)

$(VENV)/.tools: pyproject.toml $(VENV)/.made
	@command -v cargo >/dev/null || { echo "kernelstream needs Rust: https://rustup.rs" >&2; exit 1; }
	@$(PY) -m pip install 'maturin>=1.9.4,<2'
	@touch $@

# What the demos need, what the tests need beside it, and the linters. Pip takes one turn at a time. The tests
# start many processes, which need not all read source code, nor be allowed to keep what they made of it.
$(VENV)/.fetched: pyproject.toml $(VENV)/.tools
	$(call fetch,cli plot)

$(VENV)/.for-tests: pyproject.toml $(VENV)/.fetched
	$(call fetch,control test)
	@$(PY) -m compileall -q $(VENV)/lib || true

$(VENV)/.for-docs: pyproject.toml $(VENV)/.built
	$(call fetch,cli plot control river distributed docs)

$(VENV)/.for-engines: pyproject.toml $(VENV)/.fetched
	$(call fetch,distributed engines)

$(VENV)/.for-lint: pyproject.toml $(VENV)/.fetched
	@for tool in fmt clippy; do \
		cargo $$tool --version >/dev/null 2>&1 || rustup component add $${tool/fmt/rustfmt}; \
	done
	$(call fetch,cli plot control lint)
