"""`make test-fresh`: the commands of README in new Debian systems, under many conditions.

Each condition runs in a directory with a minimal Debian 12, behind chroot, with mount and process
namespaces of its own. The machine is left as it was; but the kernel, and so the names of deployed
algorithms, are shared. A table of the results is written to target/fresh/results.md.
"""

import argparse
import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "fresh"
PAGE = LOGS / "results.md"
WHEELS = ROOT / "target" / "wheels"
SUITE = "bookworm"
PREFIX = "ackclock-fresh-"
#: What a new user types first; README says so.
FIRST = "apt-get update -qq && apt-get install -y -qq git make"
ALL = "make demo && make test && make test-slow"
DEMO_AND_TEST = "make demo && make test"
#: All that depends on what a process may do to the kernel, and on the machine's speed.
SUBSET = (
    "export RUST='-p ackclock-linux' PYTHON='tests/cli/test_kernel_deploy.py "
    "tests/hosts/test_testbed.py tests/hosts/test_testbed_robust.py tests/studies/test_compare.py "
    "tests/figures/test_crosscheck.py tests/repository/test_setup.py tests/cli/test_cli.py "
    "tests/cli/test_cli_long.py tests/results/test_result.py'; make test && make test-slow"
)
BUILT = (
    "make kernel && scripts/require.sh network iperf3 chromium firefox tshark tcptrace "
    "curl nginx openssl redis-server rsync tcpdump && "
    "cargo test --locked --no-run -p ackclock-linux"
)
#: Starts a command whose mounts and processes end with it, as it ends with this script.
OWN = [
    "setpriv",
    "--pdeathsig",
    "KILL",
    "unshare",
    "--mount",
    "--pid",
    "--uts",
    "--ipc",
    "--fork",
    "--kill-child",
]
#: From nothing to the first picture.
FIRST_PLOT_S = 60
#: What the Containerfile types, as if it were in one shell; then a run, a C file, and the page.
FROM_WHEELS = """set -e
STARTED=$(date +%s)
{install}
export PATH=/opt/ackclock/bin:$PATH
ackclock examples
ackclock run examples/two_cubic.toml -o out/first
ackclock plot out/first
test -s out/first/overview.png
TOOK=$(($(date +%s) - STARTED))
echo "first figure after $TOOK s; the packages of Python have $(du -sh /opt/ackclock | cut -f 1)B"
times
echo "passed: a run and its picture"
ackclock new mine
ackclock check mine.c
echo "passed: a C file"
ackclock explore --port 8721 >page.log &
timeout 60 sh -c 'until grep -q http page.log; do sleep 1; done'
python3 -c 'import urllib.request as web
print(web.urlopen("http://127.0.0.1:8721").read().decode())' | grep "<title>ackclock"
echo "passed: the page"
kill -INT $!
[ $TOOK -le {limit_s} ] || {{ echo "a picture in over {limit_s} s"; exit 1; }}""".format(
    install="\n".join(
        re.findall(r"^RUN (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    ),
    limit_s=FIRST_PLOT_S,
)
BUSY = "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; "


@dataclass(frozen=True)
class Row:
    """One condition: how the tested shell is started, and in which tree."""

    title: str
    #: What the user types.
    command: str = SUBSET
    ran: str = "part"
    #: Starts the shell that runs `command`.
    before: str = ""
    #: Run by root in the new system, outside of `before`.
    prepare: str = ""
    user: bool = False
    #: An own, new tree instead of a layer over the built one.
    new: bool = False
    #: A bare system with the wheels of `make wheel`, and no tree.
    wheels: bool = False
    suite: str = SUITE


def _without(capability: str) -> Row:
    drop = f"setpriv --bounding-set=-{capability} --inh-caps=-{capability}"
    return Row(f"root without CAP_{capability.upper()}", before=drop)


def _of_wheels(title: str, suite: str) -> Row:
    title = f"{title}, from the wheels, as the Containerfile"
    return Row(title, FROM_WHEELS, "wheels", new=True, wheels=True, suite=suite)


ROWS = {
    "root": Row("root", ALL, "all", new=True),
    "user": Row("an ordinary user", DEMO_AND_TEST, "all", user=True, new=True),
    "wheels": _of_wheels("Debian 12", SUITE),
    "wheels-13": _of_wheels("Debian 13", "trixie"),
    "bpffs": Row("root, the BPF file system mounted", prepare="mount -t bpf bpf /sys/fs/bpf"),
    "no-bpffs": Row("root, the BPF file system not mounted"),
    "sys_resource": _without("sys_resource"),
    "sys_ptrace": _without("sys_ptrace"),
    "net_admin": _without("net_admin"),
    "bpf": _without("bpf"),
    "private": Row("root, under `unshare -m`", before="unshare -m"),
    "no-clang": Row(
        "an ordinary user, no clang and no libelf",
        "make build && make test PYTHON='tests/repository/test_setup.py tests/cli/test_cli.py "
        "tests/cli/test_cli_long.py tests/results/test_result.py tests/cli/test_kernel_deploy.py "
        "tests/hosts/test_testbed.py tests/studies/test_compare.py'",
        "no clang",
        user=True,
        prepare="apt-get purge -y -qq clang 'clang-[0-9]*' libelf-dev >/dev/null",
    ),
    "busy": Row("root, 8 busy processes", prepare=BUSY),
}


@dataclass
class Outcome:
    """What a row's log tells."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    #: How long each command took.
    times_s: dict[str, float] = field(default_factory=dict)
    #: When `make demo` had its first figure.
    first_figure_s: int | None = None

    @property
    def took(self) -> str:
        """As the table has it: `make demo` 2:31 (first figure 2:02), `make test` 9:40."""
        cells = []
        for number, (command, seconds) in enumerate(self.times_s.items()):
            name = f"`{command}` " if len(self.times_s) > 1 else ""
            first = None if number else self.first_figure_s
            after = "" if first is None else f" (first figure {_clock(first)})"
            cells.append(f"{name}{_clock(seconds)}{after}")
        return ", ".join(cells)


def _clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02}"


def main() -> None:
    """Runs the rows that are named, all if none is."""
    parser = argparse.ArgumentParser(prog="make test-fresh")
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)} (all)")
    names = parser.parse_args().rows or list(ROWS)
    if unknown := [name for name in names if name not in ROWS]:
        sys.exit(f"error: no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if os.geteuid() != 0:
        sys.exit("error: make test-fresh needs root: it mounts file systems and changes its root")
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: sys.exit("ended by a signal"))
    commit = _git("rev-parse", "--short", "HEAD")
    if _git("status", "--porcelain", "--untracked-files=no"):
        _say(f"what is not committed is not tested; this is commit {commit}")
    LOGS.mkdir(parents=True, exist_ok=True)
    if not any(WHEELS.glob("*.whl")) and any(ROWS[name].wheels for name in names):
        _say("make wheel: what the rows of wheels install (10 minutes)")
        subprocess.run(["make", "wheel"], cwd=ROOT, check=True)
    failed = False
    with _directory() as directory:
        built: Path | None = None
        for name in names:
            row = ROWS[name]
            system = directory / row.suite
            if not system.exists():
                _say(f"building a minimal Debian, {row.suite}")
                _bootstrap(system)
            _say(f"{name}: {row.title}")
            tree = _copy(system, directory / name) if row.new else built or _build(system)
            outcome = _run(name, row, tree, directory)
            _write(row, outcome, commit)
            failed |= bool(outcome.failed)
            if name == "root" or not row.new:
                built = tree
            else:
                _delete(tree)
    sys.exit(failed)


def _build(system: Path) -> Path:
    """A system in which root has built all and run nothing."""
    tree = _copy(system, system.with_name("built"))
    _install(tree)
    _clone(tree, ROWS["root"])
    with (LOGS / "built.log").open("w") as log:
        if _inside(tree, ROWS["root"], BUILT, log):
            sys.exit(f"error: the build fails: {log.name}")
    return tree


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    """A temporary directory; those that a killed run left are deleted, too."""
    parent = Path(os.environ.get("TMPDIR", "/var/tmp"))  # noqa: S108 (on disk, not in memory)
    for old in parent.glob(f"{PREFIX}*"):
        with (old / "lock").open("w") as lock, contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _delete(old)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    directory.chmod(0o755)
    lock = (directory / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        _delete(directory)
        lock.close()


def _delete(directory: Path) -> None:
    """Deletes a tree in which nothing is mounted: it does not leave the file system."""
    for _ in range(10):  # processes that were killed may still be ending
        command = ["rm", "-rf", "--one-file-system", str(directory)]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return
        time.sleep(1)
    sys.exit(f"error: {directory} cannot be deleted")


def _copy(system: Path, to: Path) -> Path:
    subprocess.run(["cp", "-a", "--reflink=auto", system, to], check=True)
    return to


def _bootstrap(system: Path) -> None:
    """A minimal Debian with the host's configuration of apt, pip and cargo."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    acquire = [line for line in dump.stdout.splitlines() if line.startswith("Acquire::")]
    options = system.with_name("apt.conf")
    options.write_text("\n".join(acquire) + "\n")
    command = [
        *OWN,
        "--mount-proc",
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--aptopt={options}",
        system.name,
        str(system),
        "-",
    ]
    subprocess.run(command, input=_sources(system.name), text=True, check=True)
    for hosts in (Path("/etc/pip.conf"), Path("/etc/resolv.conf"), Path("/etc/apt/auth.conf")):
        if hosts.exists():
            shutil.copy(hosts, system / hosts.relative_to("/"))
    for own in ("/etc/apt/auth.conf.d", "/usr/local/share/ca-certificates"):
        if Path(own).is_dir():
            shutil.copytree(own, system / own[1:], dirs_exist_ok=True)
    (system / "etc/hosts").write_text("127.0.0.1 localhost\n")
    subprocess.run(["useradd", "--root", system, "-m", "-s", "/bin/sh", "user"], check=True)
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for home in ("root", "home/user"):
        for config in (
            Path.home() / ".config/pip/pip.conf",
            Path.home() / ".pip/pip.conf",
            cargo / "config.toml",
        ):
            if config.exists():
                to = (
                    system
                    / home
                    / (".cargo/config.toml" if config.parent == cargo else ".config/pip/pip.conf")
                )
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(config, to)
    subprocess.run(["chroot", system, "chown", "-R", "user:", "/home/user"], check=True)


def _sources(suite: str) -> str:
    """The host's package sources of a release; Debian's own where it has none."""
    lines = []
    places = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    for place in places:
        if place.exists():
            lines += re.findall(rf"^deb .*\b{suite}.*$", place.read_text(), re.MULTILINE)
    for place in Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = re.sub(r"^#.*\n", "", place.read_text(), flags=re.MULTILINE)
        for stanza in re.split(r"\n\s*\n", text):
            fields = dict(re.findall(r"^([\w-]+):\s*(.*)$", stanza, re.MULTILINE))
            for each in fields.get("Suites", "").split():
                if each.startswith(suite) and fields.get("Enabled") != "no":
                    lines += [
                        f"deb {uri} {each} {fields['Components']}" for uri in fields["URIs"].split()
                    ]
    return (
        "\n".join(
            lines
            or [
                f"deb http://deb.debian.org/debian {suite} main",
                f"deb http://deb.debian.org/debian {suite}-updates main",
                f"deb http://deb.debian.org/debian-security {suite}-security main",
            ]
        )
        + "\n"
    )


def _environment(row: Row) -> dict[str, str]:
    """Of the host's: proxies, certificates, and what tells pip and cargo where to look."""
    wanted = re.compile(
        r"(?i).*_proxy|.*_CA_?(BUNDLE|CERTS|INFO)|SSL_CERT_.*|PIP_.*|CARGO_(HTTP|NET|REGISTR|SOURCE).*"
    )
    here = {
        name: value
        for name, value in os.environ.items()
        if wanted.fullmatch(name) and not (name == "PIP_FIND_LINKS" and value.startswith("/"))
    }
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return here | {"PATH": path, "HOME": _home(row), "LANG": "C.UTF-8", "TERM": "dumb"}


def _home(row: Row) -> str:
    return "/home/user" if row.user else "/root"


def _install(tree: Path) -> None:
    """Installs git and make, as README says; then the host's certificates take their place."""
    with (LOGS / "install.log").open("w") as log:
        _inside(tree, ROWS["root"], FIRST, log, where="/")
    _certificates(tree)


def _certificates(tree: Path) -> None:
    hosts = Path("/etc/ssl/certs/ca-certificates.crt")
    if hosts.exists():
        to = tree / hosts.relative_to("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(hosts, to)


def _clone(tree: Path, row: Row) -> None:
    if row.wheels:
        shutil.copytree(WHEELS, tree / "wheels")
        _certificates(tree)
        return
    to = tree / _home(row)[1:] / "ackclock"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, to], check=True)
    if row.user:
        subprocess.run(["chroot", tree, "chown", "-R", "user:", "/home/user"], check=True)


#: Makes of a directory, $1, what a process of a container sees; $2 names a layer over it, or is
#: empty. The rest is the command.
CONTAINER = r"""
set -eu
root=$1 layer=$2; shift 2
if [ "$layer" ]; then
	mkdir -p "$layer/upper" "$layer/work" "$layer/root"
	mount -t overlay overlay "$layer/root" \
		-o "lowerdir=$root,upperdir=$layer/upper,workdir=$layer/work"
	root=$layer/root
else
	mount --bind "$root" "$root" # as on a real machine, / is a mount point
fi
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
for node in null zero full random urandom tty net/tun; do
	[ -e "/dev/$node" ] || continue
	: >"$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for number in 0:stdin 1:stdout 2:stderr; do
	ln -s "/proc/self/fd/${number%:*}" "$root/dev/${number#*:}"
done
exec chroot "$root" /bin/sh -c "$@"
"""


def _inside(
    tree: Path, row: Row, command: str, log: TextIO, *, layer: Path | None = None, where: str = ""
) -> int:
    """Runs a shell command in the tree; its exit code. All that it started ends with it."""
    start = row.before
    if row.user:
        start += " setpriv --reuid=user --regid=user --init-groups"
    directory = where or (_home(row) if row.wheels else f"{_home(row)}/ackclock")
    # The shell stays, as process 1 with all capabilities.
    typed = f"{start} sh -c {shlex.quote(command)}\nexit $?\n"
    script = f"{row.prepare or ':'}\ncd {directory}\n{typed}"
    arguments = ["container", str(tree), str(layer or ""), script]
    log.flush()
    process = subprocess.Popen(
        [*OWN, "sh", "-c", CONTAINER, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=_environment(row),
    )
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()


def _run(name: str, row: Row, tree: Path, directory: Path) -> Outcome:
    """The row's command in its tree, or in a layer over it; the log is kept."""
    times_s: dict[str, float] = {}
    layer = None if row.new else directory / name
    path = LOGS / f"{name}.log"
    if row.new and not row.wheels:
        _install(tree)
    if row.new or row.user:
        _clone(tree, row)
    # What a user types one by one; other commands are of one shell.
    commands = row.command.split(" && ") if row.new or row.user else [row.command]
    status = 0
    with path.open("w") as log:
        for command in commands:
            started = time.monotonic()
            if row.user:
                status = _as_user(tree, row, command, layer, log)
            else:
                status = _inside(tree, row, command, log, layer=layer)
            times_s[command] = time.monotonic() - started
            if status:
                break
    if layer is not None:
        _delete(layer)
    outcome = _outcome(path.read_text(errors="replace"), status)
    outcome.times_s = times_s
    _say(
        f"{name}: {outcome.passed} passed, {sum(outcome.skipped.values())} skipped, "
        f"{len(outcome.failed)} failed ({outcome.took}; {path.relative_to(ROOT)})"
    )
    return outcome


def _as_user(tree: Path, row: Row, command: str, layer: Path | None, log: TextIO) -> int:
    """The user types a command; root types what it asks for if it is refused."""
    begin = log.tell()
    status = _inside(tree, row, command, log, layer=layer)
    asked = re.findall(r"As root type: (.*)", Path(log.name).read_text()[begin:])
    if status and asked:
        _inside(tree, ROWS["root"], asked[-1], log, layer=layer, where="/")
        status = _inside(tree, row, command, log, layer=layer)
    return status


def _outcome(log: str, status: int) -> Outcome:
    """Reads what cargo, pytest and scripts/test.sh print."""
    outcome = Outcome()
    for line in log.splitlines():
        if found := re.match(r"SKIPPED \[(\d+)\] (cargo test|[^ ]+:\d+): (.*)", line):
            number, where, reason = int(found[1]), found[2], found[3]
            outcome.skipped[reason] = outcome.skipped.get(reason, 0) + number
            # Rust counts them as passed.
            outcome.passed -= number * (where == "cargo test" and not reason.startswith("crates/"))
        elif line.startswith("passed: "):
            outcome.passed += 1
        elif found := re.match(r"test result: \w+\. (\d+) passed", line):
            outcome.passed += int(found[1])
        elif found := re.match(r"first figure after (\d+) s", line):
            outcome.first_figure_s = int(found[1])
        elif re.search(r" in \d+\.\d+s( \(.*\))?$", line):
            outcome.passed += sum(map(int, re.findall(r"(\d+) passed", line)))
        elif found := re.match(r"(?:FAILED|ERROR) (tests/\S+)|test (\S+) \.\.\. FAILED", line):
            outcome.failed.append(found[1] or found[2])
    if status and not outcome.failed:
        last = next((line for line in reversed(log.splitlines()) if line.strip()), "")
        outcome.failed.append(f"exit code {status}: {last}")
    return outcome


HEADER = "| condition | ran | passed | failed | skipped, and why | time, minutes | commit |"
RULE = "|---|---|---|---|---|---|---|"


def _write(row: Row, outcome: Outcome, commit: str) -> None:
    """Replaces the row in the table of results; the other rows stay."""
    whys = ((number, _cell(why.split(";")[0])) for why, number in outcome.skipped.items())
    skipped = "<br>".join(f"{number}: {why}" for number, why in whys)  # the log has all of it
    failed = "<br>".join(map(_cell, outcome.failed))
    cells = (row.title, row.ran, outcome.passed, failed or "none", skipped or "none")
    line = f"| {' | '.join(map(str, cells))} | {outcome.took} | {commit} |"
    lines = PAGE.read_text().splitlines()[2:] if PAGE.exists() else []
    rows = {each.split(" | ")[0][2:]: each for each in lines} | {row.title: line}
    ordered = [rows[each.title] for each in ROWS.values() if each.title in rows]
    PAGE.write_text("\n".join([HEADER, RULE, *ordered]) + "\n")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
