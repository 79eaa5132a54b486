"""Scenarios that a page offers: `ackclock run FILE` takes each as it is, from any directory.

A scenario names its C files and traces by their path. Beside an offered scenario lies a copy of
each, under the name that the scenario then has.
"""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from ackclock.base.errors import AckclockError
from ackclock.figures.experiment import Experiment
from ackclock.figures.reproduce import Reproduced
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import Scenario
from ackclock.store.entries import write_csv, write_parquet

#: The files of the scenarios of each experiment, in the order of its rows.
Files = Mapping[Experiment, Sequence[str]]

#: What includes a file of the user's own.
_INCLUDE = re.compile(rb'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', re.MULTILINE)


class Offered:
    """The scenarios that a directory offers. A file that several of them need is there once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        #: Real path of a file → the name of its copy.
        self._names: dict[str, str] = {}

    def write_rows(self, figure: Reproduced) -> tuple[list[str], Files]:
        """Writes the rows of each experiment as Parquet and CSV, and a scenario for each of them.

        Returns the names of the tables, and those of the scenarios.
        """
        names, files = [], {}
        for experiment, runs in figure.rows.items():
            end = f"-{experiment.name.replace(' ', '-')}" if len(figure.rows) > 1 else ""
            stem = f"{figure.named.file_name}{end}"
            scenarios = [scenario for _, _, scenario in figure.repeats[experiment]]
            files[experiment] = self.write(stem, scenarios)
            table = runs.table.with_columns(scenario=pl.Series(files[experiment], dtype=pl.String))
            write_parquet(table, self.directory / f"{stem}.parquet")
            lists = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
            flat = table.with_columns(
                pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists
            )
            write_csv(flat, self.directory / f"{stem}.csv")
            names += [f"{stem}.parquet", f"{stem}.csv"]
        return names, files

    def write(self, stem: str, scenarios: Sequence[Scenario]) -> list[str]:
        """Writes a file for each scenario, STEM-01.toml and so on; their names."""
        digits = len(str(len(scenarios)))
        names = [f"{stem}-{number:0{digits}}.toml" for number in range(1, len(scenarios) + 1)]
        for name, scenario in zip(names, scenarios, strict=True):
            (self.directory / name).write_text(self.beside(scenario).to_toml(), encoding="utf-8")
        return names

    def beside(self, scenario: Scenario) -> Scenario:
        """The scenario as a file in this directory has it, where its own files then lie.

        Raises `AckclockError` if an algorithm does not load.
        """
        with snapshot.held():
            return scenario.with_files(self.c_file, self._of_link)

    def c_file(self, path: str) -> str:
        """The name of the copy of a C file; copies it, and what it includes.

        Raises `AckclockError` if it neither loads nor is in the kernel's form.
        """
        if (real := os.path.realpath(path)) not in self._names:
            try:
                snapshot.current().configure(path)
                _, sources = snapshot.seen().files[path]
            except AckclockError:  # only Linux may take it
                module = snapshot.current().kernel_module(path)
                if module is None:
                    raise
                sources = module[0]
            self._source(real, {os.path.realpath(each): text for each, text in sources})
        return self._names[real]

    def _source(self, real: str, sources: dict[str, bytes]) -> str:
        """Copies a C file, and what it includes, under names without a directory."""
        if real in self._names:
            return self._names[real]
        name = self._names[real] = self._free(Path(real).name)

        def flat(found: re.Match[bytes]) -> bytes:
            header = os.path.realpath(Path(real).parent / os.fsdecode(found[2]))
            if header not in sources:  # one of ours
                return found[0]
            return found[1] + b'"' + self._source(header, sources).encode() + b'"'

        (self.directory / name).write_bytes(_INCLUDE.sub(flat, sources[real]))
        return name

    def _of_link(self, key: str, path: str) -> str:
        if (real := os.path.realpath(path)) not in self._names:
            name = Path(real).name
            if key == "trace":
                times = snapshot.current().trace(path)
                content = ("\n".join(map(str, times)) + "\n").encode()
                name = f"{name.removesuffix('.trace')}.trace"
            else:
                content = Path(real).read_bytes()
            name = self._names[real] = self._free(name)
            (self.directory / name).write_bytes(content)
        return self._names[real]

    def _free(self, name: str) -> str:
        """A name that no other file has there."""
        plain = Path(re.sub(r"[^\w.-]", "-", name).lstrip("."))
        for number in itertools.count(1):
            free = f"{plain.stem}-{number}{plain.suffix}" if number > 1 else str(plain)
            if free not in self._names.values():
                return free
        raise AssertionError("numbers do not end")
