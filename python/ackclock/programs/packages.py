"""The packages that programs need beside ackclock's own."""

from ackclock.base.errors import AckclockError
from ackclock.base.kernel_part import IN_A_CLONE


def missing(package: str) -> AckclockError:
    """That it is not installed, and what installs it: in a clone, and where wheels are."""
    how = "make .venv/programs" if IN_A_CLONE else 'pip install "ackclock[programs]"'
    return AckclockError(f"the package {package} is not installed; type: {how}")
