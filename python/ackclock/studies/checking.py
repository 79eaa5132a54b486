"""`ackclock check`: what the hosts would refuse in a C file, as far as can be told here.

The simulator's compiler looks at it first, then the one for BPF. The code for BPF is read for what
a verifier refuses, and with root the kernel's own verifier judges it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ackclock import _core
from ackclock.base import chosen, kernel_part
from ackclock.base.errors import AckclockError
from ackclock.studies.targets import lines_of_one

#: What an error without a line names.
_NAMES = (
    r"variables outside the socket \((.*?)\), which",
    r" calls (.*?), which the kernel",
    r" \(it needs (\w+)\)",
)
#: A word of C, or what has no word in it: a comment, a text.
_WORD = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*""", re.DOTALL)


#: Of --fuzz: a second or two.
CONNECTIONS = 1000


@dataclass
class Checked:
    """What was found in a file."""

    file: str
    #: "ackclock" or "kernel": whose form it has; "" where it does not compile.
    form: str = ""
    #: `my_cc.c:12: what, and the fix`.
    problems: list[str] = field(default_factory=list)
    #: The same of what the simulator and Linux do not both get; it is no problem of one of them.
    warnings: list[str] = field(default_factory=list)
    #: Host → what it says.
    hosts: dict[str, str] = field(default_factory=dict)


def check(spec: str, *, fuzz: bool = False) -> Checked:
    """Asks both compilers and, with root, the verifier. `spec` is a C file, with settings or not.

    `fuzz`: also calls its hooks, as a kernel may, where C's undefined behaviour is found.

    Raises `AckclockError` if it is no file, or there is no compiler.
    """
    checked = Checked(spec)
    try:
        shown = _core.configure(spec)
    except AckclockError as error:
        if str(error).startswith(
            "cannot compile "
        ):  # no compiler, or no room: no fault of the file
            raise
        checked.problems = problems_of(str(error), spec)
        checked.hosts["simulator"] = "refuses it"
        return checked
    if not shown["source"]:
        raise AckclockError(
            f"{spec}: has no file here; give a C file of your own, such as ./my_cc.c"
        )
    if shown["source"].startswith("algorithms/") and not spec.startswith("algorithms/"):
        raise AckclockError(f"{spec}: is built in; give a C file of your own, such as ./my_cc.c")
    checked.hosts["simulator"] = f"compiles it: {shown['name']}"
    checked.form = "kernel" if is_kernel_form(Path(shown["source"])) else "ackclock"
    checked.warnings = lines_of_one(spec)
    checked.hosts["its process"] = _core.confinement()
    if fuzz:
        _fuzz(spec, checked)
    _ask_bpf(spec, checked)
    return checked


def _fuzz(spec: str, checked: Checked) -> None:
    chosen.need_native("--fuzz")
    found = _core.fuzz(spec, CONNECTIONS, undefined=True)
    if found:
        checked.problems.append(found)
    connections = f"its hooks, in {CONNECTIONS} drawn connections"
    checked.hosts["fuzz"] = f"{'calls' if found else 'finds nothing:'} {connections}"


def is_kernel_form(path: Path) -> bool:
    """Whether the C file registers its algorithm as Linux does."""
    text = path.read_bytes() if path.is_file() else b""
    return b"struct tcp_congestion_ops" in text and b"CC_ALGORITHM" not in text


def _ask_bpf(spec: str, checked: Checked) -> None:
    try:
        found = kernel_part.kernel_part().check(spec)
    except AckclockError as error:
        checked.hosts["BPF"] = f"not asked: {error}"
        return
    checked.problems += found["problems"]
    if not found["programs"]:
        checked.hosts["BPF"] = "does not compile it"
        return
    checked.hosts["BPF"] = (
        f"{found['programs']} programs, {found['instructions']} instructions, at most "
        f"{found['stack_bytes']} bytes of stack"
    )
    asked = "refuses it" if found["problems"] else "takes it"
    checked.hosts["verifier"] = (
        f"not asked: {found['not_verified']}" if found["not_verified"] else asked
    )


def problems_of(said: str, spec: str) -> list[str]:
    """An error of a compile in lines `my_cc.c:12: what, and the fix`."""
    head, _, compiler = said.partition(" does not compile:\n")
    if compiler:
        return compiler.splitlines()
    if not (path := _file_of(spec)):
        raise AckclockError(said)
    if re.match(rf"{re.escape(path)}:\d", head):
        return [head]
    lines = []
    for pattern in _NAMES:
        found = re.search(pattern, head)
        names = found[1].split(", ") if found else []
        lines += [f"{_place(path, name)}: {head}" for name in names]
    if lines:
        return lines
    served = re.match(r".*? uses what (.* serves?): (.*); (.*leave it out .*)", head)
    if served:
        named = re.findall(r"(.+?) \((\S+?:\d+)\)(?:, )?", served[2])
        return [f"{place}: {name}, which {served[1]}; {served[3]}" for name, place in named]
    within = re.search(r" \((\S+?:\d+(?::\d+)?)\)", head)
    if within:
        return [f"{within[1]}: {head.replace(within[0], '')}"]
    return [f"{path}: {head}" if not head.startswith(path) else head]


def _file_of(spec: str) -> str:
    """The C file of a spec; "" if there is none."""
    found = re.match(r"(.*?\.c)(?:[@:].*)?$", spec)
    return found[1] if found and Path(found[1]).is_file() else ""


def _place(path: str, name: str) -> str:
    """Where the file has the name first."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    for found in _WORD.finditer(text):
        if found[0] == name:
            return f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
    return path
