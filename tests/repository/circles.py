"""Which files of a Rust crate need each other in a circle.

By hand: `tests/repository/circles.py crates/net/src`.

A file needs the file that defines what it names, in a `use` or in its code: what a `mod.rs` only
hands on (`pub use child::Name`) is followed. Tests and comments need nothing.
"""

import re
import sys
from pathlib import Path

TESTS = re.compile(r"^( *)#\[cfg\(test\)\]\n(?:.*;\n|(?:.*\n)*?\1\}\n)", re.MULTILINE)
#: What is below it is for tests too.
TEST_FILE = re.compile(r"#\[cfg\(test\)\]\n *mod (\w+);")
ASIDE = re.compile(r"//.*|\"(?:[^\"\\\n]|\\.)*\"")
USE = re.compile(r"^\s*(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
PATH = re.compile(r"\b[a-z_0-9]+(?:::\w+)+")


def paths(tree, before=()):
    """The paths of `a::{b, c::{d}}`, each with the name that it has here."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        path, _, name = head.partition(" as ")
        path = (*before, *(part for part in path.split("::") if part != "self"))
        yield path, name or path[-1]
        return
    before = (*before, *(part for part in head.split("::") if part))
    depth = start = 0
    rest = rest[: rest.rindex("}")] + ","
    for at, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if rest[start:at].strip():
                yield from paths(rest[start:at], before)
            start = at + 1


class Crate:
    """The files of a crate, by module: `("queue", "codel")`."""

    def __init__(self, source):
        files = {}
        for path in sorted(Path(source).rglob("*.rs")):
            module = path.relative_to(source).with_suffix("").parts
            module = module[:-1] if module[-1] in ("mod", "lib") else module
            files[module] = path, path.read_text(encoding="utf-8")
        of_tests = {
            (*module, name) for module, file in files.items() for name in TEST_FILE.findall(file[1])
        }
        self.names = {}
        self.texts = {}
        self.handed_on = {}
        for module, (path, whole) in files.items():
            if any(module[:depth] in of_tests for depth in range(1, len(module) + 1)):
                continue
            self.names[module] = str(path.relative_to(source))
            self.texts[module] = text = ASIDE.sub("", TESTS.sub("", whole))
            self.handed_on[module] = {
                name: path
                for public, tree in USE.findall(text)
                for path, name in paths(tree)
                if public and path != (name,)
            }

    def defined_in(self, module, path):
        """The module whose file defines what `path` names in `module`; None: another crate's."""
        if path[0] in ("crate", "super"):
            at = () if path[0] == "crate" else module[:-1]
            path = path[1:]
        elif (*module, path[0]) in self.texts or path[0] in self.handed_on[module]:
            at = module
        else:
            return None
        while path and path[0] == "super":
            at, path = at[:-1], path[1:]
        while path and (*at, path[0]) in self.texts:
            at, path = (*at, path[0]), path[1:]
        if path and path[0] in self.handed_on[at]:
            further = (*self.handed_on[at][path[0]], *path[1:])
            return self.defined_in(at, further) or at
        return at

    def needs(self, module):
        text = self.texts[module]
        code = USE.sub("", text)
        named = [
            path
            for public, tree in USE.findall(text)
            for path, name in paths(tree)
            if not public or re.search(rf"\b{re.escape(name)}\b", code)
        ]
        named += [tuple(path.removeprefix("self::").split("::")) for path in PATH.findall(code)]
        found = {self.defined_in(module, path) for path in named if path}
        return found - {None, module}

    def circles(self):
        """Sets of files each of which needs all others, the largest first, with what each needs."""
        needs = {module: self.needs(module) for module in self.texts}
        reached = {}
        for module, direct in needs.items():
            found, new = set(), direct
            while new:
                found |= new
                new = {further for each in new for further in needs[each]} - found
            reached[module] = found
        sets = {
            frozenset(other for other in reached[module] if module in reached[other])
            for module in needs
        }
        return [
            {
                self.names[module]: sorted(self.names[other] for other in needs[module] & one)
                for module in sorted(one)
            }
            for one in sorted(sets, key=len, reverse=True)
            if one
        ]


if __name__ == "__main__":
    for source in sys.argv[1:]:
        circles = Crate(source).circles()
        print(source, [len(circle) for circle in circles])
        for circle in circles:
            for name, others in circle.items():
                print("   ", name, "->", *others)
