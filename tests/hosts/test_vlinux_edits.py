"""What is changed in the source of Linux, found by its tokens."""

import re
import tarfile

import pytest

from ackclock import AckclockError
from ackclock.hosts.vlinux import build, edits, sources
from ackclock.hosts.vlinux.edits import EDITS, EditError
from common import ROOT

#: Series → (the release of its excerpts, changes that it needs not).
SERIES = {
    "6.12": ("6.12.117", {"net/sched/sch_dualpi2.c", "net/ipv4/tcp_output.c"}),
    "7.3": ("7.3.4", {"arch/x86/um/user-offsets.c"}),
}


@pytest.fixture(params=SERIES)
def series(request):
    return request.param


@pytest.fixture
def tree(series, tmp_path):
    """The files of a series that are changed: around each change."""
    return excerpts(series, tmp_path / f"linux-source-{series}")


def excerpts(series, into):
    text = (ROOT / "tests" / "hosts" / f"linux_{series}.txt").read_text()
    for part in text.split("\n== ")[1:]:
        name, _, content = part.partition("\n")
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(f"{content}\n")
    return into


def changed(tree):
    """File → its text with our changes."""
    edits.edit(tree)
    return {each.file: (tree / each.file).read_text() for each in EDITS if exists(tree, each)}


def exists(tree, each):
    return (tree / each.file).exists()


def seen(text):
    return " ".join(word for word, *_ in edits._code(text))


def test_every_change_fits(tree, series):
    before = {each: (tree / each.file).read_text() for each in EDITS if exists(tree, each)}
    after = changed(tree)
    unneeded = SERIES[series][1]
    assert unneeded < {each.file for each in EDITS}
    for each in EDITS:
        if each.file in unneeded:
            assert after.get(each.file) == before.get(each)
        else:
            assert seen(each.instead) in seen(after[each.file])
            assert each.made(before[each]) != before[each]


def spaced(text):
    return re.sub(r"[ \t]+", "  \t", text).replace("\n", " \n\n\t")


def commented(text):
    """A comment, which looks like code, behind each token."""
    told = " /* if (loss_event(q)) um_udelay(1); */"
    for _, _, end in reversed(list(edits._code(text))):
        text = text[:end] + told + text[end:]
    return text


def conditioned(text):
    """One more condition in each `if`, before the others and behind them."""
    code = list(edits._code(text))
    more = []
    for index, (word, *_) in enumerate(code):
        if word == "if" and code[index + 1][0] == "(":
            end = index + 1
            depth = 1
            while depth:
                end += 1
                depth += (code[end][0] == "(") - (code[end][0] == ")")
            more += [(code[index + 1][2], "likely(time) && ("), (code[end][1], ") && !later")]
    for at, words in sorted(more, reverse=True):
        text = text[:at] + words + text[at:]
    return text


def braced(text):
    """What stands behind a condition has brackets and a statement more, as in 7.3's netem."""
    return text.replace("\t++count;\n", "\t{ ++count; WRITE_ONCE(q->copies, q->copies + 1); }\n")


@pytest.mark.parametrize("otherwise", [spaced, commented, conditioned, braced])
def test_they_fit_where_the_code_around_is_written_otherwise(tree, otherwise):
    files = {each.file for each in EDITS if exists(tree, each)}
    for name in files:
        text = (tree / name).read_text()
        if "Kconfig" not in name or otherwise is spaced:  # it has other comments
            (tree / name).write_text(otherwise(text))
    needed = {each for each in EDITS if exists(tree, each)}
    needed = {each for each in needed if each.made(text := (tree / each.file).read_text()) != text}
    assert len(needed) >= 23
    after = changed(tree)
    for each in needed:
        assert seen(each.instead) in seen(after[each.file]), each


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("\tif (q->lost)\n", 0),
        ("\t/* if (loss_event(q)) */\n", 0),
        ("\tif (loss_event(q))\n" * 2, 2),
    ],
)
def test_one_that_does_not_fit_is_named(tree, series, text, times):
    netem = tree / "net/sched/sch_netem.c"
    netem.write_text(netem.read_text().replace("\tif (loss_event(q)) {\n", text))
    with pytest.raises(EditError) as caught:
        edits.edit(tree)
    assert str(caught.value).startswith(
        f"Linux {SERIES[series][0]} cannot be changed in net/sched/sch_netem.c: "
        f"loss_event ( q ) stands there {times} times, not once (What Linux draws is "
    )


