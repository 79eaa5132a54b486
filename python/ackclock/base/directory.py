"""Directories that appear whole or not at all.

A command fills a hidden directory beside the one that it was asked for, and renames it at the
end. A killed command leaves its hidden directory behind; the next command that writes in the same
place removes it. A command holds a lock (flock) on its hidden directory as long as it lives, so
nobody removes the directory of a live command.
"""

import errno
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ackclock.base.errors import AckclockError

try:
    import fcntl
except ImportError:  # Windows, where nobody knows what is left behind: it stays
    fcntl = None  # type: ignore[assignment]

#: Names the files of an output, so that it can be told from a directory of somebody's own.
WRITTEN = ".written-by-ackclock"
#: What a command keeps of its runs, in the directory where it was started.
CACHE = ".ackclock"
#: How the name of a directory begins that is not finished.
PARTIAL = ".ackclock-partial-"
#: Fills a directory.
Write = Callable[[Path], object]
#: What the system says where a directory cannot take a name because something else has it.
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextmanager
def partial_directory(place: Path) -> Iterator[Path]:
    """A hidden directory of this command, mode 0700, in `place`, which is made if it is not there.

    At the end it is removed, and what was made if it is empty. Raises `OSError` where it cannot be
    made.
    """
    made = [path for path in (place, *place.parents) if not path.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = None
        while lock is None:  # another command may collect it before it is locked
            partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=place))
            lock = _lock(partial, needed=False)
        try:
            yield partial
        finally:
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:  # renamed, or exchanged for a file
                partial.unlink(missing_ok=True)
            os.close(lock)
    finally:
        _remove_empty(made)


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, which takes the name `path` when the block ends without an error.

    It is on the disk before it has the name, and has the mode of the file that it replaces.
    Directories that are not there are made. A pipe or a device is written as it is.
    Raises `OSError` where it cannot be written.
    """
    real = Path(os.path.realpath(path))
    if Path(path).exists() and not real.is_file():
        yield Path(path)
        return
    collect(real.parent)
    with partial_directory(real.parent) as partial:
        file = partial / Path(path).name
        yield file
        sync(file)
        with suppress(FileNotFoundError):
            file.chmod(stat.S_IMODE(real.stat().st_mode))
        file.replace(real)


def allow(partial: Path) -> None:
    """Gives a directory that was private the mode of any that this user makes."""
    like = partial / f"{PARTIAL}mode"  # the umask cannot be read without a change to it
    like.mkdir()
    mode = stat.S_IMODE(like.stat().st_mode)
    like.rmdir()
    partial.chmod(mode)


def collect(place: Path) -> None:
    """Removes the hidden directories in `place` that killed commands of this user left."""
    try:
        left = list(place.glob(f"{PARTIAL}*")) if fcntl else []
    except OSError:
        return
    for path in left:
        with suppress(OSError):
            found = path.lstat()
            mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            if mine and (lock := _lock(path, needed=True)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _lock(directory: Path, *, needed: bool) -> int | None:
    """Locks a directory; None if another command holds it, or it is gone.

    On a file system without locks it is locked only if that is not `needed`.
    """
    if not fcntl:
        return os.open(os.devnull, os.O_RDONLY)
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        locked = False
    except OSError:
        locked = not needed
    try:
        if locked and os.path.samestat(os.fstat(descriptor), directory.lstat()):
            return descriptor
    except FileNotFoundError:
        pass
    os.close(descriptor)
    return None


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Waits until no other command is in such a block for the same directory."""
    if not fcntl:
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Returns when a file's content, or a directory's names, are on the disk."""
    if not fcntl and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if fcntl else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # there is no disk
            raise
    finally:
        os.close(descriptor)


def sync_all(directory: Path) -> None:
    """`sync` of a directory and of the files in it: at once, which takes a fifth of the time."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (slow to import)

    # Its end is here: Python's own would wait for ever for a thread whose start was interrupted.
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(sync, list(directory.iterdir())))
    sync(directory)


def exchange(one: Path, other: Path) -> None:
    """Exchanges the names of two files or directories, at once where the system can.

    Raises `OSError`, and then nothing has changed.
    """
    try:
        _exchange_at_once(one, other)
    except (AttributeError, NotImplementedError, TypeError):
        with partial_directory(other.parent) as between:
            held = between / other.name
            other.rename(held)
            try:
                one.rename(other)
            except BaseException:
                held.rename(other)
                raise
            held.rename(one)


def _exchange_at_once(one: Path, other: Path) -> None:
    """Linux's `renameat2`; raises `AttributeError`, `NotImplementedError` where that is not."""
    import ctypes  # noqa: PLC0415 (slow to import)

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, bytes(one), _AT_FDCWD, bytes(other), _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EINVAL):  # not this kernel, not this file system
            raise NotImplementedError
        raise OSError(number, os.strerror(number), str(one), None, str(other))


