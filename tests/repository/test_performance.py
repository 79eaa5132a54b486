"""docs/performance.md and ADR 17 say what `make bench-counts` counted."""

import json
import re

from common import ROOT


def test_the_documents_have_the_counts_of_the_file():
    """Instructions a packet, of each scenario: rounded."""
    file = ROOT / "crates/sim/benches/throughput/instructions.json"
    (counts,) = json.loads(file.read_text("utf-8")).values()
    page = (ROOT / "docs/performance.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| \d+ \| [\d.]+ M \| (\d+) \|", page, re.MULTILINE)
    assert {name: int(count) for name, count in rows} == {
        name: round(count) for name, count in counts.items()
    }
    (adr,) = (ROOT / "docs/adr").glob("0017-*.md")
    (said,) = re.findall(r"1164 instructions a packet, with them (\d+)", adr.read_text("utf-8"))
    assert int(said) == round(counts["demo_cubic"])
