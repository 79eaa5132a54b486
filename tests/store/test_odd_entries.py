"""What lies among the kept runs and is none, or holds what no run wrote."""

import copy
import json
import os
import shutil
import signal
import socket
from contextlib import suppress

import pytest

from ackclock import AckclockError, Result, run, tables
from ackclock.explore import shelf, worker
from ackclock.explore.runs import Runs
from ackclock.results import summary
from ackclock.results.result import MANIFEST
from ackclock.store import entries

#: None of them is right for more than a few fields.
VALUES = [None, [], {}, "x\x1b[2J", -1, 1.5, 0, 2**70, [None], [{}], {"x": {"y": [1]}}]


@pytest.fixture
def folder(small, tmp_path):
    """A results folder with a run."""
    run(small).save(tmp_path / "good")
    return tmp_path


@pytest.fixture(autouse=True)
def _ends():
    """What never ends fails."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def paths(value, path=()):
    """The way to each value in a JSON value."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from paths(each, (*path, key))


def with_value(manifest, path, value):
    changed = copy.deepcopy(manifest)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def try_fields(folder, values_of):
    """How many of the changed manifests are no result; all that reads another takes it."""
    good = Result.load(folder / "good")
    frames = {table: getattr(good, table) for table in tables.TABLES}
    odd, refusals = folder / "odd", 0
    shutil.copytree(folder / "good", odd)
    for number, path in enumerate(paths(good.manifest)):
        for value in values_of(number):
            entries.write_tables(odd, frames, with_value(good.manifest, path, value))
            assert {each["path"] for each in shelf.listed(folder)} == {"good", "odd"}
            try:
                result = Result.load(odd)
            except AckclockError:
                refusals += 1
                continue
            with suppress(AckclockError):  # its scenario is none
                json.dumps(summary.json_ready(summary.summarise(result)))
            worker.about(result.manifest)
    return refusals


def test_a_field_of_a_manifest_may_hold_anything(folder):
    assert try_fields(folder, lambda number: [VALUES[number % len(VALUES)]]) > 10


@pytest.mark.slow
def test_each_field_of_a_manifest_may_hold_anything(folder):
    assert try_fields(folder, lambda _: VALUES) > 200


def special(kind, path):
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a directory":
        path.mkdir()
    elif kind == "a socket":
        os.chdir(path.parent)  # its address is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    else:
        path.symlink_to({"a loop": path.name, "an endless device": "/dev/zero"}[kind])


@pytest.mark.parametrize("name", [MANIFEST, "samples.parquet"])
@pytest.mark.parametrize(
    "kind", ["a pipe", "a directory", "a socket", "a loop", "an endless device"]
)
def test_what_is_no_file_is_not_read(folder, monkeypatch, name, kind):
    monkeypatch.chdir(folder)
    shutil.copytree("good", "odd")
    (folder / "odd" / name).unlink()
    special(kind, folder / "odd" / name)
    listed = {each["path"]: each for each in shelf.listed(folder)}
    assert listed.keys() >= {"good"}
    if name == MANIFEST:
        assert listed["odd"]["scenario"] is None
        with pytest.raises(AckclockError, match="odd: not a result"):
            Runs(folder).open(folder / "odd", "")
    with pytest.raises(AckclockError, match=r"not a result of `ackclock run -o`: [^\n]+$"):
        Result.load(folder / "odd")


def test_a_manifest_is_not_endless(folder):
    shutil.copytree(folder / "good", folder / "odd")
    (folder / "odd" / MANIFEST).open("ab").truncate(entries.MOST_MANIFEST_BYTES + 1)
    with pytest.raises(AckclockError, match="268435457 bytes"):
        Result.load(folder / "odd")
    assert [each["scenario"] is None for each in shelf.listed(folder)].count(True) == 1
