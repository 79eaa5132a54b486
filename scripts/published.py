"""`published.py FOLDER` remakes docs/published-modules.csv from the files that its rows name.

FOLDER/OWNER+NAME is a clone of the repository (bare, or not), or a directory with its files. Each
file is taken at the row's commit, with what lies beside it. Two flows of it share a link for 15 s.
"""

import csv
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "published-modules.csv"
SCENARIO = ROOT / "examples" / "two_cubic.toml"
FIELDS = ("repository", "file", "settings", "commit", "sha256", "verdict", "reason")
#: What is said to all, of what to do.
ADVICE = re.compile(r"; (run, sweep|leave it out).*")


def unpack(clone: Path, commit: str, into: Path) -> None:
    """The tree of a commit; of a directory without git, its files."""
    git = next((each for each in (clone / ".git", clone) if (each / "HEAD").is_file()), None)
    if git is None:
        into.rmdir()
        into.symlink_to(clone)
        return
    command = ["git", f"--git-dir={git}", "archive", commit]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")


def judged(file: Path, settings: str) -> tuple[str, str]:
    """`runs`, or `refused`, and what was said."""
    spec = f"{file}:{settings}" if settings else str(file)
    program = str(Path(sys.executable).with_name("ackclock"))
    command = [program, "run", str(SCENARIO), "--set", "duration=15s", "--algorithm", spec]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith(("error: ", "warning: "))]
    line = " ".join(done.stderr[done.stderr.index(said[0]) :].splitlines()[:2]) if said else ""
    line = ADVICE.sub("", line.replace(str(file.parent) + "/", ""))
    text = line.partition(": ")[2].rpartition(f'"{file.name}": ')[2] or line.partition(": ")[2]
    text = re.sub(rf"^\./?{re.escape(file.name)}:? |^{re.escape(file.name)} ", "", text)
    return ("refused" if done.returncode else "runs"), text[:300].strip()


def main(folder: Path) -> None:
    with TABLE.open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    with tempfile.TemporaryDirectory() as scratch:
        for index, row in enumerate(rows):
            into = Path(scratch, row["repository"].replace("/", "+") + row["commit"][:8])
            if not into.exists():
                into.mkdir()
                unpack(folder / row["repository"].replace("/", "+"), row["commit"], into)
            file = into / row["file"]
            row["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
            row["verdict"], row["reason"] = judged(file, row["settings"])
            print(f"{index + 1}/{len(rows)}", row["verdict"], row["file"], flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as table:
        writer = csv.DictWriter(table, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