class Directory:
    """A directory that `fill` fills; as a context it finds out at once whether that will work.

    It replaces an empty directory or an earlier output of ackclock's, never anything else. A mount
    point, the current directory or one with kept runs stays, and gets the files.
    Raises `AckclockError` where it cannot be written.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(os.path.realpath(directory))
        self._in_place = False
        self._partial = Path()
        self._opened = self._open()

    def __enter__(self) -> Self:
        self._partial = self._opened.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.__exit__(kind, error, traceback)

    @contextmanager
    def _open(self) -> Iterator[Path]:
        collect(self.directory)
        self._check_replaceable()
        self._in_place = _must_stay(self.directory)
        place = self.directory if self._in_place else self.directory.parent
        collect(place)
        with ExitStack() as stack:
            try:
                partial = stack.enter_context(partial_directory(place))
            except OSError as error:
                raise AckclockError(
                    f"output directory {self.directory}: cannot be written "
                    f"({error.strerror}); choose another"
                ) from None
            yield partial

    @property
    def beside(self) -> Path | None:
        """A directory on the same disk, for files that wait; None if it has none for us."""
        return None if self._in_place else self.directory.parent

    def fill(self, write: Write) -> None:
        """Has `write` fill the directory.

        Where that fails (the disk is full, another filled the directory meanwhile) the files are
        kept in another place. Raises `AckclockError`, which names that place.
        """
        try:
            _write_all(write, self._partial)
            self._publish()
        except OSError as error:
            self._keep(write, f"output directory {self.directory}: {error.strerror or error}")
        except AckclockError as error:
            self._keep(write, str(error))

    def _publish(self) -> None:
        if self._in_place or _must_stay(self.directory):  # runs may be kept there since
            with locked(self.directory):
                self._check_replaceable()
                _move_into(self._partial, self.directory)
            sync(self.directory)
            return
        self._check_replaceable()
        allow(self._partial)
        try:
            self._partial.rename(self.directory)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
            exchange(self._partial, self.directory)
        sync(self.directory.parent)

    def _keep(self, write: Write, reason: str) -> None:
        """Keeps what was to be published beside it, here or among the temporary files."""
        for place in (self.directory.parent, _here(), Path(tempfile.gettempdir())):
            with suppress(OSError), partial_directory(place) as partial:
                _write_all(write, partial)
                kept = _rename_beside(partial, place / f"{self.directory.name}-kept")
                raise AckclockError(f"{reason}. The results are in {kept}")
        raise AckclockError(reason)

    def _check_replaceable(self) -> None:
        directory = self.directory
        try:
            if not directory.exists():
                return
            problem = self._problem()
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
        if problem:
            raise AckclockError(f"output directory {directory}: {problem}; choose another")

    def _problem(self) -> str:
        """What speaks against replacing the directory; empty: nothing."""
        if not self.directory.is_dir():
            return "is a file"
        files = _files(self.directory, self._partial)
        if any(path.name.startswith(PARTIAL) for path in files):
            return "another command of ackclock's is writing it"
        return (
            ""
            if _are_output(self.directory, files)
            else "contains files that ackclock did not write"
        )


def _write_all(write: Write, directory: Path) -> None:
    write(directory)
    names = sorted({path.name for path in directory.iterdir()} - {WRITTEN})
    (directory / WRITTEN).write_text("\n".join(names) + "\n", encoding="utf-8")
    sync_all(directory)


def _files(directory: Path, partial: Path) -> list[Path]:
    """What is in a directory, but for what is to come there and the kept runs."""
    cache = directory / CACHE
    stays = {partial, cache} if cache.is_dir() else {partial}
    return [path for path in directory.iterdir() if path not in stays]


def _are_output(directory: Path, files: Iterable[Path]) -> bool:
    """Whether these, all that is in the directory, are files that ackclock wrote."""
    try:
        ours = {WRITTEN, *(directory / WRITTEN).read_text(encoding="utf-8").splitlines()}
    except (FileNotFoundError, IsADirectoryError, ValueError):
        ours = set()
    drawn = {f"overview{suffix}" for suffix in (".png", ".svg", ".pdf")}  # by `ackclock plot`
    return all(path.is_file() and path.name in ours | (drawn if ours else set()) for path in files)


def _here() -> Path:
    """The current directory, or the root if it is no longer there."""
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


def _must_stay(directory: Path) -> bool:
    """Whether a directory is there that cannot be renamed, or that somebody needs as it is."""
    if not directory.is_dir():
        return False
    above, own = directory.parent.stat(), directory.stat()
    user = os.geteuid() if fcntl else 0
    held = above.st_mode & stat.S_ISVTX and user not in (0, above.st_uid, own.st_uid)
    return (
        directory == Path(os.path.realpath(_here()))
        or (directory / CACHE).is_dir()
        or _is_mount_point(directory)
        or not os.access(directory.parent, os.W_OK | os.X_OK)
        or bool(held)
    )


def _is_mount_point(directory: Path) -> bool:
    """Also one whose file system is that of the directory above (a bind mount)."""
    if directory.is_mount():
        return True
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    octal = b"".join(b"\\%03o" % c if c in b" \t\n\\" else bytes([c]) for c in bytes(directory))
    return any(line.split()[4] == octal for line in mounts)


def _move_into(partial: Path, directory: Path) -> None:
    """Moves the files of an output into a directory that stays, manifest.json as the last.

    The names of all that may be there in between stand in `WRITTEN`, and so the next command can
    replace it.
    """
    old = {path.name for path in _files(directory, partial)}
    new = {path.name for path in partial.iterdir()}
    listed = (partial / WRITTEN).read_text(encoding="utf-8")
    both = partial / f"{WRITTEN}.both"
    both.write_text("\n".join(sorted(old | new - {WRITTEN})) + "\n", encoding="utf-8")
    both.replace(directory / WRITTEN)
    for name in sorted(new - {WRITTEN}, key=lambda name: (name == "manifest.json", name)):
        (partial / name).replace(directory / name)
    for name in old - new:
        (directory / name).unlink()
    both.write_text(listed, encoding="utf-8")
    both.replace(directory / WRITTEN)


def _rename_beside(partial: Path, wanted: Path) -> Path:
    """Renames a directory to that name, or the first free one with a number."""
    allow(partial)
    for number in itertools.count(1):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            partial.rename(path)
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        else:
            return path
    raise AssertionError("numbers do not end")


def _remove_empty(directories: list[Path]) -> None:
    for directory in directories:
        try:
            directory.rmdir()
        except OSError:
            return
