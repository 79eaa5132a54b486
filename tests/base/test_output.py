"""Where a command writes: the directory where it was started, with whose mode, whole or not."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from ackclock import AckclockError, Result, run
from ackclock.base.directory import CACHE, PARTIAL, Directory, replaced
from common import ACKCLOCK, hidden, in_own_mounts, whole

SCENARIO = """
duration = "1s"
rtt = "20ms"
[bottleneck]
rate = "10mbit"
buffer = "1bdp"
[[flow]]
algorithm = "cubic"
"""
SWEEP = """
scenario = "scenario.toml"
seeds = 2
metrics = ["utilisation"]
[axes]
"bottleneck.buffer" = ["1bdp"]
"""
#: A run that would take hours: what is wrong must be found before it.
LONG = SCENARIO.replace("1s", "500h").replace("10mbit", "10gbit")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def everything(directory):
    """Each file and directory, with its mode."""
    return {path: stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*")}


@pytest.fixture
def files(tmp_path):
    """A scenario and a sweep of it, beside the directory of the commands."""
    beside = tmp_path / "files"
    beside.mkdir()
    (beside / "scenario.toml").write_text(SCENARIO)
    (beside / "sweep.toml").write_text(SWEEP)
    return beside


#: Commands that keep runs where they are started.
KEEPING = {
    "sweep.parquet": "sweep {files}/sweep.toml",
    "summary.json": "run {files}/scenario.toml --seeds 2",
    "card.json": "evaluate reno --against cubic --quick --rows R3",
    "index.html": "reproduce leith2007/fig3 --quick",
}


@pytest.mark.parametrize("file", KEEPING)
def test_the_current_directory_takes_results_and_keeps_runs(ackclock, tmp_path, files, file):
    """Twice: a new one, and one with an output; nothing is moved elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    command = KEEPING[file].format(files=files).split()
    for _ in range(2):
        done = ackclock(*command, "-o", ".", cwd=here)
        assert done.returncode == 0, done.stderr
        (here / file).stat()
    kept = set(here.glob(f"{CACHE}/**/*"))
    assert set(tmp_path.iterdir()) == {here, files}
    done = ackclock(*command, "-o", here, cwd=files)  # from elsewhere, too
    assert done.returncode == 0, done.stderr
    assert kept <= set(here.glob(f"{CACHE}/**/*"))


def test_runs_that_another_command_keeps_there_meanwhile_stay(small, tmp_path):
    result = run(small)
    result.save(tmp_path / "out")
    with Directory(tmp_path / "out") as directory:
        kept = tmp_path / "out" / CACHE / "kept"
        kept.mkdir(parents=True)
        directory.fill(result.write)
    assert kept.is_dir()
    Result.load(tmp_path / "out")


def test_a_file_of_the_name_of_the_kept_runs_is_somebodys(small, tmp_path):
    (tmp_path / CACHE).write_text("ten years of work")
    with pytest.raises(AckclockError, match="did not write"):
        run(small).save(tmp_path)


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o002])
def test_the_users_umask_counts(ackclock, tmp_path, files, umask):
    for command in ("run", "sweep"):
        name = {"run": "scenario"}.get(command, command)
        done = ackclock(command, files / f"{name}.toml", "-o", tmp_path / command, umask=umask)
        assert done.returncode == 0, done.stderr
    made = everything(tmp_path)
    mine = {path: mode for path, mode in made.items() if not path.is_relative_to(files)}
    assert any(path.is_relative_to(tmp_path / CACHE / "rows") for path in mine)
    assert {path: oct(mode) for path, mode in mine.items()} == {
        path: oct((0o777 if path.is_dir() else 0o666) & ~umask) for path in mine
    }


#: Writes with room for the first 1000 bytes of each file.
NO_ROOM = """
import resource, sys
from ackclock import AckclockError, Result, run
from ackclock.cli.main import main
result = Result.load("run")
sys.dont_write_bytecode = True  # cut off, it would stay
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def command(*arguments):
    sys.argv[1:] = arguments
    main()


try:
    CALL
except AckclockError as error:
    sys.exit(f"error: {error}")
"""


@pytest.mark.parametrize(
    ("call", "path"),
    [
        ("result.to_csv('old.csv')", "old.csv"),
        ("result.to_qlog('old.qlog')", "old.qlog"),
        ("command('plot', 'run')", "run/overview.png"),
        ("command('plot', 'run', '-o', 'old.png')", "old.png"),
        ("command('new', 'mine')", None),
        ("run(result.scenario, pcapng='old.pcapng')", "old.pcapng"),
    ],
)
def test_without_room_the_old_file_stays_whole(small, tmp_path, call, path):
    run(small).save(tmp_path / "run")
    if path:
        (tmp_path / path).write_text("of yesterday")
    before = set(tmp_path.rglob("*"))
    script = NO_ROOM.replace("CALL", call)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"error: .*cannot be written.*File too large.*", line)
    assert set(tmp_path.rglob("*")) == before
    if path:
        assert (tmp_path / path).read_text() == "of yesterday"


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = set()

    def fsync(descriptor):
        synced.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    private = tmp_path / "private"
    private.write_text("of yesterday")
    private.chmod(0o600)
    with replaced(private) as file:
        file.write_text("of today")
        assert private.read_text() == "of yesterday"
    assert private.read_text() == "of today"
    assert private.stat().st_ino in synced
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def test_a_device_and_a_pipe_are_written_as_they_are(small, tmp_path):
    """The name is never taken from them: of /dev/null, say."""
    result = run(small)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (result.to_csv, result.to_qlog):
        with subprocess.Popen(["timeout", "60", "cat", pipe], stdout=subprocess.PIPE) as reader:
            write(pipe)
            read = reader.communicate()[0]
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        write(tmp_path / "file")
        assert read == (tmp_path / "file").read_bytes()
    device = tmp_path / "device"
    device.symlink_to(os.devnull)
    result.to_csv(device)
    assert stat.S_ISCHR(device.stat().st_mode)


