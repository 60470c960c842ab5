# `make demo` and `make test` do all their own set-up; both are quick the second time.
.DEFAULT_GOAL := help
.PHONY: help setup setup-test docker image demo lint test test-all docs lock clean

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*##/  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup:  ## Make .venv with the workbench in it
	@scripts/setup.sh agent

setup-test:  ## The same with PyTorch and what else the tests need
	@scripts/setup.sh agent,torch,test

docker:  ## Have a Docker daemon: start or install one where this machine lets us
	@scripts/docker.sh

image: setup docker  ## Build the sandbox's image
	@$(BIN)/python -m sandbox.image

demo: setup  ## Optimise gated_delta_rule on this CPU: no API key, no accelerator
	@scripts/demo.sh

lint: setup-test  ## ruff, pyright and the import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

test: lint  ## Everything but the slow tests
	@scripts/docker.sh && $(BIN)/python -m sandbox.image || echo "make test: no Docker; tests that need it are skipped and say so" >&2
	@$(PYTEST) -m "not slow"

test-all: lint  ## Every test
	@scripts/docker.sh && $(BIN)/python -m sandbox.image || echo "make test-all: no Docker; tests that need it are skipped and say so" >&2
	@$(PYTEST)

docs: setup  ## Write docs/cli.md anew from the help texts
	@$(BIN)/python -m agent.cli.reference > docs/cli.md

lock: setup-test  ## Write constraints.txt anew from what is installed
	@scripts/lock.sh

clean:  ## Remove .venv and caches; the run store stays
	rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis
