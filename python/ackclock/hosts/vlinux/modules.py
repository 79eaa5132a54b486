"""The algorithms of a scenario as modules of the virtual Linux.

Our own C files come with `host_module.h`. A file in the kernel's form is compiled by Linux's own
build as it is; `guest/kernel_file.c` is linked to it.
"""

import errno
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.hosts.vlinux import build
from ackclock.scenario import snapshot
from ackclock.scenario.scenario import KERNEL
from ackclock.scenario.snapshot import Algorithms

#: What UDP has.
NONE = "none"
#: A file and its text.
Source = tuple[Path, bytes]

#: cong_control as Linux had it before 6.10.
TWO_ARGUMENTS = "-DTWO_ARGUMENTS -Wno-incompatible-pointer-types"
REFUSED_TWO = re.compile(
    r"\(struct sock \*, u32, .*const struct rate_sample \*\)'.* from incompatible pointer type "
    r".*\(struct sock \*, const struct rate_sample \*\)'"
)
#: Errors of the compiler that are worth reading at once.
MOST_ERRORS = 4


@dataclass
class Module:
    """One to load."""

    #: What the kernel calls it.
    name: str
    #: The user's file, or the name of a built-in algorithm.
    file: str
    path: Path
    #: As insmod takes them.
    parameters: str
    #: The parameter at which it registers, once for each line that is written there.
    at: str
    lines: list[str] = field(default_factory=list)

    def commands(self) -> list[str]:
        """Of the guest's plan, in a directory with NAME.ko."""
        return [
            f"load {self.name}.ko {self.parameters}",
            *(f"set - {self._registers} {line}" for line in self.lines),
        ]

    @property
    def _registers(self) -> str:
        return f"/sys/module/{self.name}/parameters/{self.at}"

    def refusal(self, said: str, console: str) -> str | None:
        """Why a machine stopped, if it is for this module; `console`: what its kernel said."""
        places = rf"{self.name}\.ko|{self._registers}"
        stopped = re.search(rf"^guest: ({places}): (.*)", said, re.MULTILINE)
        if not stopped:
            return None
        own = re.search(rf"^{self.name}: (.*\S)", console, re.MULTILINE)
        why = own[1] if own else f"module_init, or Linux, refuses it: {stopped[2]}"
        named = re.sub(r"error (\d+)", lambda found: errno.errorcode[int(found[1])], why)
        return f"{self.file}: {named}"


@dataclass(frozen=True)
class Loaded:
    """The algorithms of a scenario as the machine has them."""

    #: Spec → name in the machine's kernel.
    names: dict[str, str]
    #: In order.
    modules: list[Module]
    algorithms: Algorithms


def load(built: build.Built, specs: Iterable[str]) -> Loaded:
    """Builds the modules of the algorithms. Raises `AckclockError` if one does not compile."""
    code = snapshot.current()
    names: dict[str, str] = {}
    modules: dict[object, Module] = {}
    algorithms: dict[str, dict[str, Any]] = {}
    for number, spec in enumerate(dict.fromkeys(specs), 1):
        of = code.configure(spec, as_module=True)
        algorithms[spec] = {
            key: of[key] for key in ("name", "source", "spec", "values", "fingerprint")
        }
        if spec == NONE:
            continue
        if spec.startswith(KERNEL):
            names[spec] = spec.removeprefix(KERNEL)
            continue
        names[spec] = f"ac{number}_{of['name']}"[:15]
        key: object
        found = code.kernel_module(spec)
        if found is None:
            module, words = _ours(built, code, spec, of)
            key = module.path
        else:
            sources, beside, chosen, settings = found
            key = sources[0][0], tuple(settings)
            module = modules.get(key) or _kernels(
                built, f"file{len(modules)}", of["source"], sources, beside, settings
            )
            words = [chosen] if chosen else []
        modules.setdefault(key, module).lines.append(" ".join([names[spec], *words]))
    return Loaded(names, [*modules.values()], algorithms)


def _ours(
    built: build.Built, code: _core.Snapshot, spec: str, of: dict[str, Any]
) -> tuple[Module, list[str]]:
    """An algorithm in our dialect, and its parameters."""
    sources, headers, values = code.module(spec)
    tree = _Tree.of(sources)
    files = tree.files | {name: text.encode() for name, text in headers if name.endswith(".h")}
    name = f"ackclock_{of['name']}"
    makefile = f"ccflags-y := -I$(src)/include {tree.quoted}"
    path = build.module(built, build.Parts(name, files, [tree.own], makefile))
    words = [f"{parameter}={value}" for parameter, value in values]
    return Module(name, of["source"], path, "", "add"), words


def _kernels(
    built: build.Built,
    name: str,
    file: str,
    sources: Sequence[Source],
    beside: Sequence[Path],
    settings: Sequence[tuple[str, str]],
) -> Module:
    """A file in the kernel's form; `beside`: those of its sources that may be needed, too."""
    tree = _Tree.of(sources)
    helpers = ("kernel_file.c", "kernel_file.h")
    files = tree.files | {each: (build.GUEST / each).read_bytes() for each in helpers}
    parameters = " ".join(f'"ackclock_set={name}={value}"' for name, value in settings)
    others = [tree.places[path] for path in beside]

    def parts(has_others: bool, flags: str) -> build.Parts:
        objects = [tree.own, *(others if has_others else ())]
        lines = (
            f"CFLAGS_{each.removesuffix('.c')}.o := {tree.quoted} -include $(src)/kernel_file.h"
            f"{' -DBESIDE' if each != tree.own else ''}"
            for each in objects
        )
        makefile = "\n".join([f"ccflags-y := {flags}", *lines])
        return build.Parts(name, files, [helpers[0], *objects], makefile)

    # What failed before fails again.
    ways = [(has_others, flags) for flags in ("", TWO_ARGUMENTS) for has_others in (False, True)]
    built_before = (way for way in ways if parts(*way).path(built).exists())
    has_others, flags = next(built_before, ways[0])
    while True:
        try:
            path = build.module(built, parts(has_others, flags))
        except build.MakeError as error:
            if not flags and error.errors() and not _others(error):
                flags = TWO_ARGUMENTS
            elif others and not has_others and error.undefined():
                has_others = True
            else:
                raise AckclockError(_why(error, file, tree, built.series)) from None
        else:
            return Module(name, file, path, parameters, "ackclock_add")


@dataclass(frozen=True)
class _Tree:
    """A user's file and those that it includes, in places of their own."""

    #: Place → text.
    files: dict[str, bytes]
    #: The user's path → place.
    places: dict[Path, str]
    #: The place of the file itself.
    own: str

    @classmethod
    def of(cls, sources: Sequence[Source]) -> Self:
        """`sources`: the file first. Its path may have letters that kbuild does not take."""
        directory = sources[0][0].parent
        names = {path: os.path.relpath(path, directory) for path, _ in sources[1:]}
        above = max((name.split("/").count("..") for name in names.values()), default=0)
        to = "user/" + "below/" * above
        places = {path: os.path.normpath(to + name) for path, name in names.items()}
        places[sources[0][0]] = own = f"{to}algorithm.c"
        return cls({places[path]: bytes(text) for path, text in sources}, places, own)

    @property
    def quoted(self) -> str:
        """The compiler's option for headers beside the file."""
        return f"-iquote $(src)/{os.path.dirname(self.own)}"  # noqa: PTH120

    def shown(self, line: str, file: str) -> str:
        """A compiler's message with the user's path in it."""
        for path, place in self.places.items():
            if line.startswith(f"{place}:"):
                return (file if place == self.own else str(path)) + line.removeprefix(place)
        return line


def _others(error: build.MakeError) -> list[str]:
    """What the compiler refuses besides a cong_control with two arguments."""
    return [each for each in error.errors() if not REFUSED_TWO.search(each)]


def _why(error: build.MakeError, file: str, tree: _Tree, series: str) -> str:
    """What a user's file has that Linux's build refuses."""
    errors = [tree.shown(each, file).partition(" [-W")[0] for each in _others(error)]
    if errors := [each.replace(" error: ", " ", 1) for each in errors]:
        more = [f"and {len(errors) - MOST_ERRORS} more"] if len(errors) > MOST_ERRORS else []
        return "\n".join([f"{file} does not compile:", *errors[:MOST_ERRORS], *more])
    if names := error.undefined():
        return f"{file}: Linux {series} has no {', '.join(names)} for modules"
    for line in error.lines:
        _, refused, why = line.partition("ERROR: modpost: ")
        if refused:
            return f"{file}: Linux's build refuses the module: {why}"
    return str(error)
