"""Which engine `ackclock._core` is; `ackclock.engine` puts it there."""

import os
import sys
from importlib.util import find_spec

from ackclock.base.errors import AckclockError

#: "native", a library, or "portable", WebAssembly, where there is none or it is asked for.
NAME = os.environ.get("ACKCLOCK_ENGINE") or (
    "native" if find_spec("ackclock._core") is not None else "portable"
)
if NAME not in ("native", "portable"):
    sys.exit(f'error: ACKCLOCK_ENGINE = "{NAME}": choose native or portable')


def need_native(what: str) -> None:
    """Raises `AckclockError` where the engine is the portable one."""
    if NAME == "portable":
        raise AckclockError(f"{what} needs Linux and the native engine; the simulator runs here")
