"""A file in the Linux kernel's form, taken apart: what it registers, its parameters, its init."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ackclock.base.errors import AckclockError
from ackclock.dialect import lexer
from ackclock.dialect.c_file import Item, Reader, declarators_of, items
from ackclock.dialect.lexer import Token, after, before, closing, parts, plain, seen, words

#: What registers an init function.
_INITS = {
    "module_init", "late_initcall", "subsys_initcall", "fs_initcall", "device_initcall",
}  # fmt: skip
#: What declares a parameter → which of its arguments are the parameter's name and the variable.
_PARAMS = {
    "module_param": (0, 0), "module_param_unsafe": (0, 0), "module_param_named": (0, 1),
    "core_param": (0, 1), "module_param_cb": (0, 2),
}  # fmt: skip
_ARRAYS = {"module_param_array", "module_param_array_named"}
#: Words of a declaration that say nothing of the type.
_STORAGE = {
    "static", "inline", "extern", "register", "__inline", "__always_inline", "noinline",
    "__bpf_kfunc", "__init", "__exit", "__cold", "__used", "__read_mostly", "__ro_after_init",
    "__initdata", "__maybe_unused", "noinline_for_stack",
}  # fmt: skip
_KEYWORDS = {
    "return", "goto", "else", "case", "default", "do", "if", "for", "while", "switch", "sizeof",
    "break", "continue",
}  # fmt: skip


@dataclass
class Function:
    """A definition or a prototype."""

    item: Item
    name: str
    #: The places of the brackets around the parameters, in the item's tokens.
    opening: int
    closing: int
    #: What it returns: `u32`.
    returns: str
    #: Parameters and local variables.
    hidden: set[str]
    #: Its first parameter of type struct sock *, and whether that is const.
    socket: str | None
    is_const: bool

    @classmethod
    def of(cls, item: Item) -> "Function":
        tokens = item.tokens
        name = next(
            index
            for index in seen(tokens)
            if tokens[index].text == item.name and after(tokens, index) == "("
        )
        opening = next(seen(tokens, name + 1))
        end = closing(tokens, opening)
        socket, is_const, hidden = None, False, set()
        for each in parts(tokens[opening + 1 : end]):
            said = words(each)
            hidden |= set(said[-1:])
            if said[-3:-1] == ["struct", "sock"] and plain(each).count("*") == 1 and not socket:
                socket, is_const = said[-1], "const" in said
        head = [token for token in tokens[:name] if token.text not in _STORAGE]
        hidden |= _locals(tokens[end + 1 :])
        returns = plain(head)
        return cls(item, item.name, opening, end, returns, hidden, socket, is_const)

    @property
    def body(self) -> list[Token]:
        """With its brackets; nothing of a prototype."""
        rest = self.item.tokens[self.closing + 1 :]
        start = next((index for index in seen(rest) if rest[index].text == "{"), len(rest))
        return rest[start:]


@dataclass
class Variable:
    """One of the file's."""

    item: Item
    name: str
    #: `int`, without const.
    kind: str
    is_const: bool
    #: A plain one, neither array nor pointer.
    is_number: bool
    value: list[Token]


@dataclass
class Macro:
    """A #define."""

    item: Item
    name: str
    params: set[str]
    is_call: bool
    body: list[Token]
    #: "#define NAME(params)", with what follows it up to the body.
    head: str


