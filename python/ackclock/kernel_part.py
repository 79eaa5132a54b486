"""The part of ackclock that needs the real kernel; it is built where clang and libelf are."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ackclock.errors import AckclockError

NOT_BUILT = (
    "the kernel part of ackclock is not built: it needs clang and libelf. "
    "Type `make build`: as root it installs them, otherwise it prints the command that does"
)


def is_built() -> bool:
    """Whether `ackclock._kernel` is here."""
    return find_spec("ackclock._kernel") is not None


def kernel_part() -> ModuleType:
    """`ackclock._kernel`: deploy, undeploy, status, doctor, run_on_kernel, testbed_version.

    Raises `AckclockError` where it was not built or does not load.
    """
    if not is_built():
        raise AckclockError(NOT_BUILT)
    try:
        return import_module("ackclock._kernel")
    except ImportError as error:
        raise AckclockError(
            f"the kernel part of ackclock does not load: {error}. Type `make build`"
        ) from error
