"""C text as tokens, so that a file can be rewritten and every other character stays."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space>  (?: \s | \\\n )+ )
    | (?P<comment> /\* .*? \*/ | // [^\n]* )
    | (?P<text>   " (?: [^"\\\n] | \\. )* " | ' (?: [^'\\\n] | \\. )* ' )
    | (?P<word>   [A-Za-z_] \w* )
    | (?P<number> \.? \d (?: [eEpP][+-] | [\w.] )* )
    | (?P<sign>   -> | \+\+ | -- | <<= | >>= | << | >> | <= | >= | == | != | && | \|\|
                | [-+*/%&|^]= | \.\.\. | \#\# | . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: A line of the preprocessor, with the lines that continue it and the comments that begin in it.
_DIRECTIVE = re.compile(r'#(?:\\\n|/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[^\n])*', re.DOTALL)

BRACKETS = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}


@dataclass(frozen=True)
class Token:
    """A piece of the text; `kind` is a name of the groups above, or "directive"."""

    kind: str
    text: str
    #: Where it is: `tcp_x.c:12`.
    place: str

    @property
    def is_aside(self) -> bool:
        """Whether a compiler does not see it."""
        return self.kind in {"space", "comment"}


def tokens(text: str, file: str, line: int = 1) -> list[Token]:
    """The text in tokens: joined, they are the text again."""
    found: list[Token] = []
    at, is_new_line = 0, True
    while at < len(text):
        match = _DIRECTIVE.match(text, at) if is_new_line else None
        kind = "directive"
        if match is None:
            match = _TOKEN.match(text, at)
            assert match is not None  # "." takes any character
            kind = str(match.lastgroup)
        part = match[0]
        found.append(Token(kind, part, f"{file}:{line}"))
        is_new_line = "\n" in part if kind == "space" else is_new_line and kind == "comment"
        line += part.count("\n")
        at = match.end()
    return found


def seen(of: Sequence[Token], start: int = 0, end: int | None = None) -> Iterator[int]:
    """The places of what a compiler sees."""
    for index in range(start, len(of) if end is None else end):
        if not of[index].is_aside:
            yield index


def following(of: Sequence[Token], index: int) -> int | None:
    """The place of the next token that a compiler sees, after this one."""
    return next(seen(of, index + 1), None)


def before(of: Sequence[Token], index: int) -> str:
    """The text that a compiler sees before it; "" at the beginning."""
    for token in reversed(of[:index]):
        if not token.is_aside:
            return token.text
    return ""


def after(of: Sequence[Token], index: int) -> str:
    """The text that a compiler sees after it; "" at the end."""
    next_one = following(of, index)
    return "" if next_one is None else of[next_one].text


def closing(of: Sequence[Token], opening: int) -> int:
    """The place of the bracket that closes this one, or the end."""
    depth = 0
    for index in seen(of, opening):
        depth += (of[index].text in BRACKETS) - (of[index].text in BRACKETS.values())
        if depth == 0:
            return index
    return len(of)


def parts(of: Sequence[Token], separator: str = ",") -> list[list[Token]]:
    """What stands between the separators that are in no bracket."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in of:
        if token.kind in {"sign", "word"}:
            depth += (token.text in BRACKETS) - (token.text in BRACKETS.values())
        if depth == 0 and token.text == separator:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if any(not token.is_aside for token in each)]


def words(of: Sequence[Token]) -> list[str]:
    """The words, in order."""
    return [token.text for token in of if token.kind == "word"]


def plain(of: Sequence[Token]) -> str:
    """The text on one line, without comments."""
    return " ".join("".join(" " if each.is_aside else each.text for each in of).split())


def statement_end(of: Sequence[Token], start: int) -> int:
    """The place after the statement that begins here."""
    first = next(seen(of, start), None)
    if first is None:
        return len(of)
    text = of[first].text
    if text == "{":
        return closing(of, first) + 1
    if text in {"if", "for", "while", "switch"}:
        opening = following(of, first)
        body = closing(of, len(of) if opening is None else opening) + 1
        end = statement_end(of, body)
        otherwise = next(seen(of, end), None)
        if text == "if" and otherwise is not None and of[otherwise].text == "else":
            return statement_end(of, otherwise + 1)
        return end
    depth = 0
    for index in seen(of, first):
        depth += (of[index].text in BRACKETS) - (of[index].text in BRACKETS.values())
        if depth == 0 and of[index].text == ";":
            return index + 1
    return len(of)


def with_comment(of: Sequence[Token], end: int) -> int:
    """The place after a comment that follows on the same line."""
    at = end
    while at < len(of) and of[at].kind == "space" and "\n" not in of[at].text:
        at += 1
    return at + 1 if at < len(of) and of[at].kind == "comment" else end


def statements(of: Sequence[Token]) -> Iterator[list[Token]]:
    """The statements of a function's body, without its brackets."""
    at = 0
    while next(seen(of, at), None) is not None:
        end = with_comment(of, statement_end(of, at))
        yield list(of[at:end])
        at = end