@dataclass
class KernelForm:
    """What a file has; `beside`: of the files whose functions it calls."""

    path: Path
    items: list[Item]
    beside: list[Item]
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    #: Variable → the parameter's name.
    params: dict[str, str] = field(default_factory=dict)
    #: Variables of struct tcp_congestion_ops: member → its value.
    ops: dict[str, dict[str, list[Token]]] = field(default_factory=dict)
    init: str = ""
    #: Texts of MODULE_AUTHOR, MODULE_LICENSE, MODULE_VERSION.
    about: dict[str, list[str]] = field(default_factory=dict)
    #: What cannot be converted: name and place.
    problems: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, known: set[str]) -> "KernelForm":
        """Raises `AckclockError` if it cannot be read or registers nothing."""
        reader = Reader(known)
        own = items(reader.read(path))
        beside: list[Item] = []
        for header in list(reader.headers):
            file = header.with_suffix(".c")
            if file.is_file() and file.resolve() != path.resolve():
                beside += [each for each in items(reader.read(file)) if each.kind != "call"]
        form = cls(path, own, beside)
        for item in [*own, *beside]:
            form._take(item, is_beside=any(item is each for each in beside))
        if not form.ops:
            raise AckclockError(
                f"{path}: has no struct tcp_congestion_ops: it is not in the kernel's form"
            )
        return form

    def _take(self, item: Item, *, is_beside: bool) -> None:
        text = plain(item.tokens)
        if item.kind == "call":
            self._call(item)
        elif item.kind == "function":
            if item.name in self.functions:
                self.problems.append((f"{item.name}, which is in two files", item.place))
            self.functions[item.name] = Function.of(item)
        elif item.kind == "variable" and re.search(r"\bstruct tcp_congestion_ops\b", text):
            if "{" in text and not is_beside:
                self._ops(item)
        elif item.kind == "variable":
            self._variable(item)
        elif item.kind == "directive" and text.startswith("#define"):
            macro = _macro(item)
            self.macros[macro.name] = macro

    def _call(self, item: Item) -> None:
        opening = next(index for index in seen(item.tokens) if item.tokens[index].text == "(")
        inside = item.tokens[opening + 1 : closing(item.tokens, opening)]
        arguments = [plain(each) for each in parts(inside)]
        if item.name in _INITS:
            self.init = arguments[0]
        elif item.name in _PARAMS:
            name, variable = (arguments[index] for index in _PARAMS[item.name])
            self.params[variable.lstrip("& ")] = name
        elif item.name in _ARRAYS:
            self.problems.append((f"the parameter {arguments[0]}, an array", item.place))
        elif item.name in {"MODULE_AUTHOR", "MODULE_LICENSE", "MODULE_VERSION"}:
            said = "".join(each.text[1:-1] for each in inside if each.kind == "text")
            self.about.setdefault(item.name, []).append(said)

    def _ops(self, item: Item) -> None:
        tokens = item.tokens
        opening = next(index for index in seen(tokens) if tokens[index].text == "{")
        members = {}
        for each in parts(tokens[opening + 1 : closing(tokens, opening)]):
            visible = [token for token in each if not token.is_aside]
            if [token.text for token in visible[:1]] == ["."] and len(visible) > 3:
                members[visible[1].text] = visible[3:]
        self.ops[item.name] = members

    def _variable(self, item: Item) -> None:
        said = [token for token in item.tokens if not token.is_aside]
        whole = [token for token in item.tokens if token.kind != "comment"]
        for name, head, value in declarators_of(whole):
            kind = [
                token.text
                for token in said[: next(i for i, t in enumerate(said) if t.text == item.name)]
                if token.text not in _STORAGE
            ]
            self.variables[name] = Variable(
                item,
                name,
                " ".join(each for each in kind if each != "const"),
                "const" in kind,
                not {"[", "*", "{"} & {token.text for token in head} and "*" not in kind,
                value,
            )

    def reached(self, start: Iterable[str]) -> set[str]:
        """The functions, variables and macros that are used, from these names on."""
        found: set[str] = set()
        new = set(start)
        while new:
            name = new.pop()
            if name in found:
                continue
            used: set[str] = set()
            if name in self.functions:
                function = self.functions[name]
                used = set(words(function.item.tokens)) - function.hidden
            elif name in self.variables:
                used = set(words(self.variables[name].value))
            elif name in self.macros:
                used = set(words(self.macros[name].body))
            else:
                continue
            found.add(name)
            new |= used - found
        return found


def _macro(item: Item) -> Macro:
    """The body is lexed anew: a directive is one token."""
    token = item.tokens[0]
    match = re.match(r"#\s*define\s+(\w+)(\([^)]*\))?(?:[ \t]|\\\n)*", token.text)
    assert match is not None  # `plain` of it begins so
    file, _, line = token.place.rpartition(":")
    body = lexer.tokens(token.text[match.end() :], file, int(line))
    params = set(re.findall(r"\w+", match[2] or ""))
    return Macro(item, match[1], params, match[2] is not None, body, match[0])


def _locals(body: list[Token]) -> set[str]:
    """The variables that a function declares: words that follow the name of a type."""
    found = set()
    for index in seen(body):
        token = body[index]
        if token.kind != "word" or token.text in _KEYWORDS:
            continue
        was, then = before(body, index), after(body, index)
        is_after_type = re.fullmatch(r"[A-Za-z_]\w*", was) and was not in _KEYWORDS
        is_after_type = is_after_type and was not in {"struct", "union", "enum"}
        is_next = was in {"*", ","} and then in {"=", ";", ","} and _declares(body, index)
        if is_next or (is_after_type and then in {"=", ";", ",", "["}):
            found.add(token.text)
    return found


def _declares(body: list[Token], index: int) -> bool:
    """Whether the statement that the place is in begins with a type: `struct x *y`, `u32 a, b`."""
    start = index
    while start > 0 and body[start - 1].text not in {";", "{", "}", "("}:
        start -= 1
    said = [token for token in body[start:index] if not token.is_aside]
    kinds = [token.kind for token in said]
    if not kinds or kinds[0] != "word" or said[0].text in _KEYWORDS:
        return False
    return said[0].text in {"const", "struct", "static", "unsigned"} or (
        len(said) > 1 and (said[1].text == "*" or kinds[1] == "word")
    )
