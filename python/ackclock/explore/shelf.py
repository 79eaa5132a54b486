"""What is kept in the results' folder: runs, figures, sweeps and scorecards, to be opened."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ackclock import Scenario
from ackclock.store import entries

#: How far below the folder it looks, and how many it lists.
MOST_DEPTH = 4
MOST_LISTED = 300
#: File of a directory → what the directory is. The first that is there decides.
KINDS = {
    "card.json": "scorecard",
    "attack.json": "attack",
    "samples.parquet": "run",
    "claims.parquet": "report",
    "sweep.png": "sweep",
    "sweep.parquet": "sweep",
    "rows.parquet": "sweep",
    "index.html": "page",
}
#: What shows a directory: the first that is there.
PAGES = ("index.html", "sweep.png", "overview.png", "attack.png")
#: What a browser is shown of a kept directory. Anything else is not served.
SERVED = {
    ".html": "text/html; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".toml": "text/plain; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".parquet": "application/octet-stream",
}


def listed(folder: Path) -> list[dict[str, Any]]:
    """What is kept, the newest first: path, kind, when it was written, page to show, scenario."""
    found = []
    for directory, files in _directories(folder):
        kind = next((what for file, what in KINDS.items() if file in files), None)
        if kind is None:
            continue
        page = next((file for file in PAGES if file in files), None)
        try:
            written_s = directory.stat().st_mtime
        except OSError:  # it has been removed, or renamed, since the look into its parent
            continue
        path = str(directory.relative_to(folder))
        shown = os.fsencode(path).decode(errors="backslashreplace")
        if shown != path:  # bytes that are no text: no address leads there
            path, kind, page = shown, f"{kind} to rename", None
        found.append({"path": path, "kind": kind, "written_s": written_s, "page": page})
    found.sort(key=lambda each: -float(str(each["written_s"])))
    newest = found[:MOST_LISTED]
    for each in newest:
        if each["kind"] == "run":
            each.update(_told(folder / str(each["path"])))
    return newest


def _told(directory: Path) -> dict[str, Any]:
    """The scenario of a kept run, and whether it counts; none if its manifest does not tell."""
    try:
        manifest = entries.read_manifest(directory)
        Scenario.parse(manifest["scenario"])
        is_valid = manifest.get("certificate", {"valid": True})["valid"] is True
        return {"scenario": manifest["scenario"], "valid": is_valid}
    except (OSError, ValueError, TypeError, KeyError):
        return {"scenario": None, "valid": True}


def _directories(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    for path, inner, files in os.walk(folder):
        directory = Path(path)
        depth = len(directory.relative_to(folder).parts)
        inner[:] = [] if depth == MOST_DEPTH else [each for each in inner if each[0] != "."]
        yield directory, set(files)


def inside(folder: Path, path: str) -> Path | None:
    """The file or directory with this path in the folder; None if it is not in there.

    Links are followed first: one that leads out of the folder is out of the folder.
    """
    if "\0" in path:
        return None
    try:
        root, found = folder.resolve(), (folder / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    hidden = any(part.startswith(".") for part in found.parts[len(root.parts) :])
    return found if found.is_relative_to(root) and not hidden else None
