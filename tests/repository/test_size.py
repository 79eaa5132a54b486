"""The product has no more lines than it needs: a ceiling for each crate and Python package.

Lines of Rust, Python and JavaScript, without blanks, comments, docstrings and tests. A change that
makes a part smaller lowers its ceiling to the count. Raising one is a line in an ADR, which says
what for.
`python tests/repository/test_size.py` prints the table of now.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
#: Folders of a crate with no product in them.
ASIDE = {"tests", "benches", "examples", "fuzz", "target"}
CEILINGS = {
    "ackclock": 100,
    "ackclock.base": 495,
    "ackclock.captures": 834,
    "ackclock.cli": 3139,
    "ackclock.draw": 1187,
    "ackclock.engine": 891,
    "ackclock.estimates": 360,
    "ackclock.explore": 1082,
    "ackclock.figures": 1586,
    "ackclock.gym": 195,
    "ackclock.hosts": 4072,
    "ackclock.imports": 1586,
    "ackclock.pages": 956,
    "ackclock.papers": 5861,
    "ackclock.programs": 217,
    "ackclock.questions": 1452,
    "ackclock.results": 2252,
    "ackclock.scenario": 990,
    "ackclock.scorecard": 1785,
    "ackclock.store": 265,
    "ackclock.studies": 1236,
    "ackclock.sweeps": 856,
    "host": 7045,
    "javascript": 3370,
    "linux": 5393,
    "measure": 1063,
    "net": 4095,
    "py": 1649,
    "py-kernel": 355,
    "py-tables": 345,
    "quic": 997,
    "resolve": 3221,
    "sim": 17693,
    "wasm": 1024,
}


def of_python(text):
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT and token.string:
            lines.update(range(token.start[0], token.end[0] + 1))
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.Expr) and isinstance(getattr(each.value, "value", None), str):
            lines.difference_update(range(each.lineno, each.end_lineno + 1))
    return len(lines)


def of_rust(text):
    text = re.sub(r"/\*.*?\*/", "", text.partition("#[cfg(test)]\nmod tests")[0], flags=re.DOTALL)
    return sum(not re.match(r"\s*(//|$)", line) for line in text.splitlines())


def modules_of_tests(path):
    """The modules of tests that a Rust file declares, without suffix."""
    folder = path.parent if path.stem in {"lib", "mod"} else path.with_suffix("")
    return {folder / name for name in re.findall(r"#\[cfg\(test\)\]\nmod (\w+);", path.read_text())}


def counts():
    """Part of the product → its lines."""
    found = Counter()
    package = ROOT / "python" / "ackclock"
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        found[f"ackclock.{parts[0]}" if parts[1:] else "ackclock"] += of_python(path.read_text())
    sources = [*(ROOT / "crates").rglob("*.rs")]
    tests = {module for path in sources for module in modules_of_tests(path)}
    for path in sources:
        crate, *parts = path.relative_to(ROOT / "crates").parts
        if not ASIDE & {*parts} and not tests & {path.with_suffix(""), *path.parents}:
            found[crate] += of_rust(path.read_text())
    # The page's scripts, without uPlot.
    scripts = (path for path in package.rglob("*.js") if path.parent.name != "uplot")
    found["javascript"] = sum(of_rust(path.read_text(encoding="utf-8")) for path in scripts)
    return found


def test_what_counts():
    assert of_python('"""Of a module."""\nx = """a\n\nb"""  # two\n\n# c\ny = f(\n    1)\n') == 5
    assert of_rust("//! a\n\nfn a() {} // b\n/* c\nd */\n#[cfg(test)]\nmod tests {\n}\n") == 1
    linux = ROOT / "crates/linux/src"
    assert modules_of_tests(linux / "testbed/mod.rs") == {linux / "testbed/packets"}
    assert modules_of_tests(linux / "emulator/network.rs") == {linux / "emulator/network/tests"}


def test_no_part_grows():
    found = counts()
    assert found.keys() == CEILINGS.keys()
    assert {part: lines for part, lines in found.items() if lines > CEILINGS[part]} == {}


if __name__ == "__main__":
    for part, lines in sorted(counts().items()):
        print(f'    "{part}": {lines},')
