# SPDX-License-Identifier: Apache-2.0
# make demo     set everything up, and run the demo (needs Python 3.10+, g++, make)
# make test     set everything up, lint, and run the tests
# make help     the rest
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip

# The sources of the extension module, and other files that affect the installation.
BUILD_INPUTS := CMakeLists.txt pyproject.toml $(wildcard cmake/* src/*/* src/*/*/*)
CPP_FILES = $(shell find src sycl_ext tests benchmarks examples \
	\( -name '*.c' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) 2> /dev/null)
PYTEST_OPTIONS ?=
# Many tests wait for a process of their own, so more workers than processors pay.
WORKERS ?= 4
# The tests start hundreds of processes, which would compile the package and the tests each time.
unexport PYTHONDONTWRITEBYTECODE
FUZZ_SECONDS ?= 600

.DEFAULT_GOAL := help
.PHONY: help demo setup lint lint-workflows architecture graph test test-left-out test-long test-interop test-processes
.PHONY: test-engines test-without-dpctl newest-python newest-engines neo neo-long newest-compilers distributions nightly bare bench generate format clean distclean
.PHONY: check-core asan ubsan tsan valgrind fuzz fuzz-python soak conformance coverage html docs
.PHONY: runtimes kernels hardware wheel wheel-here repair-wheel sdist check-dist release-dry-run conda afternoon

help:
	@echo "make demo          show a picture go through USM, dpnp and NumPy"
	@echo "make test          lint, architecture, tests"
	@echo "make test-left-out  the tests that it has left out, when what they need is installed"
	@echo "make test-long     the tests that are not for every day (5 minutes)"
	@echo "make neo           Intel's real driver without a GPU, and PoCL 7 (4 minutes)"
	@echo "make newest-compilers  the package with g++ of Debian sid, each file with its clang and libc++ (3 minutes)"
	@echo "make test-interop  the tests with torch, jax, TensorFlow, mpi4py and the like"
	@echo "make afternoon     install the wheel into an empty environment, and use it as a user would"
	@echo "make test-engines   adapters with the modules of vLLM $(VLLM) and LMCache $(LMCACHE); newest-engines: of the newest ones"
	@echo "make test-processes  examples with Dask, Ray, joblib, torch.distributed; three MPIs (5 minutes)"
	@echo "make distributions  build each distribution, and run its tests in an environment of its own (3 minutes)"
	@echo "make runtimes      everyday tests with each SYCL runtime that other packages pin, and a build against oneAPI 2025.3 (15 minutes)"
	@echo "make nightly       test-long, test-without-dpctl, test-engines, newest-engines, runtimes, neo-long, afternoon, release-dry-run, tsan, soak and fuzz: what a merge does not wait for (an hour)"
	@echo "make bare          make demo and make test on bare machines, in build/bare (as root; an hour)"
	@echo "make newest-python  the tests that do not need dpctl, with Python 3.15 of Debian sid (as root; 10 minutes)"
	@echo "make test-without-dpctl  the tests that do not need dpctl, in an environment without it (3 minutes)"
	@echo "make bench         measure; writes docs/develop/benchmarks.md with its plots, docs/develop/scaling.md (7 minutes)"
	@echo "make hardware      examine a SYCL GPU; writes build/hardware/hardware.md, a report to be passed on"
	@echo "make check-core    the C++ tests of the core under ASan and UBSan, and a short, seeded fuzz run"
	@echo "make asan          the same tests under one tool; also ubsan, tsan, valgrind"
	@echo "make fuzz          fuzz each target for FUZZ_SECONDS ($(FUZZ_SECONDS))"
	@echo "make fuzz-python   the generated tests of the Python side, for FUZZ_SECONDS"
	@echo "make soak          a million exchanges in constant memory; eight threads, 100,000 each"
	@echo "make conformance   DLPack in a dozen libraries; writes the table of docs/develop/conformance_results.md (5 minutes)"
	@echo "make coverage      lines and branches that the tests run; fails below 95 %"
	@echo "make html          the documentation site, in build/docs (2 minutes the first time)"
	@echo "make docs          the same, and its examples"
	@echo "make wheel         tested manylinux wheels in dist/: all with Docker, else for this Python"
	@echo "make sdist         in dist/: the source distributions, and the wheels without an extension module"
	@echo "make check-dist    twine's checks of dist/"
	@echo "make conda         render, build and test the conda packages"
	@echo "make release-dry-run  all steps of docs/develop/release.md but the publication (10 minutes and more)"
	@echo "make lint          ruff, mypy, pyright, clang-format, zizmor"
	@echo "make lint-workflows  zizmor and actionlint, which is fetched from github.com"
	@echo "make architecture  assert that a folder reaches only those it may (no build)"
	@echo "make graph         write the graph of the modules for Graphviz, and say whether it has a circle (no build)"
	@echo "make format        format Python and C++"
	@echo "make setup         the environment in $(VENV) for all of these"
	@echo "make generate      write again what is generated: the blocks in the documents"
	@echo "make kernels       compile src/tensor/strided.cl anew, with clang-15 and llvm-spirv-15"
	@echo "make clean         remove what was built; make distclean: the environments, too"
	@echo "PYTHON=$(PYTHON) makes the environment; PYTEST_OPTIONS is handed on to pytest"

