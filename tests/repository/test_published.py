"""The table of published modules, and the script that makes it."""

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import published  # noqa: E402


def test_each_row_has_its_commit_hash_and_reason():
    with published.TABLE.open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert sum(row["verdict"] == "runs" for row in rows) >= 25
    for row in rows:
        assert len(row["sha256"]) == 64
        assert row["commit"]
        assert row["verdict"] == "runs" or (row["verdict"] == "refused" and row["reason"])


def test_a_table_is_made_again(tmp_path, monkeypatch):
    ours = tmp_path / "our+words"
    ours.mkdir()
    modules = ROOT / "crates" / "host" / "tests" / "modules"
    (ours / "history.c").write_bytes((modules / "history.c").read_bytes())
    (ours / "other.c").write_text("#include <net/tcp.h>\nint f(void) { return no_such_name; }\n")
    table = tmp_path / "table.csv"
    monkeypatch.setattr(published, "TABLE", table)
    rows = [",".join(published.FIELDS), "our/words,history.c,,v1,,,", "our/words,other.c,,v1,,,"]
    table.write_text("\n".join(rows) + "\n")
    published.main(tmp_path)
    with table.open(newline="", encoding="utf-8") as made:
        first, second = csv.DictReader(made)
    assert (first["verdict"], first["reason"], len(first["sha256"])) == ("runs", "", 64)
    assert second["verdict"] == "refused"
    assert second["reason"].endswith("does not serve: no_such_name (other.c:2)")
