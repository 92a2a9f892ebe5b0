# `make demo` and `make test` do all the set-up themselves; `make help` lists the rest.
SHELL := /bin/bash
CARGO ?= cargo
FUZZ_SECONDS ?= 5

.PHONY: help demo test build lint unit suite fuzz bench clean-demo

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Install what is missing, build, start a local cluster, and show what Weir does
	@scripts/install-deps --demo
	@$(CARGO) build --release --locked --bin weir
	@scripts/demo

test: ## Everything: lint, unit tests, fuzzing, and the suite on real MariaDB and MySQL servers
	@scripts/install-deps --test
	@scripts/get-mysql
	@$(MAKE) --no-print-directory lint unit suite fuzz

build: ## The optimised binary, target/release/weir
	@scripts/install-deps --demo
	@$(CARGO) build --release --locked --bin weir

lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

unit: ## Unit tests, and the local cluster's own tests on real servers
	$(CARGO) test --workspace --exclude weir-tests --locked

suite: ## Weir in front of real servers against the servers themselves, with real clients
	$(CARGO) build --locked --bin weir
	$(CARGO) test -p weir-tests --locked

fuzz: ## Every decoder's fuzz target, FUZZ_SECONDS each
	scripts/fuzz $(FUZZ_SECONDS)

bench: ## The quick bench: direct, HAProxy, MySQL Router and Weir in turn (see docs/bench.md)
	@scripts/install-deps
	@$(CARGO) build --release --locked --bin weir
	@target/release/weir bench run overhead --quick

clean-demo: ## Stop the demo's cluster and remove its directory
	@target/release/weir down --dir demo-cluster --wipe
