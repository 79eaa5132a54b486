# ackclock. `make` lists what there is to do.

VENV := .venv
BIN := $(VENV)/bin
CORE := python/ackclock/_core.abi3.so
KERNEL := python/ackclock/_kernel.abi3.so
sources = Cargo.toml Cargo.lock $(shell find algorithms $(1) -type f -not -path '*/tests/*' -not -path '*/benches/*')
CORE_SOURCES := $(call sources,examples crates/host crates/measure crates/net crates/resolve crates/sim crates/py crates/py-tables crates/quic)
LAB := python/ackclock/explore/static/lab/engine.wasm
LAB_SOURCES := $(call sources,examples crates/host crates/measure crates/net crates/resolve crates/sim crates/py crates/wasm)
KERNEL_SOURCES := $(call sources,crates)
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Into this environment, whichever is active in the user's shell.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
# What Python has compiled is kept: a command starts in a third of the time.
unexport PYTHONDONTWRITEBYTECODE
# The extension modules are for every Python from 3.11 on: the build asks none, and waits for none.
export PYO3_NO_PYTHON := 1
export PYO3_BUILD_EXTENSION_MODULE := 1
# A slow network is waited for: pip gives up after 15 s of silence, uv and Cargo after 30 s.
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_RETRIES ?= 10
export UV_HTTP_TIMEOUT ?= 120
export CARGO_HTTP_TIMEOUT ?= 120
export CARGO_NET_RETRY ?= 10

.PHONY: help tools rust-tests check-rust check-python about-demo about-site demo build kernel quic lab generate test test-slow test-fresh check bench bench-counts bench-peers bench-emulator bench-kernel bench-ray docs docs-claims docs-drawn docs-fidelity docs-kernel docs-vlinux docs-scorecards docs-performance vectors record lock wheel notebook site clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

about-demo:
	@echo "This repeats figures 2 and 5 of the paper Cubic-FC at full length, and shows each figure"
	@echo "beside the paper's claims, as one page: out/demo/index.html."
	@test -e $(CORE) || echo "First it builds ackclock: 3 minutes on 2 cores, and 0.6 GB of disk."

# Tools that must be here, and tools that may be missing: one line says what does not work then.
NEEDED := cc python cargo
test-slow: NEEDED += clang libelf
test: WANTED := clang libelf network tshark
check: WANTED := clang libelf lint
# `make test-slow` hides nothing: a tool that is missing ends it.
test-slow: NEEDED += wasm node npm network iperf3 chromium firefox tshark tcptrace \
	curl dropbear nginx ngtcp2 openssl redis-server rsync tcpdump
# What cargo can build here.
CRATES = --workspace $(shell scripts/require.sh --check clang libelf || \
	echo --exclude ackclock-linux --exclude ackclock-py-kernel)

# Two at a time, all of them also after a failure.
BESIDE = $(MAKE) --no-print-directory --silent --keep-going -j2

tools:
	@scripts/require.sh $(NEEDED) -- $(WANTED)

# Figure 2 first, so that something is seen soon; its runs are kept.
demo: STARTED := $(shell date +%s)
demo: about-demo build ## The main job: figures 2 and 5 of Cubic-FC at full length, as one HTML page
	@$(BIN)/ackclock reproduce cubicfc/fig2 -o out/demo
	@echo "first figure after $$(($$(date +%s) - $(STARTED))) s: out/demo/index.html"
	@$(BIN)/ackclock reproduce cubicfc/fig2 cubicfc/fig5 -o out/demo
	@echo "both figures after $$(($$(date +%s) - $(STARTED))) s; on the disk $$(du -shc $(VENV) target out .ackclock \
		2>/dev/null | tail -1 | cut -f 1)B in this directory (make clean removes them)"

# A kernel part that was built is never older than the simulator.
build: tools ## The simulator and the command $(BIN)/ackclock, inside this directory
	@$(MAKE) --no-print-directory --silent -j2 $(CORE) $(BIN)/ackclock
	@if test -e $(KERNEL); then if scripts/require.sh --check clang libelf; \
		then $(MAKE) --no-print-directory --silent $(KERNEL); \
		else $(MAKE) --no-print-directory --question $(KERNEL) || rm -f $(KERNEL); fi; fi

kernel: build ## The kernel part too, for deploy, doctor and --on kernel: needs clang and libelf
	@scripts/require.sh clang libelf
	@$(MAKE) --no-print-directory --silent $(KERNEL)

quic: $(VENV)/quic build ## QUIC stacks as flows: `stack = "quinn"` (tests have them, too)

lab: build $(LAB) ## The laboratory as files for any web server, in out/lab (minutes): needs clang
	@$(BIN)/python scripts/lab_page.py out/lab

# What tests need is built beside Rust's tests: the link of one waits while the other compiles.
rust-tests:
	@MAKEFLAGS= cargo test --locked --no-run $(or $(RUST),$(CRATES))

