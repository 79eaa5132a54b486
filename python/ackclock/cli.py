"""What `ackclock` starts: it imports nothing slow, to catch an interrupt from the start."""

import signal
import sys
from types import FrameType


def main() -> None:
    """The command line; a user's mistake is one line and exit code 1, an interrupt is 130."""
    for stop in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(stop) == signal.SIG_DFL:  # not under nohup
            signal.signal(stop, _interrupt)
    try:
        from ackclock import (  # noqa: PLC0415
            commands,  # noqa: F401 (each adds its commands)
            figure_commands,  # noqa: F401
            kernel_commands,  # noqa: F401
        )
        from ackclock.console import app  # noqa: PLC0415

        app()
    except KeyboardInterrupt:
        sys.exit(130)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
