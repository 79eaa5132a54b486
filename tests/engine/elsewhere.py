"""A `sitecustomize` of Python that hides what macOS or Windows lacks.

What the standard library needs of this system it has imported before. A file with a name that
Windows refuses is an error.
"""

import builtins
import functools
import os
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

MODULES = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "curses", "readline")
GONE = {
    os: (
        *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "geteuid", "getuid", "getpgid"),
        *("killpg", "mkfifo", "register_at_fork", "setsid", "uname", "sched_getaffinity", "nice"),
    ),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "setitimer", "ITIMER_REAL"),
    socket: ("AF_UNIX", "send_fds", "recv_fds"),
}
for each in (
    *("asyncio", "ctypes", "multiprocessing.connection", "subprocess", "tempfile"),
    *("matplotlib.pyplot", "numpy", "polars", "typer", "wasmtime"),
):
    import_module(each)


def refuse(call):
    def opened(path, *given, **named):
        name = Path(path).name if isinstance(path, str | Path) else ""
        assert not {*name} & set('<>:"|?*'), f"Windows has no file {name}"
        assert not str(path).startswith("/proc/"), path
        return call(path, *given, **named)

    return opened


# As Windows has them.
subprocess.Popen.kill = subprocess.Popen.terminate
socket.socketpair = functools.partial(socket.socketpair, socket.AF_UNIX)
for module in MODULES:
    sys.modules[module] = None
for module, names in GONE.items():
    for name in names:
        delattr(module, name)
builtins.open = refuse(open)
os.open = refuse(os.open)
os.mkdir = refuse(os.mkdir)
