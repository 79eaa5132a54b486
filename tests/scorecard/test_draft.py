"""Evidence for a draft: an appendix, and an archive from which a stranger repeats it."""

import hashlib
import re
import tarfile

from ackclock import Scenario
from ackclock import run as simulate
from ackclock.hosts.work import Work
from ackclock.scorecard import data, draft, run
from ackclock.scorecard.evaluated import Request
from common import ROOT


def test_an_appendix_and_its_archive(tmp_path):
    """Each number's scenario is in the archive, and is the one whose key stands beside it."""
    found = run.evaluate(
        Request("vegas", run.chosen("R3,R12"), quick=True), Work(tmp_path / "kept")
    )
    digests = []
    for name in ("one", "two"):
        directory = tmp_path / name
        directory.mkdir()
        data.write(found, directory, command="ackclock evaluate vegas --rows R3,R12 --quick")
        draft.write(found, directory, command="ackclock evaluate vegas --rows R3,R12 --quick")
        content = (directory / draft.ARCHIVE).read_bytes()
        digests.append(hashlib.sha256(content).hexdigest())
    assert digests[0] == digests[1]
    text = (directory / draft.APPENDIX).read_text()
    assert text.startswith("# Evidence for vegas {#evidence}\n\nThis appendix")
    assert "RFC 9743, section 5.1.2" in text
    with tarfile.open(directory / draft.ARCHIVE) as archive:
        files = {each.name: archive.extractfile(each).read() for each in archive}
    assert {"evidence/card.json", "evidence/manifest.json", "evidence/rows.parquet"} <= {*files}
    lines = re.findall(r"\| (R\d+-\d+\.toml) \| (\w{12}) \|", text)
    assert len(lines) == sum(len(asked.question.numbers) for asked in found.asked)
    for name, key in lines:
        source = files[f"evidence/{name}"].decode()
        assert Scenario.from_text(source, source=name).key().startswith(key)


def test_an_archive_has_a_c_file_and_its_header(tmp_path, monkeypatch):
    """A stranger's copy is the same algorithm: a header of one's own is in the archive."""
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "mine"
    mine.mkdir()
    text = (ROOT / "algorithms" / "tcp_cubic.c").read_text()
    (mine / "my_cubic.c").write_text(text)
    header = (ROOT / "algorithms" / "include" / "cubic.h").read_text()
    changed, count = re.subn(r"= ca->origin_point \+ min\(delta.*", "= ca->origin_point;", header)
    assert count == 1
    (mine / "cubic.h").write_text(changed)
    command = "ackclock evaluate mine/my_cubic.c --rows links"
    found = run.evaluate(Request("mine/my_cubic.c", run.chosen("links")), Work(tmp_path / "kept"))
    data.write(found, tmp_path, command=command)
    draft.write(found, tmp_path, command=command)
    with tarfile.open(tmp_path / draft.ARCHIVE) as archive:
        archive.extractall(tmp_path)  # noqa: S202 (ours; Python 3.11.2 has no filter)
    there = tmp_path / "evidence"
    assert (there / "cubic.h").read_text() == changed
    text = (tmp_path / draft.APPENDIX).read_text()
    assert "\nackclock evaluate my_cubic.c --rows links\n" in text
    scenario = Scenario.from_toml(there / "links-1.toml")
    assert scenario.flows[0].algorithm == str(there / "my_cubic.c")
    point = found.asked[0].point(found.asked[0].question.numbers[0], "mine/my_cubic.c")
    original = found.asked[0].experiment.run(point, 1)
    theirs, ours = (simulate(each).manifest["trace_hash"] for each in (scenario, original))
    assert theirs == ours
    assert scenario.key() == original.key()
    assert scenario.key()[:12] in text
