# `make` lists what there is. Everything runs in .venv, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
SUPPLY := build/supply
TOOLS := $(SUPPLY)/tools
# What comes from outside is compared with the hashes in locks/; the project itself is built by the
# setuptools that lies there already, so that nothing else is fetched on the way.
FETCH := install --quiet --disable-pip-version-check --require-hashes
BUILD := install --quiet --disable-pip-version-check --no-deps --no-build-isolation
# 3.11 is the oldest Python that pyproject.toml allows: a lock holds for it and all later ones.
LOCK := $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock' --constraints constraints.txt
# Each file stays in one process, so that its fixtures are made once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile
CORE_TESTS := tests/core tests/rules tests/templating tests/audit tests/contracts tests/viewer
SERVICE_TESTS := tests/hub tests/api tests/workers tests/web tests/faults/quick

.DEFAULT_GOAL := help
.PHONY: help run test test-core test-service test-browser test-postgres test-faults lint lock supply-chain bench bench-audit load fuzz

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml locks/build.txt locks/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip $(FETCH) -r locks/build.txt
	$(BIN)/pip $(FETCH) --no-build-isolation -r locks/dev.txt
	$(BIN)/pip $(BUILD) -e .
	@touch $@

$(TOOLS)/.ready: locks/tools.txt
	$(PYTHON) -m venv --clear $(TOOLS)
	$(TOOLS)/bin/pip $(FETCH) --only-binary :all: -r locks/tools.txt
	@touch $@

run: $(STAMP) ## serve the whole product on http://127.0.0.1:8000
	$(BIN)/ggufhub serve

# The browser's tests mostly wait: the others use the cores meanwhile.
test: $(STAMP) ## all checks and all tests
	$(MAKE) -j 2 --output-sync lint test-browser test-core test-service test-postgres

test-core: $(STAMP) ## reading, rules, estimates, audits without a server, every page as HTML
	$(PYTEST) $(CORE_TESTS)

test-service: $(STAMP) ## store, API, workers, web server and the quick faults, on SQLite
	$(PYTEST) $(SERVICE_TESTS)

test-browser: $(STAMP) ## every page in a real browser, one test after another
	$(BIN)/python -m pytest tests/browser

test-postgres: $(STAMP) ## the service's tests on an embedded PostgreSQL
	GGUFHUB_TEST_DB=embedded-pg $(PYTEST) tests/hub tests/workers tests/api \
		--ignore tests/api/test_schemathesis.py

test-faults: $(STAMP) ## every fault there is: killed workers, brokers, databases; full disks
	$(BIN)/python -m pytest tests/faults tests/workers/test_recovery.py tests/core/test_http_faults.py

lint: $(STAMP) ## style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

lock: $(TOOLS)/.ready ## write locks/ anew from pyproject.toml and constraints.txt
	echo setuptools | $(LOCK) --output-file locks/build.txt -
	$(LOCK) --output-file locks/dev.txt --extra dev pyproject.toml
	$(LOCK) --output-file locks/product.txt --extra objects --extra postgres pyproject.toml
	printf '%s\n' cyclonedx-bom pip-audit uv | $(LOCK) --output-file locks/tools.txt -

supply-chain: $(STAMP) $(TOOLS)/.ready ## known faults of the dependencies; build/supply/sbom.json lists the parts
	$(PYTHON) -m venv --clear --without-pip $(SUPPLY)/product
	rm -rf build/lib build/bdist.*
	$(TOOLS)/bin/pip --python $(SUPPLY)/product/bin/python $(FETCH) --only-binary :all: \
		-r locks/build.txt -r locks/product.txt
	$(TOOLS)/bin/pip --python $(SUPPLY)/product/bin/python $(BUILD) .
	$(BIN)/python -m tests.supply $(TOOLS) $(SUPPLY)/product

bench: $(STAMP) ## header reading side by side with its peers; every byte against SHA-256
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.full

bench-audit: $(STAMP) ## 10,000 models in one audit, from disk and over HTTP, workers killed on the way
	$(BIN)/python -m tests.bench.audit

load: $(STAMP) ## requests a second under load, then a soak of half an hour (needs wrk)
	$(BIN)/python -m tests.load --soak 30

fuzz: $(STAMP) ## 100,000 mutants through the core and against the reference reader; requests of all kinds
	$(BIN)/python -m tests.fuzz 100000 --load 500
	$(BIN)/python -m tests.fuzz.parts 300
	API_EXAMPLES=1000 $(BIN)/python -m pytest --timeout 0 tests/api/test_schemathesis.py
