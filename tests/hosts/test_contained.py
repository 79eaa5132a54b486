"""A process of its own for what may crash: nothing it does ends the caller or the server."""

import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ackclock.base.errors import AckclockError, AlgorithmError
from ackclock.hosts import contained as module
from ackclock.hosts.contained import contained
from ackclock.hosts.limits import VARIABLE, Limits
from common import ACKCLOCK, ROOT, wait_until


def unheard(_):
    pass


def counted(number, progress):
    """Some numbers, and the process that counts."""
    for each in range(number):
        progress(each / number)
        yield each, os.getpid()


def ends(how, _):
    yield os.getpid()
    if how == "crash":
        ctypes.string_at(0)
    elif how == "words":
        os.write(2, b"error: x.c:3: divides by zero\n")
        os._exit(1)
    elif how == "refuses":
        raise AckclockError("reno: beta = 2: write less")
    elif how == "memory":
        bytearray(5 << 30)
    elif how == "file":
        with Path("large").open("wb") as file:
            file.truncate(2 << 30)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def test_what_it_yields_and_tells():
    heard = []
    found = list(contained(counted, 5, progress=heard.append))
    assert [each for each, _ in found] == list(range(5))
    assert {process for _, process in found} != {os.getpid()}
    assert heard == [0]  # ten times a second at most


def test_one_server_makes_a_process_for_each_call():
    first, second = (dict(contained(counted, 1, progress=unheard)) for _ in range(2))
    assert first[0] != second[0]
    assert len(module._idle) >= 1


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ("crash", AlgorithmError, "was killed"),
        ("words", AlgorithmError, "^x.c:3: divides by zero$"),
        ("refuses", AckclockError, "^reno: beta = 2: write less$"),
        ("memory", AlgorithmError, "needs more than 5 GB of memory; ACKCLOCK_LIMITS=memory=10GB"),
        ("file", AlgorithmError, "."),
        ("kill", AlgorithmError, "was killed"),
    ],
)
def test_how_it_can_end(how, error, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says):
        list(contained(ends, how, progress=unheard))
    assert next(iter(contained(counted, 1, progress=unheard)))[0] == 0


def test_closing_it_ends_the_process():
    with closing(contained(ends, "waits", progress=unheard)) as processes:
        process = next(processes)
        os.kill(process, 0)

    def is_gone():
        with suppress(ProcessLookupError):
            os.kill(process, 0)
            return False
        return True

    wait_until(is_gone)


def test_an_exception_in_progress_ends_it():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(contained(counted, 5, progress=stop))
    assert len(list(contained(counted, 2, progress=unheard))) == 2


def test_limits_can_be_raised(monkeypatch):
    monkeypatch.setenv(VARIABLE, "memory=8GB, time=48h")
    assert Limits.read() == Limits(memory_bytes=8 * 10**9, cpu_s=48 * 3600)
    found = next(iter(contained(limits_there, progress=unheard)))
    assert found == (8 * 10**9, 10**9, 48 * 3600)
    monkeypatch.setenv(VARIABLE, "memory=8")
    with pytest.raises(AckclockError, match=r'^ACKCLOCK_LIMITS: "memory=8": '):
        list(contained(limits_there, progress=unheard))
    monkeypatch.setenv(VARIABLE, "disk=8GB")
    with pytest.raises(AckclockError, match="choose from memory, file, time"):
        Limits.read()


def limits_there(_):
    which = (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)
    yield tuple(resource.getrlimit(each)[0] for each in which)


def test_a_file_is_judged_where_its_loads_are_checked(tmp_path):
    """Gcc checks stores alone: without clang only a file of the user's own is judged."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cc", "gcc", "as", "ld"):
        (tools / name).symlink_to(shutil.which(name) or "nowhere")
    command = [ACKCLOCK, "attack", ROOT / "examples" / "my_cc.c", "--tries", "16"]
    environment = os.environ | {"PATH": str(tools), "CC": "gcc"}
    for trust, status, says in (({}, 1, "apt-get install clang"), ({"ACKCLOCK_TRUST": "1"}, 0, "")):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment | trust,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, says in done.stderr) == (status, True), done.stderr


def tries(secret, directory, _):
    """What a file that found a hole would try."""
    for what in (
        lambda: (directory / "kept").write_text("x"),
        secret.unlink,
        (directory / "made").mkdir,
        socket.socket,
        lambda: os.kill(os.getppid(), 0),
        lambda: os.kill(1, 0),
        lambda: os.chroot("/"),
        lambda: subprocess.run(["rm", secret], check=True, capture_output=True),
    ):
        try:
            what()
            yield "done"
        except (OSError, subprocess.CalledProcessError) as error:
            yield type(error).__name__
    own = Path(tempfile.gettempdir())
    (own / "mine").write_text("x")
    yield str(own)


def test_what_a_file_with_a_hole_cannot_do(tmp_path):
    """It writes below a directory of its own, which is gone afterwards, and reaches nobody."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    *told, own = contained(tries, secret, tmp_path, progress=unheard)
    assert set(told) <= {"PermissionError", "CalledProcessError"}, told
    assert secret.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]
    assert own != tempfile.gettempdir()
    assert not Path(own).exists()
