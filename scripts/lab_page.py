"""Writes the live page as files: it needs no server but one of files, and runs in the browser.

`make lab` writes it to out/lab, `make site` below `lab/` of the site.
"""

import base64
import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from ackclock import Scenario, _core
from ackclock.draw.html import STATIC
from ackclock.explore import about, figures
from ackclock.explore.runs import MOST_FLOWS
from ackclock.hosts.threads import LOCAL
from ackclock.scenario import skeleton
from ackclock.scenario.scenario import name_in

#: Loads the page's files into the browser's cache, and answers from it: the page works offline.
OFFLINE = Path(__file__).with_name("lab_offline.js")


#: What `make site` and `make test-slow` fetch (scripts/clang.sh).
CLANG = Path(sys.prefix, "clang")

#: A browser loads no module from a file: this stays in view where the page's script does not run.
UNSTARTED = """<p id="unstarted" class="problem">This page needs a file server: run
<code>python3 -m http.server</code> in its folder, and open http://localhost:8000</p>
"""
#: What the page may load: its own files, and the style of a scorecard, which inherits the policy.
#: A worker has the policy of its own answer, which a server sends; in Firefox this one, too. So
#: the simulator and compiled C files need 'wasm-unsafe-eval'.
CSP = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'sha256-{digest}'; "
    "img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)


def write(directory: Path) -> None:
    """Writes the page, what it is told at its start, and the C files that it shows.

    With a C compiler for C files of one's own, where one was fetched; with scorecards and attacks
    where `lab_judges` has written what they need.
    """
    shutil.copytree(STATIC, directory / "static", dirs_exist_ok=True)
    (directory / "static" / "index.html").unlink()
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    page = page.replace('<html lang="en">', '<html lang="en" data-side="lab">')
    page = page.replace("<main>", f"<main>{UNSTARTED}")
    digest = hashlib.sha256((STATIC / "ackclock.css").read_bytes()).digest()
    policy = CSP.format(digest=base64.b64encode(digest).decode())
    page = page.replace(
        "<meta name",
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<meta name',
        1,
    )
    (directory / "index.html").write_text(page, encoding="utf-8")
    compiler = [path for path in CLANG.glob("*") if path.suffix not in {".wasm", ".tar"}]
    for path in compiler:
        (directory / "clang").mkdir(exist_ok=True)
        shutil.copy(path, directory / "clang")
    told = about.without_server() | {
        "clang_bytes": sum(path.stat().st_size for path in compiler),
        "judges": (directory / "scorecard.json").exists(),
    }
    for name, what in {"about": told, "figures": figures.told()}.items():
        text = json.dumps(what, separators=(",", ":"))
        (directory / f"{name}.json").write_text(text, encoding="utf-8")
    algorithms = directory / "algorithms"
    algorithms.mkdir(exist_ok=True)
    for each in told["algorithms"]:
        path = algorithms / f"{each['name']}.c"
        path.write_text(skeleton.source(each["name"]), encoding="utf-8")
    (directory / "offline.js").write_text(_offline(directory), encoding="utf-8")


def link(*runs: tuple[Scenario, str]) -> str | None:
    """The address of runs with their titles below the page's own, as `link.js` packs it.

    None where the page does not run them: with files or QUIC stacks, or more flows than it draws.
    """
    if not all(_can_run(scenario) for scenario, _ in runs):
        return None
    sources = [
        {"toml": scenario.to_toml(), "files": {}, "title": title, "on": LOCAL.name}
        for scenario, title in runs
    ]
    packed = base64.urlsafe_b64encode(json.dumps(sources).encode()).decode().rstrip("=")
    return f"index.html#{packed}"


def _can_run(scenario: Scenario) -> bool:
    every: tuple[Any, ...] = (*scenario.flows, *scenario.sessions)
    known = {each["name"] for each in _core.algorithms()}

    def can_send(each: Any) -> bool:
        stack = getattr(each, "stack", None)
        return stack == "udp" or (not stack and name_in(each.algorithm) in known)

    return (
        sum(each.count for each in scenario.flows) <= MOST_FLOWS
        and all(map(can_send, every))
        and not any(
            each and (each.trace or each.timeline)
            for each in (scenario.bottleneck, *scenario.links)
        )
    )


def add_to_report(report: Path) -> None:
    """Adds to the links of each figure in a report one to its runs in the lab beside it."""
    for figure in figures.told():
        paper, name = figure["name"].split("/")
        page = report / f"{paper}.html"
        if not page.exists():
            continue
        runs = [
            (Scenario.from_text(each["toml"], source=""), each["title"]) for each in figure["runs"]
        ]
        section = rf'(<section id="{re.escape(name)}"[^>]*>.*?<p class="links">)'
        added = rf'\g<1><a href="../lab/{link(*runs)}">Open in the lab</a> '
        text = page.read_text(encoding="utf-8")
        text = re.sub(section, added, text, count=1, flags=re.DOTALL)
        page.write_text(text, encoding="utf-8")


def _offline(directory: Path) -> str:
    """The service worker: which files the page has, under a name that changes with them."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    files = {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}
    files.pop("offline.js", None)  # of an earlier build
    digest = hashlib.blake2b(digest_size=8)
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    text = OFFLINE.read_text(encoding="utf-8")
    # The C compiler is kept when it was used.
    names = json.dumps(["./", *(name for name in files if not name.startswith("clang/"))], indent=1)
    return text.replace("NAMES", names).replace("VERSION", digest.hexdigest())


if __name__ == "__main__":
    import lab_judges

    written = Path(sys.argv[1])
    lab_judges.write(written)
    write(written)
    print(f"written: {written}; type python3 -m http.server -d {written}")
    print("and open http://localhost:8000")