def test_the_current_directory_is_filled_in_place(scenario, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    inode = out.stat().st_ino
    for target in (".", out, "../out"):
        command = [ACKCLOCK, "run", scenario, "-o", target]
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert out.stat().st_ino == inode
        whole(out)
    (out / "thesis.tex").write_text("ten years of work")
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    assert "contains files that ackclock did not write" in done.stderr
    assert (out / "thesis.tex").exists()
    assert hidden(tmp_path) == []


def test_a_mount_point_is_filled_in_place(scenario, tmp_path):
    """Twice, as a file system of its own and as a directory mounted on itself."""
    for mount in ("mount -t tmpfs tmpfs out", "mount --bind out out"):
        done = in_own_mounts(
            f"mkdir -p out; {mount}; for again in 1 2; do {ACKCLOCK} run {scenario} -o out; done; "
            "mkdir copy; cp -a out/. copy; umount out",
            tmp_path,
        )
        assert done.returncode == 0, done.stderr
        whole(tmp_path / "copy")
        shutil.rmtree(tmp_path / "copy")
    assert hidden(tmp_path) == []


def test_a_read_only_place_is_refused_before_the_run(scenario, tmp_path):
    scenario.write_text(LONG)
    for target in ("ro/out", "ro/deep/out", "ro"):
        done = in_own_mounts(
            "mkdir -p ro; mount -t tmpfs -o ro tmpfs ro; "
            f"exec {ACKCLOCK} run {scenario} -o {target}",
            tmp_path,
        )
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.endswith("cannot be written (Read-only file system); choose another")


def test_an_output_directory_that_another_command_fills(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    with Directory("."):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(AckclockError, match="another command"), Directory("out"):
            pass


def test_a_full_disk_keeps_the_finished_sweep(scenario, tmp_path):
    """The room is for the first bytes of a file: what writes it may tell that in its own way."""
    scenario.write_text(SCENARIO.replace("1s", "5s"))
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "scenario.toml"\nseeds = 20\nmetrics = ["utilisation"]\n'
        '[axes]\n"bottleneck.buffer" = ["1bdp", "2bdp"]\n'
    )
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=8k tmpfs full; "
        f"{ACKCLOCK} sweep {sweep} -o full/out || ls -A full; exit 1",
        tmp_path,
    )
    kept_in = tmp_path / "out-kept"
    assert done.stderr.splitlines()[-1].endswith(
        f"/full/out: No space left on device. The results are in {kept_in}"
    )
    assert (kept_in / "sweep.parquet").read_bytes().endswith(b"PAR1")  # whole


def test_a_full_disk_keeps_the_finished_run(scenario, tmp_path):
    done = in_own_mounts(
        "mkdir full; mount -t tmpfs -o size=8k tmpfs full; "
        f"{ACKCLOCK} run {scenario} -o full/out || ls -A full; exit 1",
        tmp_path,
    )
    (line,) = done.stderr.splitlines()
    kept_in = tmp_path / "out-kept"
    assert line == (
        f"error: output directory {tmp_path}/full/out: No space left on device. "
        f"The results are in {kept_in}"
    )
    assert done.stdout == ""
    whole(kept_in)


def test_a_directory_made_meanwhile_keeps_the_finished_run(small, tmp_path):
    result = run(small)
    for name in ("out-kept", "out-kept-2"):
        with Directory(tmp_path / "out") as directory:
            (tmp_path / "out").mkdir(exist_ok=True)
            (tmp_path / "out" / "thesis.tex").write_text("ten years of work")
            with pytest.raises(AckclockError, match="did not write") as caught:
                directory.fill(result.write)
        assert str(caught.value).endswith(f"The results are in {tmp_path / name}")
        assert whole(tmp_path / name).manifest == json.loads(json.dumps(result.manifest))
        (tmp_path / "out" / "thesis.tex").unlink()
        (tmp_path / "out").rmdir()
    assert hidden(tmp_path) == []


def test_what_is_not_finished_is_hidden_and_private(small, tmp_path):
    with Directory(tmp_path / "out") as directory:
        (partial,) = tmp_path.iterdir()
        assert partial.name.startswith(PARTIAL)
        assert stat.S_IMODE(partial.stat().st_mode) == 0o700
        directory.fill(run(small).write)
    (out,) = tmp_path.iterdir()
    assert (out.name, stat.S_IMODE(out.stat().st_mode)) == ("out", 0o755)
