"""Writes the table of published packetdrill scripts in docs/packet-scripts.md.

`python scripts/packetdrill_page.py CLONE` reads a clone of github.com/google/packetdrill.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from ackclock import AckclockError
from ackclock.imports import packetdrill

PAGE = Path(__file__).parents[1] / "docs" / "packet-scripts.md"
START, END = "<!-- packetdrill -->\n", "<!-- end -->\n"
FOLDERS = (
    *("cubic", "cwnd_moderation", "fast_recovery", "fast_retransmit", "limited_transmit"),
    *("sack", "slow_start", "tcp_info", "user_timeout"),
)


def row(folder: Path, seen: "hashlib._Hash") -> tuple[int, int, int]:
    """How many scripts a folder has, how many are said, and how many pass."""
    said = passed = 0
    files = sorted(folder.glob("*.pkt"))
    for file in files:
        seen.update(file.read_bytes())
        try:
            passes, _ = packetdrill.run(file)
            said, passed = said + 1, passed + passes
        except AckclockError as error:
            print(f"not said {error}")
            continue
        if not passes:
            print(f"failed {file}")
    return len(files), said, passed


def table(clone: Path) -> str:
    seen = hashlib.sha256()
    rows = {name: row(clone / "gtests/net/tcp" / name, seen) for name in FOLDERS}
    rows["all"] = (
        sum(are for are, _, _ in rows.values()),
        sum(said for _, said, _ in rows.values()),
        sum(passed for _, _, passed in rows.values()),
    )
    git = ["git", "-C", str(clone), "rev-parse", "HEAD"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    lines = [f"| {name} | {' | '.join(map(str, row))} |" for name, row in rows.items()]
    head = "| scripts of | are | said | pass |\n|---|---|---|---|"
    where = f"Commit `{commit}`, sha256 of the scripts in this order `{seen.hexdigest()}`."
    return "\n".join([head, *lines, "", where, ""])


def main(clone: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    PAGE.write_text(
        before + START + table(Path(clone)) + END + rest.partition(END)[2], encoding="utf-8"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