test: $(VENV)/quic $(BIN)/ackclock $(VENV)/dev ## The tests of every crate and command (17 minutes from nothing); skipped ones at the end
	@$(BESIDE) rust-tests $(CORE) $(shell scripts/require.sh --check clang libelf && echo $(KERNEL)) \
		$(shell scripts/require.sh --check clang wasm node && echo $(LAB))
	@RUST="$(or $(RUST),$(CRATES))" PYTHON="$(PYTHON)" scripts/test.sh

test-slow: $(VENV)/quic $(BIN)/ackclock $(VENV)/clang $(VENV)/dev $(VENV)/ray $(VENV)/wheel $(VENV)/docs $(VENV)/programs ## The tests that take minutes each: browsers, virtual machines, real time (root)
	@$(BESIDE) rust-tests $(CORE) $(KERNEL) $(LAB)
	@RUST="$(or $(RUST),$(CRATES))" PYTHON="$(PYTHON)" scripts/test.sh slow

test-fresh: ## `make demo` and `make test` in new Debian systems of many kinds (root); FRESH="root user"
	@scripts/require.sh python mmdebstrap git
	@$$(scripts/require.sh --python) scripts/fresh.py $(FRESH)

check: $(VENV)/dev ## Format, lint, types
	@$(BESIDE) check-rust check-python

check-rust:
	@if scripts/require.sh --check lint; then \
		cargo fmt --check && MAKEFLAGS= cargo clippy --locked $(CRATES) --all-targets -- -D warnings; fi
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --all-features check bans licenses sources; fi

check-python:
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

bench: build ## Packets per second of one core (to target/bench.json), cube roots, a swept run (5 minutes)
	@scripts/require.sh cc cargo valgrind
	cargo bench --locked -p ackclock-host -p ackclock-sim
	$(BIN)/python scripts/bench_sweep.py

bench-counts: ## Lower the instructions per packet that `make bench` allows to those of now (1 minute)
	@scripts/require.sh cc cargo valgrind
	ACKCLOCK_WRITE_COUNTS=1 cargo bench --locked -p ackclock-sim

bench-peers: ## ackclock beside ns-2 and ns-3; writes the table of docs/performance.md (3 minutes)
	@scripts/require.sh cc cargo python ns2 ns3
	$$(scripts/require.sh --python) scripts/bench_peers.py

bench-ray: build $(VENV)/ray ## 10 000 runs on a Ray cluster of one node and of two, on loopback (6 minutes)
	$(BIN)/python scripts/bench_ray.py

bench-kernel: ## What BPF costs in the kernel: our CUBIC beside Linux's own; telemetry. Needs root
	@scripts/require.sh cc cargo clang libelf
	cargo bench --locked -p ackclock-linux --bench kernel

bench-emulator: kernel ## How well the kernel testbed's link keeps time, over rates (root)
	$(BIN)/python scripts/bench_emulator.py

docs-performance: bench ## Rewrite docs/performance.md: where the time of a packet goes (3 minutes)
	$$(scripts/require.sh --python) scripts/performance_page.py

docs-kernel: kernel ## Rewrite docs/linux.md: a running kernel; three-hosts.png (root, 2 hours, resumes)
	$(BIN)/python scripts/kernel_vs_sim.py docs
	$(BIN)/python scripts/linux_figures.py kernel docs
	$(BIN)/python scripts/three_hosts.py docs

docs-vlinux: build ## Rewrite docs/linux.md: figures at full rate (an hour of a core, resumes)
	$(BIN)/python scripts/linux_figures.py vlinux docs

docs-fidelity: build ## Rewrite docs/linux.md: algorithms alone, beside virtual Linux (10 minutes)
	$(BIN)/python scripts/fidelity.py docs

docs-drawn: build ## Rewrite docs/linux.md: scenarios drawn at random (an hour of a core, resumes)
	$(BIN)/python scripts/drawn.py docs

generate: build ## Rewrite what Rust declares (_core.pyi, docs/tables.md, docs/scenario.md) and the gallery (seconds)
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/gallery_pictures.py

docs: quic generate ## Rewrite the generated pages of docs/
	for sweep in buffer_rtt cubic_beta quic; do \
		$(BIN)/ackclock sweep examples/sweeps/$$sweep.toml --plot -o out/sweeps/$$sweep || exit 1; \
		cp out/sweeps/$$sweep/sweep.png docs/sweep-$$sweep.png; done
	$(BIN)/python scripts/linux_reference.py docs
	$(BIN)/python scripts/link_pages.py docs
	$(BIN)/python scripts/algorithm_pages.py docs/algorithms
	$(BIN)/python scripts/tutorial.py docs
	$(BIN)/python scripts/explore_picture.py docs
	ACKCLOCK_WRITE_CUBE_ROOT=1 cargo bench --locked -p ackclock-host

docs-scorecards: build ## Rewrite docs/scorecards/: every algorithm's card, and the league (resumes)
	$(BIN)/python scripts/scorecards.py docs/scorecards

docs-claims: build ## Rewrite docs/claims.md: all papers, with other assumptions (100 minutes of 2 cores, resumes)
	$(BIN)/ackclock report -o out/report
	$(BIN)/python scripts/claims_page.py docs out/report

