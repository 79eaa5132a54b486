"""What `ackclock` starts: it imports nothing slow, to catch an interrupt from the start."""

import gc
import importlib
import io
import os
import re
import signal
import sys

from ackclock.base.interrupts import READER_GONE, interrupt, is_interrupt

TYPE_CHECKING = False  # what `typing` has, without 3 ms in which an interrupt prints a traceback
if TYPE_CHECKING:
    from typing import Any

#: Module → its commands. A command needs only its own module; help and completion need each.
MODULES = {
    "run": ("run",),
    "algorithms": ("new", "examples", "response", "list", "plot"),
    "c_files": ("import-tc", "packetdrill", "check", "conform"),
    "sweep": ("sweep", "compare"),
    "evaluate": ("evaluate", "attack"),
    "explore": ("explore", "mcp"),
    "papers": ("reproduce", "claims", "report"),
    "watch": ("watch", "shell", "identify", "import-capture", "advise", "capture"),
    "kernel": ("deploy", "undeploy", "status", "doctor", "linux"),
}

#: Command of the version before → its words now; it still works.
RENAMED = {
    "vlinux": ("linux",),
    "diverge": ("linux", "diverge"),
    "bisect": ("linux", "bisect"),
    "explain": ("capture", "explain"),
}

#: What numpy, polars and threads reserve: with 2 cores a run fails below 0.9 GB, and at 1 at times.
ADDRESSES_MB = 2000


def main() -> None:
    """The command line. A user's mistake is one line and exit code 1 or 2, an interrupt is 130."""
    for stop in filter(None, (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None))):
        if signal.getsignal(stop) != signal.SIG_IGN:  # not under nohup
            signal.signal(stop, interrupt)
    # What is imported stays: looking for garbage in it would take 0.05 s, and again at the end.
    # All modules of `run` are 200 000 objects.
    gc.set_threshold(400_000)
    # numpy would start one for each core; and polars, whose threads cost more than short tables.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    try:
        _open_streams()
        _need_addresses()
        from typer import TyperException  # noqa: PLC0415

        from ackclock.cli.console import app, err, not_printed  # noqa: PLC0415

        words = _words()
        own = [module for module, names in MODULES.items() if words[0] in names]
        for module in own or MODULES:
            importlib.import_module(f"ackclock.cli.{module}")  # adds its commands to `app`

        try:
            code = app(words, prog_name="ackclock", standalone_mode=False)
            sys.stdout.flush()
        except TyperException as error:
            err.print(f"error: {_usage(error)}")
            sys.exit(error.exit_code)
        except OSError as error:
            sys.exit(not_printed(error))
        except SystemExit:  # rich and typer make one of a broken pipe
            sys.exit(READER_GONE)
    except BaseException as error:
        if is_interrupt(error):
            sys.exit(130)
        raise
    finally:  # a second Ctrl-C would print a traceback while Python ends
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        gc.freeze()
    sys.exit(code if isinstance(code, int) else 0)


def _need_addresses() -> None:
    """Ends where the limit is too low: numpy and polars would crash in one of five ways."""
    try:
        import resource  # noqa: PLC0415 (Windows has none)
    except ImportError:
        return
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0] / 1e6
    if 0 < allowed < ADDRESSES_MB:  # -1: no limit
        sys.exit(
            f"error: this shell allows {allowed:.0f} MB of addresses, and ackclock needs "
            f"{ADDRESSES_MB}; type: ulimit -v unlimited"
        )


class _Stderr(io.TextIOWrapper):
    """Standard error: where it takes nothing, the work goes on."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError:
            return len(text)


def _open_streams() -> None:
    """No other file gets the number of a stream that the shell closed, and with it our words."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            # Standard output so that a write to it fails.
            null = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            os.dup2(null, number)
            if null != number:
                os.close(null)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    raw = os.fdopen(2, "wb", buffering=0, closefd=False)
    sys.stderr = _Stderr(raw, encoding, "backslashreplace", write_through=True)


def _words() -> list[str]:
    """The command line, with the names of now."""
    first, *rest = sys.argv[1:] or ["--help"]
    if first not in RENAMED:
        return [first, *rest]
    if "--json" not in rest:
        print(f"`ackclock {first}` is now `ackclock {' '.join(RENAMED[first])}`", file=sys.stderr)
    return [*RENAMED[first], *rest]


def _usage(error: Exception) -> str:
    """One line on a command line that is not one: what is wrong, and what to type."""
    text = error.format_message()  # type: ignore[attr-defined]
    text = " ".join(text.replace("Value error, ", "").split()).removesuffix(".")
    text = re.sub(r"Input should be a valid (?:integer|number).*", "write a number", text)
    text = re.sub(r"\(Possible options: (--[\w-]+).*\)", r"Did you mean \1?", text)
    text = re.sub(r"\. Did you", "; did you", text).replace(" Did you", "; did you")
    context = getattr(error, "ctx", None)
    if key := _key(getattr(error, "option_name", None), context):
        text = f"no such option: {error.option_name}; did you mean --set {key}=VALUE?"  # type: ignore[attr-defined]
    command = context.command_path if context else "ackclock"
    hint = "" if text.endswith("?") else f"; see `{command} --help`"
    return text[0].lower() + text[1:] + hint


def _key(option: str | None, context: "Any") -> str | None:
    """The key of a scenario that a user has written as an option of a command with `--set`."""
    if (
        not option
        or not context
        or not any("--set" in each.opts for each in context.command.params)
    ):
        return None
    from ackclock.scenario.keys import Bottleneck, Flow, ScenarioKeys  # noqa: PLC0415 (slow to import)

    name = option.lstrip("-").replace("-", "_")
    tables: dict[str, Any] = {"": ScenarioKeys, "bottleneck.": Bottleneck, "flow.": Flow}
    return next((at + name for at, table in tables.items() if name in table.names()), None)
