"""The product has no more lines than it needs: a ceiling for each crate and Python package.

Lines of Rust and Python, without blanks, comments, docstrings and tests. A change that makes a part
smaller lowers its ceiling to the count. Raising one is a line in an ADR, which says what for.
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
    "ackclock": 95,
    "ackclock.base": 427,
    "ackclock.cli": 2867,
    "ackclock.draw": 1238,
    "ackclock.estimates": 339,
    "ackclock.explore": 1226,
    "ackclock.figures": 1519,
    "ackclock.hosts": 3401,
    "ackclock.imports": 1103,
    "ackclock.pages": 950,
    "ackclock.papers": 4738,
    "ackclock.programs": 188,
    "ackclock.questions": 1516,
    "ackclock.results": 2210,
    "ackclock.scenario": 929,
    "ackclock.scorecard": 1828,
    "ackclock.store": 250,
    "ackclock.studies": 1022,
    "ackclock.sweeps": 856,
    "host": 5528,
    "linux": 6585,
    "measure": 1063,
    "net": 4114,
    "py": 1060,
    "py-kernel": 355,
    "py-tables": 341,
    "quic": 997,
    "resolve": 3121,
    "sim": 15571,
    "wasm": 588,
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


def counts():
    """Part of the product → its lines."""
    found = Counter()
    package = ROOT / "python" / "ackclock"
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        found[f"ackclock.{parts[0]}" if parts[1:] else "ackclock"] += of_python(path.read_text())
    for path in (ROOT / "crates").rglob("*.rs"):
        crate, *parts = path.relative_to(ROOT / "crates").parts
        if not ASIDE & {*parts}:
            found[crate] += of_rust(path.read_text())
    return found


def test_what_counts():
    assert of_python('"""Of a module."""\nx = """a\n\nb"""  # two\n\n# c\ny = f(\n    1)\n') == 5
    assert of_rust("//! a\n\nfn a() {} // b\n/* c\nd */\n#[cfg(test)]\nmod tests {\n}\n") == 1


def test_no_part_grows():
    found = counts()
    assert found.keys() == CEILINGS.keys()
    assert {part: lines for part, lines in found.items() if lines > CEILINGS[part]} == {}


if __name__ == "__main__":
    for part, lines in sorted(counts().items()):
        print(f'    "{part}": {lines},')
