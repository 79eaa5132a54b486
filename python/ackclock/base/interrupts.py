"""Ctrl-C and its like: it imports nothing slow, to be there from the start."""

import signal
import sys

TYPE_CHECKING = False  # what `typing` has, without 3 ms in which an interrupt prints a traceback
if TYPE_CHECKING:
    from types import FrameType

#: What a shell says of a command whose reader has gone (`| head`): 128 and the number of SIGPIPE.
READER_GONE = 141
#: Signals that have come.
_interrupts: list[int] = []


def interrupt(number: int, _: "FrameType | None") -> None:
    """What a signal calls that stops the command."""
    _interrupts.append(number)
    sys.unraisablehook = _again
    raise KeyboardInterrupt


def _again(unraised: "sys.UnraisableHookArgs") -> None:
    """What cannot be raised (`__del__`) is not printed; an interrupt comes once more."""
    if issubclass(unraised.exc_type, KeyboardInterrupt) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.01)


def is_interrupt(error: BaseException) -> bool:
    """Whether it is an interrupt, or what a library has made of one (a panic, in Rust)."""
    made_of_one = bool(_interrupts) and not isinstance(error, SystemExit)
    return made_of_one or isinstance(error, KeyboardInterrupt)