vectors: ## Rewrite vectors/: what every algorithm answers to a script; as root its bytecode, too
	ACKCLOCK_WRITE_VECTORS=1 cargo test --locked -q -p ackclock-host --test all vectors::
	ACKCLOCK_WRITE_VECTORS=1 cargo test --locked -q -p ackclock-linux --test replay

record: ## As root: record the kernel's own CUBIC and BBR anew, under traffic with losses (1 minute)
	cargo test --locked -q -p ackclock-linux --test replay -- --ignored record_the_kernels \
		--test-threads=1

LOCK := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --no-header --upgrade -q
lock: $(VENV)/uv ## Pin the Python packages anew, from pyproject.toml
	$(LOCK) pyproject.toml -o requirements.lock
	$(LOCK) pyproject.toml --extra dev -c requirements.lock -o requirements-dev.lock
	for extra in ray wheel docs programs; do \
		$(LOCK) pyproject.toml --extra $$extra -c requirements-dev.lock -o requirements-$$extra.lock || \
			exit 1; done
	echo uv | $(LOCK) - -o requirements-uv.lock

notebook: build ## Run docs/notebook.ipynb anew (seconds)
	$(BIN)/python scripts/notebook.py

about-site:
	@echo "The site takes $(if $(findstring --quick,$(REPORT)),15 minutes,100 minutes) of 2 cores from nothing, and 2.4 GB of disk in this directory."

site: STARTED := $(shell date +%s)
site: about-site build $(LAB) $(VENV)/clang $(VENV)/dev $(VENV)/docs ## The documentation and the full report, in out/site (100 minutes, resumes; REPORT=--quick: 15 minutes; 2.4 GB)
	@$(BIN)/ackclock report $(REPORT) -o out/report
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "written after $$(($$(date +%s) - $(STARTED))) s: out/site; type python3 -m http.server -d out/site"
	@echo "and open http://localhost:8000"

wheel: kernel $(LAB) $(VENV)/dev $(VENV)/wheel ## Wheels for x86-64, aarch64 and any machine, and the sdist, in target/wheels (10 minutes)
	@PATH=$(CURDIR)/$(BIN):$$PATH scripts/wheels.sh
	@ls target/wheels

clean: ## Remove all that was built, installed here or kept
	rm -rf target out .ackclock $(VENV) $(CORE) $(KERNEL) $(LAB)

# uv installs the pinned packages of 34 projects in 2 s of processor time; pip takes 14.
INSTALL = $(BIN)/uv pip install --quiet --no-cache --require-hashes -r
$(VENV)/uv: requirements-uv.lock | tools
	@$$(scripts/require.sh --python) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r $<
	@touch $@

# What running needs.
$(VENV)/installed: requirements.lock $(VENV)/uv
	@echo "installing the Python packages into $(VENV)"
	@$(INSTALL) $<
	@touch $@

# What checks and tests need.
$(VENV)/dev: requirements-dev.lock $(VENV)/installed
	@echo "installing what the tests need into $(VENV)"
	@$(INSTALL) $<
	@touch $@

# Ray only for its tests (80 MB), mkdocs for the site, zig for wheels (100 MB).
$(VENV)/ray $(VENV)/docs $(VENV)/wheel $(VENV)/programs: $(VENV)/%: requirements-%.lock $(VENV)/installed
	@echo "installing $* into $(VENV)"
	@$(INSTALL) $<
	@touch $@

# The package stays where it is: the environment knows its directory, and the command.
$(BIN)/ackclock: $(VENV)/installed Makefile
	@echo $(CURDIR)/python >"$$(echo $(VENV)/lib/python3.*/site-packages)/ackclock.pth"
	@printf '#!%s/python\nfrom ackclock.cli.main import main\nmain()\n' $(CURDIR)/$(BIN) >$@
	@chmod +x $@

# Where this file is, the simulator has QUIC stacks.
$(VENV)/quic: | tools
	@mkdir -p $(VENV)
	@touch $@

# Renamed into place: a process that has the old one loaded keeps it. Without MAKEFLAGS Cargo does not
# warn that make lends it no jobs.
$(CORE): $(CORE_SOURCES) $(wildcard $(VENV)/quic) | tools
	@echo "compiling the simulator: a minute the first time"
	@MAKEFLAGS= cargo build --release --quiet --locked -p ackclock-py $(if $(wildcard $(VENV)/quic),--features quic)
	@cp target/release/lib_core.so $@.new
	@mv $@.new $@

$(LAB): $(LAB_SOURCES) scripts/lab.sh
	@scripts/require.sh cargo clang wasm
	@echo "compiling the simulator for a browser: two minutes the first time"
	@scripts/lab.sh

# A user's own C file is compiled by it in the laboratory in a browser.
$(VENV)/clang: scripts/clang.sh | tools
	@scripts/require.sh npm
	@scripts/clang.sh $@

$(KERNEL): $(KERNEL_SOURCES)
	@echo "compiling the kernel part: a minute the first time"
	@MAKEFLAGS= cargo build --release --quiet --locked -p ackclock-py-kernel
	@cp target/release/lib_kernel.so $@.new
	@mv $@.new $@
