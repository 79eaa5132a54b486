"""Whether two directories of `ackclock reproduce all --quick` have the same figures.

`python scripts/same_figures.py BEFORE AFTER` prints each file that differs or that one of the two
lacks, and ends with 1 if there is one. Text and tables are equal to the digit, pictures pixel by
pixel. The source of the figures, the commit and how long it took may differ.
"""

import re
import sys
from pathlib import Path

import polars as pl
from matplotlib.image import imread

#: What the figures do not rest on: version and commit, time, and the keys of runs.
ASIDE = re.compile(
    r"[\d.]+\+\w+(, commit [^.]*)?|they took \d+ s of processor time|\"[0-9a-f]{32}\""
)
#: Columns of the rows that differ from run to run.
TIMES = ("cpu_time_s", "cpu_time_s__bound")


def content(path: Path) -> object:
    """What must be equal."""
    match path.suffix:
        case ".parquet":
            return repr(pl.read_parquet(path).drop(TIMES, strict=False).to_dict(as_series=False))
        case ".csv":
            return pl.read_csv(path, infer_schema=False).drop(TIMES, strict=False).rows()
        case ".png":
            return imread(path).tobytes()
    return ASIDE.sub("", path.read_text(encoding="utf-8"))


def differing(before: Path, after: Path) -> list[str]:
    """The files that are not the same in both."""
    both = [{str(path.relative_to(of)) for path in of.rglob("*") if path.is_file()}
            for of in (before, after)]  # fmt: skip
    found = [
        name
        for name in both[0] & both[1]
        if not name.endswith("-source.html") and content(before / name) != content(after / name)
    ]
    return sorted([*found, *(both[0] ^ both[1])])


if __name__ == "__main__":
    found = differing(*map(Path, sys.argv[1:3]))
    print(*found, sep="\n")
    sys.exit(bool(found))
