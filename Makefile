# The commands of the house. `make run` and `make test` share one build that links DuckDB's prebuilt library;
# `make release` and `make test-bundled` share another that compiles DuckDB in, which is what ships.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TARGET_DIR ?= $(HOME)/.cache/sumimi-target
BUNDLED_TARGET_DIR ?= $(HOME)/.cache/sumimi-target-bundled
BUNDLED_TARGET ?= $(shell uname -m)-unknown-linux-gnu
# What is passed to `sumimi` by `make run`, and to the test runner by `make test`.
ARGS ?=

# The environment of the fast build. The library's place goes into the binary, so that it runs from anywhere.
FAST = library=$$(.ci/duckdb-library); \
	export DUCKDB_LIB_DIR=$$library CARGO_TARGET_DIR=$(TARGET_DIR); \
	export RUSTFLAGS="-Clink-arg=-Wl,-rpath,$$library";

# The environment of the released build: nothing of the fast one may leak into it, or DuckDB is compiled again.
BUNDLED = env -u DUCKDB_LIB_DIR -u RUSTFLAGS -u CARGO_TARGET_DIR CARGO_ENCODED_RUSTFLAGS="-Ctarget-feature=+crt-static"
BUNDLED_FLAGS = --release --target $(BUNDLED_TARGET) --target-dir $(BUNDLED_TARGET_DIR)
BUNDLED_BINARY = $(BUNDLED_TARGET_DIR)/$(BUNDLED_TARGET)/release/sumimi

.PHONY: help run test bench release test-bundled check fmt clippy doc

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: ## Build the fast way and start the server on http://127.0.0.1:3000
	@if .ci/duckdb-library >/dev/null; then \
		$(FAST) \
		cargo build --no-default-features --bin sumimi; \
		exec $(TARGET_DIR)/debug/sumimi serve $(ARGS); \
	else \
		echo "Compiling DuckDB itself instead: about 45 minutes on 2 cores, once."; \
		$(BUNDLED) cargo build $(BUNDLED_FLAGS); \
		exec $(BUNDLED_BINARY) serve $(ARGS); \
	fi

test: ## Run all tests on the fast build
	@$(FAST) \
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run --no-default-features $(ARGS); \
	else \
		cargo test --no-default-features $(ARGS); \
	fi

release: ## Build what ships: one static binary in dist/
	$(BUNDLED) cargo build $(BUNDLED_FLAGS)
	@mkdir -p dist
	@cp $(BUNDLED_BINARY) dist/sumimi
	@printf 'dist/sumimi: %s bytes (%s MB)\n' "$$(stat -c %s dist/sumimi)" "$$(( $$(stat -c %s dist/sumimi) >> 20 ))"

test-bundled: ## Run all tests on the build that ships
	$(BUNDLED) cargo test $(BUNDLED_FLAGS) $(ARGS)

bench: ## Measure what ships: bench/README.md
	@bench/bench.sh $(ARGS)

check: fmt clippy ## Format, lints and the house rules
	@$(FAST) cargo test --no-default-features --test it tidy

fmt:
	cargo fmt --check

clippy:
	@$(FAST) cargo clippy --no-default-features --all-targets -- -D warnings

doc: ## The program's documentation, warnings denied
	@$(FAST) RUSTDOCFLAGS="-D warnings" cargo doc --no-default-features --no-deps --document-private-items
