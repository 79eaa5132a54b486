"""The first kernel whose run of a scenario differs."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from ackclock import AckclockError, Bottleneck, Flow, Scenario, vlinux
from ackclock.hosts.vlinux import build
from ackclock.studies import bisect

SHORT = Scenario(
    duration="1s",
    rtt="20ms",
    bottleneck=Bottleneck(rate="10mbit", buffer="20packets"),
    flows=(Flow(algorithm="kernel:cubic"),),
)
#: Files that the virtual Linux is not made of, nor its configuration: most of the tree.
LEFT_OUT = (
    "*.rst", "*.dts", "*.dtsi", "*/Documentation/*.yaml", "*/tools/testing/*", "*/tools/perf/*",
    *(
        f"*/{each}/*.[chS]"
        for each in (
            "arch/a[lr]*", "arch/[chlmnoprs]*", "arch/xtensa", "drivers/[ad-hj-mo-su]*",
            "drivers/net/[adepw]*", "drivers/i[nis]*", "drivers/[tv][ahi]*", "sound",
        )
    ),
)  # fmt: skip
CUBIC = "net/ipv4/tcp_cubic.c"
#: Five small commits: file, its text, what stands there instead.
COMMITS = (
    ("net/ipv4/tcp_vegas.c", "static int alpha = 2;", "static int alpha = 3;"),
    ("net/ipv4/tcp_htcp.c", "static int use_rtt_scaling __read_mostly = 1;",
     "static int use_rtt_scaling __read_mostly = 0;"),
    (CUBIC, "static int beta __read_mostly = 717;", "static int beta __read_mostly = 600;"),
    ("net/ipv4/tcp_illinois.c", "#define ALPHA_BASE\tALPHA_SCALE",
     "#define ALPHA_BASE\t(ALPHA_SCALE)"),
    ("net/ipv4/tcp_yeah.c", "#define TCP_YEAH_ALPHA       80", "#define TCP_YEAH_ALPHA       81"),
)  # fmt: skip


def git(tree, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0")
    done = subprocess.run(
        ["git", "-C", tree, *identity, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


def repository(tree):
    """An empty git repository with a commit."""
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    (tree / "a").write_text("a")
    git(tree, "add", "a")
    git(tree, "commit", "-q", "-m", "A start")
    return tree


def test_what_is_no_tree_or_no_commit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(AckclockError, match=r"--tree .*nothing: no git tree"):
        bisect.Commits(tmp_path / "nothing", "A", "B")
    tree = repository(tmp_path / "tree")
    with pytest.raises(AckclockError, match=r"--bad nowhere: .*tree has no such commit"):
        bisect.Commits(tree, "main", "nowhere")
    with pytest.raises(AckclockError, match="the bad one does not come after the good one"):
        bisect.Commits(tree, "main", "main")
    with pytest.raises(AckclockError, match=r"type: ackclock linux build$"):
        bisect.Series("6.12", "7.3")
    with pytest.raises(AckclockError, match=r"series six: write a version"):
        bisect.Series("six", "7.3")


def test_what_a_search_runs(tmp_path, monkeypatch):
    """Both ends, and then the middle of what is left; what was run is kept."""
    runs = []

    class Kernels:
        names = tuple("abcdefghi")

    def run(scenario, kernels, cache, progress, place):  # noqa: ARG001
        runs.append(place)
        return SimpleNamespace(place=place, manifest={}), place

    def between(scenario, packets, manifests):  # noqa: ARG001
        return SimpleNamespace(first=(*packets.values(),))

    monkeypatch.setattr(bisect, "_run", run)
    monkeypatch.setattr(bisect, "_same", lambda one, other: (one.place < 6) == (other.place < 6))
    monkeypatch.setattr(bisect.diverge, "between", between)
    said = []
    found = bisect.bisect(SHORT, Kernels(), cache=tmp_path, say=said.append)
    assert runs == [0, 8, 4, 6, 5]
    assert (found.before, found.first, found.other.place) == ("f", "g", 6)
    assert found.packet == (5, 6), "of the last that is equal, and of the first that is not"
    assert said[2:] == ["equal: e (3 left)", "differs: g (1 left)", "equal: f (0 left)"]


@pytest.mark.slow
@pytest.mark.usefixtures("machine", "newer")
def test_the_packet_that_a_newer_kernel_sends_otherwise(ackclock, tmp_path):
    """Linux 7.3 acknowledges earlier after a loss; a run kept without packets is made anew."""
    (tmp_path / "s.toml").write_text(SHORT.to_toml(), encoding="utf-8")
    ends = [bisect.Series("6.12", "7.3").version(place) for place in (0, -1)]
    kept = vlinux.run(SHORT).save(tmp_path / ".ackclock" / SHORT.key(ends[0]))
    command = ("linux", "bisect", "s.toml", "--good", "6.12", "--bad", "7.3")
    done = ackclock(*command)
    *_, last = done.stdout.splitlines()
    assert last.startswith("the first packet that differs: flow 1, after "), done.stdout
    assert " ms | first: ACK " in last
    assert (kept / "packets.parquet").exists()


@pytest.mark.slow
def test_the_commit_that_changes_cubic(machine, ackclock, tmp_path):
    """Six commits of the source of Linux 6.12: four builds of a file or two, and nothing left."""
    assert (machine.directory / "objects.tar").exists(), "a build keeps what others begin with"
    tree = tmp_path / "linux"
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    left_out = [f"--exclude={each}" for each in LEFT_OUT]
    command = ["tar", "-C", tree, "--strip-components=1", *left_out, "-xf", build.TARBALL]
    subprocess.run(command, check=True)
    git(tree, "add", "-A", "-f")
    git(tree, "commit", "-q", "-m", "Linux")
    for number, (name, text, instead) in enumerate(COMMITS, 1):
        file = tree / name
        before = file.read_text()
        assert before.count(text) == 1, name
        file.write_text(before.replace(text, instead))
        git(tree, "commit", "-q", "-a", "-m", f"Change {number}")
    files = {path for path in Path(tree, ".git").rglob("*") if path.is_file()}
    (tmp_path / "s.toml").write_text(SHORT.to_toml(), encoding="utf-8")
    command = ("linux", "bisect", "s.toml", "--tree", tree, "--good", "main~5", "--bad", "main")
    done = ackclock(*command)
    assert "the first that differs: " in done.stdout, done.stderr
    first = done.stdout.split("the first that differs: ")[1].splitlines()[0]
    assert first.split()[1:] == ["Change", "3"]
    assert "Change 2" in done.stdout.split("the last that is equal: ")[1]
    assert {path for path in Path(tree, ".git").rglob("*") if path.is_file()} == files
    assert git(tree, "status", "--porcelain") == ""
    # Each run is kept.
    again = ackclock(*command, env={"PATH": "/nowhere:/usr/bin"})
    assert again.stdout == done.stdout
