"""What of the quick tests is left out with `ACKCLOCK_ENGINE=portable`, and why."""

KERNEL = "asks what the kernel, or a kernel in virtual time, would do"
STACKS = "QUIC stacks run in the native engine"
MODULES = "a module of the kernel is a file of the native engine"

#: Beginnings of the names of tests → the reason.
LEFT_OUT = {
    "base/test_killed.py::test_killed_at_random": "a killed compile leaves its directory",
    "captures/": "what a sender would have sent is asked of the native engine",
    "cli/test_kernel_deploy": KERNEL,
    "cli/test_watch": KERNEL,
    "draw/": "draws what either engine makes",
    "engine/test_portable": "has both engines already",
    "estimates/": "does not run a scenario",
    "explore/": "has its own tests with engine.wasm; test_elsewhere runs a scenario on the page",
    "hosts/": "Linux's: kernels, processes apart, clusters",
    "imports/": "reads files of other tools",
    "pages/": "reports of papers: test_elsewhere reproduces a figure",
    "papers/": "setups of papers: test_elsewhere reproduces a figure",
    "programs/": "programs that call ackclock on Linux",
    "repository/": "documents and builds",
    "results/test_arrow": "tables of the native engine own memory of Rust",
    "results/test_quic": STACKS,
    "scenario/test_kernel_module": MODULES,
    "scorecard/test_scorecard.py::test_an_address_as_a_number": "addresses are the same everywhere",
    "scorecard/test_scorecard.py::test_without_its_file": "other compilers are looked for",
    "store/test_kept.py::test_the_compiler_and_its_flags": "CC is not asked",
    "studies/test_bisect": KERNEL,
    "studies/test_checking.py::test_a_scenario_is_refused_as_its_run_is[vlinux": KERNEL,
    "studies/test_checking.py::test_hooks_are_called_as_linux_may": "--fuzz is native",
    "studies/test_checking.py::test_the_kernels_form": MODULES,
    "studies/test_checking.py::test_what_only_one_host_gets_of_a_file_in_the_kernels": MODULES,
    "studies/test_checking.py::test_without_a_compiler": "other compilers are looked for",
    "studies/test_conform.py::test_a_log_is_judged": STACKS,
    "studies/test_conform.py::test_a_stack": STACKS,
    "studies/test_conform.py::test_the_command": STACKS,
    "studies/test_conform.py::test_the_cubic_of_a_quic_stack": STACKS,
    "studies/test_diverge": KERNEL,
    "studies/test_vlinux": KERNEL,
    "sweeps/test_sweep.py::test_examples[quic]": STACKS,
}


def reason(name: str) -> str | None:
    """Why a test is left out: `name` is its node's, below `tests/`."""
    found = (why for begin, why in LEFT_OUT.items() if name.startswith(begin))
    return next(found, None)