# ---- the environment ----------------------------------------------------------------------------

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 is needed")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip

# One command for them and the package: pip would look for it on an index, or for them.
EDITABLE_INTEGRATIONS := $(addprefix --editable ,hardware integrations/dask integrations/mpi integrations/symmetric integrations/vllm integrations/xarray)
INTEGRATIONS_INPUTS := $(wildcard integrations/*/pyproject.toml */pyproject.toml)

# Such as cpu: uv knows where torch's builds are, and pip then finds it installed. Empty: pip's own settings.
export TORCH_BACKEND ?=
install-torch = $(if $(TORCH_BACKEND),$(PIP) install --quiet uv && $(BIN)/uv pip install --quiet \
	--python $(BIN)/python --torch-backend $(TORCH_BACKEND) --group torch)

# CMake and ninja come from wheels when the machine has none.
$(VENV)/.demo-is-ready: $(BUILD_INPUTS) | $(BIN)/python
	@echo "building the extension and fetching what the demo needs (a few minutes the first time)"
	$(PIP) install --quiet --editable ".[cpu]" --group demo
	@touch $@

# Most files of these packages are never imported, and pip would compile one after the other.  The build uses this
# environment: in one that pip makes each time, the headers have other paths, and each file would be compiled again.
$(VENV)/.tests-are-ready: $(BUILD_INPUTS) $(INTEGRATIONS_INPUTS) | $(BIN)/python
	@echo "building the extension and fetching what the tests need (a few minutes the first time)"
	$(install-torch)
	$(PIP) install --quiet --no-compile --group build --group demo --group bench --group test --group dev
	$(PIP) install --quiet --no-compile --no-build-isolation --editable ".[cpu]" --editable conformance \
		$(EDITABLE_INTEGRATIONS)
	@touch $@ $(VENV)/.demo-is-ready $(VENV)/.core-is-ready

# The same without the distributions that need dpctl.
$(VENV)/.core-is-ready: $(BUILD_INPUTS) | $(BIN)/python
	$(PIP) install --quiet --no-compile --group build --group test
	$(PIP) install --quiet --no-compile --no-build-isolation --editable ".[cpu]" --editable conformance
	@touch $@

setup: $(VENV)/.tests-are-ready

# ---- the main job -------------------------------------------------------------------------------

demo: $(VENV)/.demo-is-ready
	@$(BIN)/python -m sycl_ext demo --output build/demo

# ---- the gate -----------------------------------------------------------------------------------

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy tests/programs/typing
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)
	$(BIN)/zizmor --offline --quiet .github

