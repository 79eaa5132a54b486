"""What a user starts from: the C file of a new algorithm, the example scenarios."""

import re
from pathlib import Path

from ackclock import _core
from ackclock.base.directory import Directory
from ackclock.base.errors import AckclockError

#: What the kernel's TCP_CA_NAME_MAX leaves for a name.
LONGEST = 15
#: Words of C, which no structure of the file could have as its name.
KEYWORDS = {
    "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
    "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long",
    "main", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "true", "typedef", "typeof", "union", "unsigned", "void", "volatile", "while",
}  # fmt: skip
#: The headers that every C file may use as they are (`algorithms/include`).
CONTRACT = {
    "tcp_cc.h", "tcp_cc_types.h", "cc_kernel_headers.h",
    "host_kernel.h", "host_module.h", "host_native.h", "kernel_names.h", "cc_types.h", "limits.h",
}  # fmt: skip


def write(name: str, directory: Path = Path(), *, full: bool = False) -> Path:
    """Writes NAME.c, which is `examples/my_cc.c` under that name; returns its path.

    The name may be said with its ".c". `full`: `examples/my_cc_full.c`, with private state.

    Raises `AckclockError` if the name is not valid, or the file exists or cannot be written.
    """
    name = name.removesuffix(".c")
    _check(name)
    path = directory / f"{name}.c"
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text(full=full).replace("my_cc", name))
                file.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError:
        raise AckclockError(f"{path}: exists; choose another name or move it away") from None
    except OSError as error:
        raise AckclockError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def text(*, full: bool = False) -> str:
    """`examples/my_cc.c`, or `examples/my_cc_full.c`."""
    return dict(_core.examples())["my_cc_full.c" if full else "my_cc.c"]


def source(name: str) -> str:
    """The C file of a built-in algorithm, as one text: with the headers that only algorithms use.

    A copy of the text under another name is an algorithm of its own. Raises `AckclockError` if
    there is no such algorithm.
    """
    if name not in {algorithm["name"] for algorithm in _core.algorithms()}:
        raise AckclockError(f"{name}: no built-in algorithm; `ackclock list` shows them")
    [(_, own)], headers, _ = _core.Snapshot().module(name)
    texts = {Path(path).name: text for path, text in headers if Path(path).name not in CONTRACT}

    def written(include: re.Match[str]) -> str:
        header = texts.get(include[1])
        return include[0] if header is None else f"/* {include[1]} */\n{header.rstrip()}\n"

    return re.sub(r'^#include "([\w.]+)"$', written, bytes(own).decode(), flags=re.MULTILINE)


def write_examples(directory: Path) -> bool:
    """Writes the files of `examples/` into a new directory; False if they are there, as in a clone.

    Raises `AckclockError` if the directory holds anything else or cannot be written.
    """
    files = {directory / name: content.encode() for name, content in _core.examples()}
    if all(file.is_file() and file.read_bytes() == content for file, content in files.items()):
        return False

    def fill(partial: Path) -> None:
        for name, content in _core.examples():
            file = partial / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")

    with Directory(directory) as output:
        output.fill(fill)
    return True


def _check(name: str) -> None:
    problem = None
    if "/" in name:
        problem = "write a name like my_cc, not a path: my_cc.c is made in the current directory"
    elif not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        problem = "use only a-z, 0-9 and _, with a letter first, like my_cc"
    elif len(name) > LONGEST:
        problem = f"has {len(name)} characters; the kernel takes {LONGEST}"
    elif name in KEYWORDS:
        problem = f"is a word of C; choose another, like my_{name}"
    elif name in {algorithm["name"] for algorithm in _core.algorithms()}:
        problem = "there is an algorithm of this name already; choose another"
    elif name.startswith(("tcp_", "cc_")):
        problem = "the kernel and tcp_cc.h use names with this prefix; choose another"
    if problem:
        raise AckclockError(f'name = "{name}": {problem}')