@pytest.fixture
def debian(tree, series, tmp_path, monkeypatch):
    """Debian's newest has another netem; what `build` says until it would compile."""
    known = tmp_path / "known.tar.xz"
    pack(tree, known)
    (tree / "net/sched/sch_netem.c").write_text("/* written anew */\n")
    kept = tmp_path / "ackclock" / "vlinux" / "sources"
    kept.mkdir(parents=True)
    pack(tree, kept / f"linux-source-{series}.tar.xz")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "_require", lambda *_: None)
    monkeypatch.setattr(build, "TARBALL", kept / "linux-source-6.12.tar.xz")
    monkeypatch.setattr(sources, "INSTALLED", tmp_path)
    monkeypatch.setitem(sources.KNOWN, series, ("1.2-3", sources._sha256(known)))
    return kept / f"linux-source-{series}_1.2-3.tar.xz", known


def pack(tree, into):
    with tarfile.open(into, "w") as archive:  # tar reads what it finds; not each machine has xz
        archive.add(tree, tree.name)


class Reached(Exception):  # noqa: N818 (no error)
    """It would compile now."""


def test_the_way_back_is_a_source_that_is_known(debian, series):
    place, known = debian
    known.rename(place)
    said = []

    def say(line):
        said.append(line)
        if line.startswith("building"):
            raise Reached

    with pytest.raises(Reached):
        build.build(say=say, series=series)
    newest = place.with_name(f"linux-source-{series}.tar.xz")
    refused = f"Linux {SERIES[series][0]} cannot be changed in net/sched/sch_netem.c: "
    assert said[0] == f"unpacking {newest}"
    assert said[1].startswith(refused)
    assert said[2] == f"unpacking {place}"
    with pytest.raises(AckclockError, match=re.escape(refused)) as caught:  # the user's own
        build.build(say=say, source=newest)
    works = "ackclock linux build or ackclock linux build --series 7.3"
    assert str(caught.value).endswith(f"; one that works: type {works}")


def test_without_it_the_error_says_which_it_is(debian, series, monkeypatch):
    place, known = debian
    place.write_bytes(b"another")  # such a file is not taken
    monkeypatch.setenv("PATH", "/usr/bin/nowhere")
    with pytest.raises(AckclockError) as caught:
        sources.known(series, place.parent, print)
    archive = f"linux-source-{series}.tar.xz"
    assert str(caught.value) == (
        f"our changes fit Linux 1.2-3: series {series}: without apt-get it cannot be downloaded; "
        f"give its source: --source linux-{series}.tar.xz; if you have its {archive} "
        f"(sha256 {sources._sha256(known)}), type: ackclock linux build --source {archive}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("which", SERIES)
def test_what_debian_offers_today_is_built(which, machine, newer, tmp_path, monkeypatch):
    """Once for each of its versions: that of `machine` and `newer`, if it is the same."""
    assert {machine.series, newer.series} == set(SERIES)
    today = tmp_path / f"linux-source-{which}.tar.xz"
    sources._download(which, f"linux-source-{which}", today, print)
    if not (build.cache_directory() / f"{which}-{build._key(today)}" / "linux").exists():
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert build.build(source=today).release.startswith(f"{which}.")


@pytest.mark.slow
@pytest.mark.parametrize("which", SERIES)
def test_debian_offers_what_is_known(which, tmp_path):
    version, sha256 = sources.KNOWN[which]
    sources._download(which, f"linux-source-{which}={version}", tmp_path / "kept", print)
    assert sources._sha256(tmp_path / "kept") == sha256
