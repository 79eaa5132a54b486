"""Packages stand one above the other, and the tests mirror them."""

import ast
from graphlib import TopologicalSorter
from importlib import import_module

import pytest

import ackclock
from ackclock.results import result
from ackclock.store.made_by import LAYERS
from common import ROOT

PACKAGE = ROOT / "python" / "ackclock"
TESTS = ROOT / "tests"
MOST_MODULES = 12


def modules():
    """Each module's name, below `ackclock`, and its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


#: Public name → its module.
HOMES = ackclock._MODULES | ackclock._HOME
NAMES = {name for name, _ in modules()}


def imported(path):
    """The modules of the package that a file imports, at its head or in a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith("ackclock."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            if (node.module or "").split(".")[0] == "ackclock":
                yield from (f"{node.module}.{each.name}" for each in node.names)


def below(path):
    """The modules that a file imports."""
    for each in imported(path):
        of = each.removeprefix("ackclock.")
        of = HOMES.get(of, of)
        of = of if of in NAMES else of.rpartition(".")[0]
        if of in NAMES - {""}:
            yield of


def test_imports_go_down():
    inside = [(name, path) for name, path in modules() if name.split(".")[0] in LAYERS]
    assert len(inside) > 150
    up = [
        (name, of)
        for name, path in inside
        for of in below(path)
        if LAYERS.index(of.split(".")[0]) > LAYERS.index(name.split(".")[0])
    ]
    assert up == []


def test_no_circle_of_modules():
    """What people ask of a result, and others make of it, goes through its doors, in one place."""
    graph = {name: {*below(path)} - {name} for name, path in modules()}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError
    for module, function in result.DOORS.values():
        assert callable(getattr(import_module(f"ackclock.{module}"), function))
    by_name = [name for name, path in modules() if "import_module(f" in path.read_text("utf-8")]
    assert by_name == ["", "cli.main", "papers", "results.result"]


def test_every_module_is_in_a_package():
    """Only the public names and `python -m ackclock` stand at the top."""
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


@pytest.mark.parametrize("package", [each for each in LAYERS if each != "papers"])
def test_a_package_is_small(package):
    files = {path.name for path in (PACKAGE / package).glob("*.py")} - {"__init__.py"}
    assert len(files) <= MOST_MODULES


def may_be_of(path):
    """The packages whose folder a file of tests may lie in, by its name or its imports.

    Public names, which most tests run something with, and `base` say nothing; the command's tests
    may import anything.
    """
    name = path.stem.removeprefix("test_")
    if named := {of.split(".")[0] for of in NAMES if of.rpartition(".")[2] == name}:
        return named
    inside = {each.split(".")[1] for each in imported(path) if each.count(".") > 1}
    inside &= set(LAYERS) - {"base"}
    return inside | {"cli"} if inside else set(LAYERS)


def test_the_tests_mirror_the_packages():
    paths = sorted(TESTS.rglob("test_*.py"))
    assert len(paths) > 60
    assert {path.parent for path in paths} == {TESTS / each for each in (*LAYERS, "repository")}
    assert [
        path
        for path in paths
        if path.parent.name != "repository" and path.parent.name not in may_be_of(path)
    ] == []
