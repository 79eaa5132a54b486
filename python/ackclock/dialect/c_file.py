"""A C file as its preprocessor leaves it, in parts: functions, variables, types and the rest."""

import ast
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.base.errors import AckclockError
from ackclock.dialect import lexer
from ackclock.dialect.lexer import Token, after, closing, following, plain, seen

#: What algorithms/include/kernel_names.h says of the kernel.
VERSION = (6, 12, 0)
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
#: Words that have brackets of their own before a name.
_ATTRIBUTES = {"__attribute__", "__aligned", "__printf", "__section", "typeof", "__typeof__"}


@dataclass
class Item:
    """A part of the file.

    `kind`: function, prototype, variable, type, call (of a macro), directive, end (only asides).
    """

    kind: str
    name: str
    #: Spaces and comments before it.
    lead: list[Token]
    #: It, with a comment that ends its last line.
    tokens: list[Token]

    @property
    def place(self) -> str:
        return self.tokens[0].place


@dataclass
class Reader:
    """Reads a file, with the headers beside it that it includes, as the compiler sees them.

    `known`: names that our headers define.
    """

    known: set[str]
    values: dict[str, str] = field(default_factory=dict)
    #: Headers that were read.
    headers: list[Path] = field(default_factory=list)

    def read(self, path: Path) -> list[Token]:
        """Its tokens. Raises `AckclockError` where a condition cannot be understood."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise AckclockError(f"{path}: cannot be read ({error})") from None
        tokens: list[Token] = []
        #: Of each open #if: is it live, and was a branch of it?
        open_ifs: list[tuple[bool, bool]] = []
        for token in lexer.tokens(text.replace("\r\n", "\n"), str(path)):
            is_live = all(live for live, _ in open_ifs)
            if token.kind != "directive":
                tokens += [token] if is_live else []
                continue
            name, rest = _directive(token)
            if name in {"if", "ifdef", "ifndef", "elif", "else", "endif"}:
                outer = all(live for live, _ in open_ifs[:-1])
                self._branch(name, rest, token, open_ifs, is_live, outer)
            elif is_live:
                tokens += self._directive(name, rest, token, path)
        return tokens

    def _branch(
        self,
        name: str,
        rest: str,
        token: Token,
        open_ifs: list[tuple[bool, bool]],
        is_live: bool,
        outer: bool,
    ) -> None:
        if name == "endif":
            open_ifs.pop()
        elif name == "else":
            open_ifs[-1] = (not open_ifs[-1][1], True)
        elif name == "elif":
            was = open_ifs[-1][1]
            live = outer and not was and self._holds(rest, token)
            open_ifs[-1] = (live, was or live)
        else:
            condition = rest if name == "if" else f"defined({rest})"
            live = is_live and self._holds(condition, token) != (name == "ifndef")
            open_ifs.append((live, live))

    def _directive(self, name: str, rest: str, token: Token, path: Path) -> list[Token]:
        if name == "include":
            quoted = re.match(r'"([^"]+)"', rest)
            if quoted is None:
                return [token]
            header = path.parent / quoted[1]
            if header in self.headers:
                return []
            self.headers.append(header)
            return [Token("space", "\n", token.place), *self.read(header)]
        if name == "define":
            macro, _, value = rest.partition(" ")
            self.values[macro.partition("(")[0]] = value
            if value in {"", "1"} and re.fullmatch(r"_*[A-Z0-9_]+_H_*", macro):
                return []  # the guard of a header
        return [token] if name in {"define", "undef", "pragma"} else []

    def _holds(self, condition: str, token: Token) -> bool:
        try:
            return bool(_value(ast.parse(self._in_python(condition), mode="eval").body))
        except (SyntaxError, KeyError, ValueError):
            raise AckclockError(
                f"{token.place}: #if {condition}: not understood; resolve it by hand"
            ) from None

    def _in_python(self, condition: str, depth: int = 0) -> str:
        def defined(match: re.Match[str]) -> str:
            return str(int(match[1] in self.values or match[1] in self.known))

        def word(match: re.Match[str]) -> str:
            value = self.values.get(match[0], "0") if depth < 16 else "0"
            return match[0] if match[0] in {"and", "or", "not"} else f"({value or 0})"

        text = re.sub(r"\bdefined\s*\(?\s*(\w+)\s*\)?", defined, condition)
        text = re.sub(r"\bIS_(?:ENABLED|BUILTIN|MODULE|REACHABLE)\s*\([^)]*\)", "0", text)
        text = re.sub(r"\bLINUX_VERSION_CODE\b", f"KERNEL_VERSION{VERSION}", text)
        text = re.sub(
            r"\bKERNEL_VERSION\s*\((\w+),\s*(\w+),\s*(\w+)\)", r"((\1<<16)+(\2<<8)+\3)", text
        )
        text = text.replace("&&", " and ").replace("||", " or ")
        text = re.sub(r"!(?!=)", " not ", text)
        text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b", r"\1", text)
        expanded = re.sub(r"\b[A-Za-z_]\w*\b", word, text)
        return expanded.strip() if expanded == text else self._in_python(expanded, depth + 1)


def _directive(token: Token) -> tuple[str, str]:
    """`("define", "X 1")`."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", token.text.replace("\\\n", " "), flags=re.DOTALL)
    name, _, rest = text[1:].strip().partition(" ")
    found = re.match(r"(\w+)(.*)", f"{name} {rest}", re.DOTALL)
    return (found[1], " ".join(found[2].split())) if found else ("", "")


