# `make demo` and `make test` do all the set-up themselves; `make help` lists the rest.
SHELL := /bin/bash
CARGO ?= cargo
FUZZ_SECONDS ?= 5
# Everything is built as one workspace: for a part of it cargo chooses other features of the same libraries, and builds them once more.
# Where cargo builds, also if the environment says so.
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help demo test build deb lint programs unit suite differential fuzz bench sql-corpus sql-check clean-demo

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Install what is missing, build, start a local cluster, and show what Weir does
	@scripts/install-deps --demo
	@$(CARGO) build --profile demo --locked --bin weir
	@scripts/demo

test: ## Everything: lint, unit tests, fuzzing, and the suite on real MariaDB and MySQL servers
	@scripts/install-deps --test
	@scripts/get-mysql
	@MAKE="$(MAKE)" scripts/stages lint programs unit sql-check suite differential fuzz

build: ## The optimised binary, target/release/weir
	@scripts/install-deps --demo
	@$(CARGO) build --release --locked --bin weir

deb: build ## The Debian package, in target/debian
	@packaging/build-deb $(TARGET)/release/weir $(TARGET)/debian

lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path tests/clients/sqlx_client/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) check --quiet --manifest-path fuzz/Cargo.toml --bins --locked

programs: ## All that the tests run, built
	$(CARGO) build --workspace --all-targets --locked
	@echo "Making the clients of the tests:"
	@WEIR_TEST_MAKE=clients $(CARGO) test --quiet --workspace --locked --test suite

unit: ## Unit tests, and the local cluster's own tests on real servers
	@scripts/unit

suite: ## Weir in front of real servers against the servers themselves, with real clients
	$(CARGO) build --locked --workspace --all-targets
	$(CARGO) test --locked --workspace --test allocations --test suite

differential: ## Statements on one plain server and through Weir over 1, 2 and 4 shards (ARGS='--filter route --server mysql')
	@scripts/get-mysql > /dev/null
	@$(CARGO) build --quiet --locked --workspace --all-targets
	@$(TARGET)/debug/differential $(ARGS)

sql-check: ## The SQL parser against both servers, on the statements of MariaDB's tests
	@scripts/get-sql-corpus
	@$(CARGO) build --quiet --locked --workspace --all-targets
	@$(TARGET)/debug/sql-corpus all

fuzz: ## Every decoder's fuzz target, FUZZ_SECONDS each
	scripts/fuzz $(FUZZ_SECONDS)

bench: ## The quick bench: direct, HAProxy, MySQL Router and Weir in turn (see docs/bench.md)
	@scripts/install-deps
	@$(CARGO) build --release --locked --bin weir
	@$(TARGET)/release/weir bench run overhead --quick

sql-corpus: ## How much of SQL the parser reads, on the statements of MariaDB's tests (ARGS='table --causes 30 --class select')
	@scripts/get-mysql > /dev/null
	@scripts/get-sql-corpus > /dev/null
	@$(CARGO) build --quiet --locked --workspace --all-targets
	@$(TARGET)/debug/sql-corpus $(ARGS)

clean-demo: ## Stop the demo's cluster and remove its directory
	@$(TARGET)/demo/weir down --dir demo-cluster --wipe