# The workflows of GitHub alone: zizmor, and actionlint, whose installation needs github.com.
$(VENV)/.workflows-are-ready: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --group workflows
	@touch $@

lint-workflows: $(VENV)/.workflows-are-ready
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/actionlint

architecture: setup
	$(BIN)/python -m pytest -q --noconftest tests/project/test_architecture.py

# Two texts for Graphviz, and whether a module reaches itself; needs no build.
graph: $(BIN)/python
	$(BIN)/python tests/project/modules.py

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_OPTIONS)

# The tests that it left out because a package was missing that is installed now.
test-left-out: setup
	$(BIN)/python -m pytest -n 2 --left-out $(PYTEST_OPTIONS)

# The tests that are marked `long`: environments that differ little from others, whole matrices, repetitions.
test-long: setup
	SYCL_EXT_LONG=1 $(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_OPTIONS)
	$(BIN)/python -m pytest -n $(WORKERS) -m long hardware/tests $(PYTEST_OPTIONS)

NEO_TESTS := $(patsubst %,tests/environments/test_%.py,environments driver_answers driver_reports)
# Begins a command that needs packages of Debian sid. Where they cannot be fetched, one line says that nothing was
# tested.
from-sid = code=0; $(BIN)/python tests/support/real_drivers/build.py || code=$$?; \
	if [ $$code = 3 ]; then exit 0; elif [ $$code != 0 ]; then exit $$code; fi;
# Intel's real driver without a GPU, and PoCL 7, without root.
neo: setup
	@$(from-sid) SYCL_EXT_NEO=1 $(BIN)/python -m pytest -n 2 $(NEO_TESTS) $(PYTEST_OPTIONS)

# The package built with the newest g++, and each file by itself with clang and libc++: no include is borrowed.
newest-compilers: setup
	@$(from-sid) $(BIN)/python tests/support/real_drivers/compilers.py

# The tests of real drivers that are marked `long`.
neo-long:
	SYCL_EXT_LONG=1 $(MAKE) neo

# Environments of their own: these libraries are large, and NumPy 1.26 is one of them.
test-interop:
	$(PYTHON) tests/interop/install.py
	SYCL_EXT_INTEROP=1 .venv-interop/bin/pytest -n 2 --confcutdir=tests/interop --timeout=300 \
		tests/interop $(PYTEST_OPTIONS)

# The first steps after an installation; two minutes, mostly of pip.
afternoon:
	$(PYTHON) tests/programs/afternoon/run.py

# Clusters and ranks of several processes: Dask, MPI, Ray.
test-processes: setup
	$(PIP) install --quiet --editable integrations/ray joblib
	SYCL_EXT_PROCESSES=1 $(BIN)/python -m pytest -n 2 tests/programs/processes $(PYTEST_OPTIONS)

# Adapters of engines with the modules of their wheels (360 MB), without what these require. A release that has changed a
# name is reported with it.
VLLM := 0.33.0
LMCACHE := 0.5.6
engine-modules = $$($(BIN)/python tests/support/engine_wheel.py $(1)$(if $(filter test-engines,$@),==$(2)))
test-engines newest-engines: setup
	$(PIP) install --quiet msgspec pydantic
	folder=$(call engine-modules,vllm,$(VLLM)) && \
		SYCL_EXT_VLLM=$$folder $(BIN)/python -m pytest integrations/vllm/tests $(PYTEST_OPTIONS)
	folder=$(call engine-modules,lmcache,$(LMCACHE)) && \
		SYCL_EXT_LMCACHE=$$folder $(BIN)/python -m pytest tests/programs/adapters/test_lmcache.py $(PYTEST_OPTIONS)

# Each distribution in an environment of what it declares and nothing else, with its own tests. Packages of others are
# linked from this environment.
distributions: setup
	$(PIP) install --quiet --editable integrations/ray
	$(BIN)/python tests/programs/distributions/run.py $(PYTEST_OPTIONS)

