"""The part of ackclock that needs the real kernel: a distribution of its own, ackclock-kernel.

In a clone `make kernel` builds it; it needs clang and libelf.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ackclock.base.chosen import NAME, need_native
from ackclock.base.errors import AckclockError

#: What to type to get it: in a clone, and where the wheels are installed.
_BUILD, _INSTALL = "make kernel", "pip install 'ackclock[kernel]'"
IN_A_CLONE = Path(__file__).parents[3].joinpath("crates").is_dir()
NOT_BUILT = (
    (
        "the kernel part of ackclock is not built: it needs clang and libelf. "
        f"Type `{_BUILD}`: as root it installs them, otherwise it prints the command that does"
    )
    if IN_A_CLONE
    else f"the kernel part of ackclock is not installed. Type `{_INSTALL}`"
)


def is_built() -> bool:
    """Whether `ackclock._kernel` is here, and the native engine, without which it is of no use."""
    return NAME == "native" and find_spec("ackclock._kernel") is not None


def kernel_part() -> ModuleType:
    """`ackclock._kernel`.

    It has check, deploy, undeploy, status, doctor, check_on_kernel, rehearse_on_kernel,
    run_on_kernel, Shell and testbed_version.
    Raises `AckclockError` where it was not built or does not load.
    """
    need_native("the running kernel")
    if not is_built():
        raise AckclockError(NOT_BUILT)
    try:
        return import_module("ackclock._kernel")
    except ImportError as error:
        raise AckclockError(
            f"the kernel part of ackclock does not load: {error}. "
            f"Type `{_BUILD if IN_A_CLONE else _INSTALL}`"
        ) from error


#: What the testbed needs beside what an algorithm needs, as `doctor` names it.
TESTBED = ("CAP_NET_ADMIN", "TUN", "network namespaces")


def lacks(*besides: str) -> str:
    """What is missing here to register an algorithm, and `besides`, as `doctor` names it; or "".

    A rehearsal of `deploy` does not count: no run needs the BPF file system. Without root most
    checks fail, and only root is named.
    """
    try:
        found = kernel_part().doctor()
    except AckclockError as error:
        return str(error)
    missing = {
        each["what"]: each["found"]
        for each in found
        if ((each["needed"] and each["what"] != "deploy") or each["what"] in besides)
        and not each["ok"]
    }
    if root := [what for what in missing if what.startswith("CAP_")]:
        return (
            f"it needs root; this process lacks {' and '.join(root)}: run it with sudo, in a "
            "container with --privileged"
        )
    return "; ".join(f"{what}: {found}" for what, found in missing.items())