def _value(node: Any) -> Any:
    match node:
        case ast.Constant(value=int()):
            return node.value
        case ast.BoolOp():
            values = [_value(each) for each in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        case ast.UnaryOp(op=ast.Not()):
            return not _value(node.operand)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.BinOp():
            return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
        case ast.Compare(ops=[how], comparators=[right]):
            return _OPERATORS[type(how)](_value(node.left), _value(right))
    raise ValueError(node)


def items(of: list[Token]) -> list[Item]:
    """The parts of a file, in order: joined, they are the file again."""
    found: list[Item] = []
    at = 0
    while at < len(of):
        start = next(seen(of, at), len(of))
        lead = of[at:start]
        if start == len(of):
            return [*found, Item("end", "", lead, [])]
        end = start + 1 if of[start].kind == "directive" else _end(of, start)
        stop = lexer.with_comment(of, end)
        kind, name = _what(of[start:end])
        found.append(Item(kind, name, lead, of[start:stop]))
        at = stop
    return found


def _end(of: list[Token], start: int) -> int:
    """The place after the declaration that begins here."""
    if of[start].kind == "word" and after(of, start) == "(" and of[start].text not in _ATTRIBUTES:
        end = closing(of, _next(of, start)) + 1
        last = next(seen(of, end), None)
        return last + 1 if last is not None and of[last].text == ";" else end
    depth, is_function = 0, False
    for index in seen(of, start):
        text = of[index].text
        depth += (text in lexer.BRACKETS) - (text in lexer.BRACKETS.values())
        if depth == 0 and text == ")":
            is_function = True
        if depth == 0 and (text == ";" or (text == "}" and is_function)):
            return index + 1
        if depth == 0 and text in {"=", "]"}:
            is_function = False
    return len(of)


def _next(of: list[Token], index: int) -> int:
    found = following(of, index)
    return len(of) if found is None else found


def _what(of: list[Token]) -> tuple[str, str]:
    """Kind and name of a declaration."""
    if of[0].kind == "directive":
        return "directive", ""
    if of[0].kind == "word" and after(of, 0) == "(" and of[0].text not in _ATTRIBUTES:
        return "call", of[0].text
    visible = list(seen(of))
    equals = next((index for index in visible if of[index].text == "="), None)
    for index in visible:
        if equals is not None and index > equals:
            break
        if of[index].text == "{":
            break
        named = of[index].kind == "word" and of[index].text not in _ATTRIBUTES
        if named and after(of, index) == "(" and not _in_attribute(of, index):
            is_body = of[visible[-1]].text == "}"
            return ("function" if is_body else "prototype"), of[index].text
    texts = plain(of)
    head = lexer.words(of)
    if head and head[0] == "typedef":
        return "type", ""
    if re.match(
        r"(?:const )?(struct|union|enum)\b[^={;]*(\{.*\})?\s*(__\w+(\(.*?\))?\s*)*;$", texts
    ) and ("{" in texts or len(head) == 2):
        tag = re.match(r"(?:const )?(?:struct|union|enum) (\w+)", texts)
        return "type", tag[1] if tag else ""
    return "variable", _declared(of)


def _in_attribute(of: list[Token], index: int) -> bool:
    return lexer.before(of, index) == "(" or lexer.before(of, index) in _ATTRIBUTES


def _declared(of: list[Token]) -> str:
    """The name of the first variable of a declaration."""
    declarators = declarators_of(of)
    return declarators[0][0] if declarators else ""


def declarators_of(of: Iterable[Token]) -> list[tuple[str, list[Token], list[Token]]]:
    """Of a declaration of variables: name, its tokens, and those of its value, of each."""
    found = []
    for part in lexer.parts([token for token in of if token.text != ";"]):
        equals = next((index for index in seen(part) if part[index].text == "="), len(part))
        depth, name = 0, ""
        for index in seen(part, 0, equals):
            text = part[index].text
            depth += (text in lexer.BRACKETS) - (text in lexer.BRACKETS.values())
            if depth == 0 and part[index].kind == "word" and not text.startswith("__"):
                name = text
        found.append((name, part[:equals], part[equals + 1 :]))
    return found
