"""What other systems read of this repository says what the project says."""

import json
import re
import tomllib

import yaml

from common import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_citation_and_zenodo():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    for key in ("title", "version", "keywords"):
        assert zenodo[key] == cff[key]
    assert cff["version"] == PROJECT["version"]
    assert zenodo["description"] == cff["abstract"]
    assert [each["name"] for each in zenodo["creators"]] == [
        each["name"] for each in cff["authors"]
    ]
    assert set(cff["license"]) == set(re.findall(r"[\w.-]+-[\w.-]+|MIT", PROJECT["license"]))
    papers = {path.parent.name for path in (ROOT / "python/ackclock/papers").glob("*/__init__.py")}
    repeated = {re.search(r"as (\w+)\.", each["notes"])[1] for each in cff["references"]}
    assert repeated == papers - {"standards"}


def test_conda():
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    names = [
        each.replace("matplotlib-base", "matplotlib") for each in recipe["requirements"]["run"]
    ]
    python, *packages = [each.replace(" ", "") for each in names]
    assert python == "python" + PROJECT["requires-python"]
    assert packages == PROJECT["dependencies"]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {each.replace(" ", "") for each in recipe["requirements"]["host"][2:]} == {*build}
    entry = recipe["build"]["python"]["entry_points"]
    assert entry == [f"{name} = {where}" for name, where in PROJECT["scripts"].items()]


def test_the_container_of_editors_is_built_by_make():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    program, target = container["postCreateCommand"].split()
    assert program == "make"
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
