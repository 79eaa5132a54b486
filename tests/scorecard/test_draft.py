"""Evidence for a draft: an appendix, and an archive from which a stranger repeats it."""

import hashlib
import re
import tarfile

from ackclock import Scenario
from ackclock.scorecard import data, draft, run


def test_an_appendix_and_its_archive(tmp_path):
    """Each number's scenario is in the archive, and is the one whose key stands beside it."""
    found = run.evaluate("vegas", run.chosen("R3,R12"), quick=True, cache=tmp_path / "kept")
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