# One wheel with each of the SYCL runtimes that other packages pin; and the sources built against oneAPI 2025.3.
runtimes: setup
	$(BIN)/python tests/programs/runtimes/run.py $(PYTEST_OPTIONS)

# Tests that a merge does not wait for, on a machine that has run .ci/run; tests/README.md lists the properties that only they test.
# After a failure the others run.
NIGHTLY := test-long test-without-dpctl test-engines newest-engines runtimes neo-long afternoon release-dry-run tsan soak fuzz fuzz-python
nightly:
	SYCL_EXT_REQUIRE_ALL=1 $(MAKE) --keep-going $(NIGHTLY) FUZZ_SECONDS=$(NIGHTLY_FUZZ_SECONDS)
NIGHTLY_FUZZ_SECONDS ?= 300

# Both commands of README.md on a Debian with Python, g++ and make, and nothing else.
BARE ?= bookworm sid
bare:
	for suite in $(BARE); do tools/bare.sh $$suite build/bare/$$suite || exit; done

# The newest Python of Debian sid, for which dpctl, dpnp and PyTorch have no wheels yet.
NEWEST_PYTHON ?= python3.15
newest-python:
	BARE_PYTHON=$(NEWEST_PYTHON) tools/bare.sh sid build/bare/$(NEWEST_PYTHON) \
		'make test-without-dpctl PYTHON=$(NEWEST_PYTHON)'

# All tests that need neither dpctl nor what this Python lacks. With one process (-n 0) those left out are listed.
test-without-dpctl: $(VENV)/.core-is-ready
	$(BIN)/python tests/support/environments.py no_dpctl -n $(WORKERS) ../core ../package ../trust ../ordering \
		$(PYTEST_OPTIONS)

# ---- how fast it is -----------------------------------------------------------------------------

BENCH_OPTIONS ?=
bench: setup
	$(BIN)/python -m benchmarks $(BENCH_OPTIONS)
	$(PIP) install --quiet --group end-to-end
	$(BIN)/python -m benchmarks.end_to_end
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.growth

# ---- on a real device ---------------------------------------------------------------------------

# sycl-ext-hardware of this checkout; --quick, --device=..., --part=...
HARDWARE_OPTIONS ?=
hardware: $(VENV)/.demo-is-ready
	$(PIP) install --quiet --editable hardware
	$(BIN)/sycl-ext-hardware --output build/hardware $(HARDWARE_OPTIONS)

# ---- the documentation site ---------------------------------------------------------------------

# Only to read: the package, the conformance kit, and Sphinx, which needs Python 3.11. In an environment of the
# tests the first two are there, and are not built again.
OF_TESTS := $(wildcard $(VENV)/.tests-are-ready)
$(VENV)/.html-is-ready: $(BUILD_INPUTS) $(OF_TESTS) | $(BIN)/python
	@echo "$(if $(OF_TESTS),,building the extension and )fetching Sphinx (two minutes the first time)"
	$(PIP) install --quiet $(if $(OF_TESTS),,--editable . --editable conformance) --group docs
	@touch $@

# -E: a page that has not changed may link to one that is gone.
html: $(VENV)/.html-is-ready
	rm -rf docs/reference # pages that autosummary makes; one of a name that is gone would stay
	$(BIN)/sphinx-build -E -q -W --keep-going -d build/docs-trees -b html docs build/docs
	@echo "see build/docs/index.html"

docs: setup
	$(MAKE) html
	$(BIN)/sphinx-build -q -W --keep-going -d build/docs-trees -b doctest docs build/docs-doctest

# ---- packages -----------------------------------------------------------------------------------
# They need Python 3.11.

$(VENV)/.release-is-ready: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --group release
	@touch $@

# cibuildwheel works in containers, as the workflow `wheels` does.
wheel: $(VENV)/.release-is-ready
	@if docker info > /dev/null 2>&1; then $(BIN)/cibuildwheel --platform linux --output-dir dist; \
	else echo "no Docker: a wheel for this Python alone" && $(MAKE) wheel-here; fi

wheel-here: $(VENV)/.release-is-ready
	rm -rf build/wheel
	$(PIP) wheel --quiet --no-deps --wheel-dir build/wheel/built .
	PATH="$(abspath $(BIN)):$$PATH" $(MAKE) repair-wheel WHEEL=build/wheel/built/*.whl DEST=build/wheel
	SYCL_EXT_WHEEL=$$(ls build/wheel/*.whl) $(BIN)/python tests/programs/afternoon/run.py
	mkdir -p dist && cp build/wheel/*.whl dist

# Also for cibuildwheel.  The SYCL runtime comes from its own wheel, intel-sycl-rt.
repair-wheel:
	auditwheel repair --strip --exclude 'libsycl.so*' --wheel-dir $(DEST) $(WHEEL)

# The distributions without an extension module have one wheel each.
PURE := conformance hardware integrations/dask integrations/mpi integrations/ray integrations/symmetric integrations/vllm integrations/xarray
sdist: $(VENV)/.release-is-ready
	$(BIN)/python -m build --sdist --outdir dist
	for folder in $(PURE); do $(BIN)/python -m build --outdir dist $$folder || exit; done

check-dist: $(VENV)/.release-is-ready
	$(BIN)/python -m twine check --strict dist/*

# docs/develop/release.md. RELEASE_PYTHONS names other Pythons than those of the PATH.
RELEASE_PYTHONS ?=
release-dry-run: $(VENV)/.release-is-ready
	$(BIN)/python tools/release.py dry-run $(RELEASE_PYTHONS)

conda: $(VENV)/.release-is-ready
	$(BIN)/python tools/conda_package.py render
	$(BIN)/python tools/conda_package.py build

# ---- trust --------------------------------------------------------------------------------------
# check-core and fuzz need clang with its sanitizer libraries, valgrind needs valgrind.

check-core: setup
	$(BIN)/python tests/fuzz/run.py --ci

asan ubsan tsan valgrind: setup
	$(BIN)/python tests/core/cpp/run.py $@

fuzz: setup
	$(BIN)/python tests/fuzz/run.py $(FUZZ_SECONDS)

fuzz-python: setup
	$(BIN)/python tests/fuzz/python.py $(FUZZ_SECONDS)

soak: setup
	SYCL_EXT_SOAK=1 $(BIN)/python -m pytest tests/core/python/test_faults_lifetime.py $(PYTEST_OPTIONS)

CONFORMANCE ?= numpy,array_api_strict,torch,jax,tensorflow,onnxruntime,pyarrow,mlx,tvm_ffi,nanobind,onedal,dpnp,sycl_ext
conformance:
	$(PYTHON) tests/interop/install.py
	.venv-interop/bin/pytest -q -c /dev/null --noconftest --pyargs dlpack_conformance --sycl-device=cpu \
		--dlpack=$(CONFORMANCE) --dlpack-report=docs/develop/conformance_results.md $(PYTEST_OPTIONS)

coverage: setup
	$(BIN)/python tools/coverage_run.py -n $(WORKERS) $(PYTEST_OPTIONS)

# ---- generated files ----------------------------------------------------------------------------

# The blocks that depend only on the code; README.md has the demo, whose addresses differ.
GENERATED := docs/develop/design.md docs/exchange.md docs/get_started.md docs/ci.md docs/conformance.md docs/your_library.md conda-recipe/recipe.yaml
# The SPIR-V of the kernels, as a header; needs Debian's clang-15 and llvm-spirv-15.
kernels: $(BIN)/python
	$(BIN)/python tools/kernels.py

generate: setup
	$(BIN)/cog -I tools -p "from generated import *" -r README.md $(GENERATED)

format: setup
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_FILES)

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis sycl_ext_demo
	rm -f $(VENV)/.*-is-ready $(VENV)/.*-are-ready
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) .venv-interop .venv-numpy1 .venv-open3d .venv-runtime8
