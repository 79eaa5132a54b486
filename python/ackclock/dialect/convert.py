"""`ackclock import`: a file in the Linux kernel's form becomes one in our own dialect.

The text stays, with its comments. Includes, the registration and the module's boilerplate go;
what reads a global variable reads the socket instead. What has no counterpart is refused, all at
once.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.errors import AckclockError
from ackclock.dialect import lexer
from ackclock.dialect.c_file import Item
from ackclock.dialect.checking import is_kernel_form
from ackclock.dialect.kernel_form import Function, KernelForm
from ackclock.dialect.lexer import Token, before, plain, seen, statements
from ackclock.dialect.rewriting import Rewriter, Scope, as_table, is_written

#: Hook → what it returns, and its arguments.
HOOKS = {
    "init": ("void", "struct sock *sk"),
    "release": ("void", "struct sock *sk"),
    "ssthresh": ("u32", "struct sock *sk"),
    "cong_avoid": ("void", "struct sock *sk, u32 ack, u32 acked"),
    "cong_control": ("void", "struct sock *sk, u32 ack, int flag, const struct rate_sample *rs"),
    "set_state": ("void", "struct sock *sk, u8 new_state"),
    "cwnd_event": ("void", "struct sock *sk, enum tcp_ca_event event"),
    "in_ack_event": ("void", "struct sock *sk, u32 flags"),
    "pkts_acked": ("void", "struct sock *sk, const struct ack_sample *sample"),
    "min_tso_segs": ("u32", "struct sock *sk"),
    "undo_cwnd": ("u32", "struct sock *sk"),
    "sndbuf_expand": ("u32", "struct sock *sk"),
}
#: Members of struct tcp_congestion_ops that are not hooks of ours.
_ASIDE = {"name", "owner", "get_info", "key", "flags"}
_KEPT_CALLS = {"static_assert", "_Static_assert", "BUILD_BUG_ON", "BUILD_BUG_ON_MSG"}
_DROPPED_CALLS = ("module_", "late_initcall", "subsys_initcall", "fs_initcall", "device_initcall",
                  "core_param", "MODULE_", "EXPORT_", "BTF_", "__bpf_")  # fmt: skip
MOST_NAMES = 40


def write(source: str, output: Path | None = None) -> Path:
    """Converts FILE or FILE@NAME into `output`, else my_NAME.c; returns its path.

    Raises `AckclockError` as `convert`, or if the file exists or cannot be written.
    """
    name, text = convert(source)
    path = output or Path(f"my_{name}.c")
    if path.suffix != ".c":
        raise AckclockError(f"--output {path}: write a name that ends in .c")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise AckclockError(f"{path}: exists; choose another --output or move it away") from None
    except OSError as error:
        raise AckclockError(f"{path}: cannot be written ({error.strerror})") from None
    return path


def convert(source: str) -> tuple[str, str]:
    """The algorithm's name, and its text in our dialect.

    Raises `AckclockError` that names all that has no counterpart, with its places.
    """
    shown = _core.configure(source)
    path = Path(shown["source"])
    if not is_kernel_form(path):
        raise AckclockError(f"{source}: is in our dialect, not in the Linux kernel's form")
    form = KernelForm.read(path, _defined())
    text = _Conversion(form, shown).text()
    if form.problems:
        named = list(dict.fromkeys(f"{what} ({place})" for what, place in form.problems))
        more = f" and {len(named) - MOST_NAMES} more" if len(named) > MOST_NAMES else ""
        raise AckclockError(
            f"{path} uses what our dialect does not have: {', '.join(named[:MOST_NAMES])}{more}"
        )
    _check(text, path)
    return shown["name"], text


def _check(text: str, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ackclock-") as directory:
        file = Path(directory, path.name)
        file.write_text(text, encoding="utf-8")
        try:
            _core.configure(str(file))
        except AckclockError as error:
            said = str(error).replace(str(file), f"the converted {path.name}")
            raise AckclockError(f"{path} cannot be converted: {said}") from None


def _defined() -> set[str]:
    """What our headers define."""
    _, headers, _ = _core.Snapshot().module("reno")
    texts = "\n".join(text for _, text in headers)
    return set(re.findall(r"#\s*define\s+(\w+)", texts))


class _Conversion:
    def __init__(self, form: KernelForm, shown: dict[str, Any]) -> None:
        self.form = form
        self.shown = shown
        self.algorithm = shown["name"].replace("-", "_")
        self.ops_name = self._chosen()
        ops = form.ops[self.ops_name]
        self.hooks = {
            hook: plain(value)
            for hook, value in ops.items()
            if hook in HOOKS and (hook, plain(value)) != ("undo_cwnd", "tcp_reno_undo_cwnd")
        }
        self.flags = plain(ops["flags"]) if "flags" in ops else ""
        for member in ops.keys() - HOOKS.keys() - _ASIDE:
            form.problems.append((f"the hook {member}", str(form.path)))
        self.kept = form.reached(self.hooks.values())
        self.setting = self._setting()
        said = [self.form.reached(lexer.words(each)) for of in self.setting.values() for each in of]
        self.kept = self.kept.union(*said)
        self.private = self._private()
        self.rewriter = Rewriter(form, self.setting, self.private)
        self.plain_hooks = self._plain_hooks()

    def _chosen(self) -> str:
        for name, members in self.form.ops.items():
            said = "".join(
                each.text[1:-1] for each in members.get("name", ()) if each.kind == "text"
            )
            if said == self.shown["name"]:
                return name
        raise AckclockError(
            f'{self.form.path}: no struct tcp_congestion_ops has .name = "{self.shown["name"]}"'
        )

    def _setting(self) -> dict[str, list[list[Token]]]:
        """Variables that module_init sets, or that need HZ → the statements that set them."""
        found: dict[str, list[list[Token]]] = {}
        for name, variable in self.form.variables.items():
            if name not in self.form.params and "HZ" in self._expanded(variable.value):
                found[name] = []
        init = self.form.functions.get(self.form.init)
        for statement in statements(init.body[1:-1]) if init else ():
            for name in self._written(statement):
                found.setdefault(name, []).append(statement)
        return {name: each for name, each in found.items() if name in self.kept}

    def _expanded(self, tokens: list[Token]) -> set[str]:
        said = set(lexer.words(tokens))
        return said | set().union(
            *(
                self._expanded(self.form.macros[each].body)
                for each in said & self.form.macros.keys()
            )
        )

    def _written(self, statement: list[Token]) -> set[str]:
        found = set()
        for index in seen(statement):
            name = statement[index].text
            if name not in self.form.variables or before(statement, index) in {".", "->"}:
                continue
            is_divided = re.search(rf"\bdo_div\({name}\b", plain(statement))
            if is_written(statement, index) or is_divided:
                found.add(name)
        return found

    def _private(self) -> str:
        """The type of the private state: the one whose size is checked, else the only one."""
        checked = [
            found[1]
            for function in self.form.functions.values()
            for found in re.finditer(
                r"sizeof\(((?:struct )?\w+)\) > (?:ICSK_CA_PRIV_SIZE|sizeof)", plain(function.body)
            )
        ]
        if checked:
            return str(checked[0])
        used = {
            found[1]: function.item.place
            for name, function in self.form.functions.items()
            if name in self.kept
            for found in re.finditer(
                r"(?:const )?((?:struct )?\w+) \* ?\w+ = inet_csk_ca\(", plain(function.body)
            )
        }
        if len(used) > 1:
            self.form.problems += [(f"{name} as private state", at) for name, at in used.items()]
        return next(iter(used), "")

    def _plain_hooks(self) -> dict[str, str]:
        """Hooks whose function stays as it is, since others call it too → what calls it for TCP."""
        called: set[str] = set()
        for name in self.kept & self.form.functions.keys():
            function = self.form.functions[name]
            called |= set(lexer.words(function.body)) - function.hidden
        for name in self.kept & self.form.macros.keys():
            called |= set(lexer.words(self.form.macros[name].body))
        found = {}
        for hook, function_name in self.hooks.items():
            own = self.form.functions.get(function_name)
            arguments = len(lexer.parts(self._arguments(own))) if own else 0
            is_whole = arguments == HOOKS[hook][1].count(",") + 1
            shared = list(self.hooks.values()).count(function_name) > 1
            if own is None or function_name in called or not is_whole or shared:
                wrapper = f"{self.algorithm}_{hook}"
                taken = self.form.functions.keys() | self.form.variables.keys()
                found[hook] = f"{wrapper}_hook" if wrapper in taken else wrapper
        return found

    @staticmethod
    def _arguments(function: Function) -> list[Token]:
        return function.item.tokens[function.opening + 1 : function.closing]

    def text(self) -> str:
        """The whole file."""
        parts: list[str] = []
        is_open = True  # the includes are not written yet
        has_settings = bool(self.setting)
        own = list(self.form.items)
        first = next((i for i, item in enumerate(own) if item.kind == "function"), len(own))
        own[first:first] = self.form.beside
        for item in own:
            lead = "".join(each.text for each in item.lead)
            if self.form.beside and item is self.form.beside[0]:
                lead = ""  # the head of another file
            if is_open and self._is_include(item):
                parts.append(lead + self._includes())
                is_open = False
            elif (code := self._item(item)) is not None:
                if has_settings and item.kind == "function" and item.name in self.kept:
                    parts.append(self._settings())
                    has_settings = False
                parts.append(lead + code)
            else:
                parts.append(_without_comment(lead))
        text = re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip() + "\n"
        return self._headed(text)

    @staticmethod
    def _is_include(item: Item) -> bool:
        return item.kind == "directive" and item.tokens[0].text.startswith("#include")

    def _item(self, item: Item) -> str | None:
        """An item in our dialect; None: nothing is left of it."""
        of = {
            "directive": self._directive,
            "function": self._function,
            "prototype": self._prototype,
            "call": self._call,
            "variable": self._variable,
            "type": self._type,
        }
        return of[item.kind](item) if item.kind in of else ""

    def _directive(self, item: Item) -> str | None:
        text = item.tokens[0].text
        if text.startswith("#include"):
            return None
        macro = next((each for each in self.form.macros.values() if each.item is item), None)
        if macro is None:
            return text
        if macro.name not in self.kept and macro.name in self.rewriter.needy:
            return None
        return macro.head + self.rewriter.code(Scope(macro.body, "sk", macro.params))

    def _function(self, item: Item) -> str | None:
        function = self.form.functions[item.name]
        if item.name not in self.kept or function.item is not item:
            return None
        params = self.rewriter.parameters(function)
        socket = function.socket or "sk"
        body = Scope(function.body, socket, function.hidden, self._is_const(function))
        code = self.rewriter.code(body)
        tables = self.rewriter.tables(body, item.name)
        code = "".join(body.out) if tables else code
        hook = next((each for each, name in self.hooks.items() if name == item.name), None)
        if hook is not None and hook not in self.plain_hooks:
            params = " ".join(params.split())
            return f"{tables}CC_HOOK({function.returns}, {item.name}, {params})\n{code}"
        return f"{tables}{_specified(function)}({params})\n{code}"

    def _is_const(self, function: Function) -> bool:
        if function.socket is not None:
            return function.is_const
        return not self.rewriter.needy.get(function.name, True)

    def _prototype(self, item: Item) -> str | None:
        is_hook = item.name in self.hooks.values() and item.name not in {
            self.hooks[each] for each in self.plain_hooks
        }
        if item.name not in self.kept or is_hook:
            return None
        function = Function.of(item)
        return f"{_specified(function)}({self.rewriter.parameters(function)});"

    def _call(self, item: Item) -> str | None:
        if item.name in _KEPT_CALLS:
            return "".join(each.text for each in item.tokens)
        if not item.name.startswith(_DROPPED_CALLS):
            self.form.problems.append((item.name, item.place))
        return None

    def _variable(self, item: Item) -> str | None:
        if item.name == self.ops_name and "{" in plain(item.tokens):
            return self._registration()
        names = [name for name, each in self.form.variables.items() if each.item is item]
        kept = [name for name in names if name in self.kept and name not in self.form.params]
        kept = [name for name in kept if name not in self.setting]
        if not kept:
            return None
        if len(names) == 1:
            text = self.rewriter.code(Scope(list(item.tokens), "sk", kept))
            return as_table("static const " + re.sub(r"^(static\s+)?(const\s+)?", "", text))
        return "\n".join(self._alone(name) for name in kept)

    def _alone(self, name: str) -> str:
        """A variable that was declared with others."""
        variable = self.form.variables[name]
        value = self.rewriter.code(Scope(variable.value, "sk")).strip()
        declared = f"static const {variable.kind} {name}"
        if not variable.is_number:
            self.form.problems.append((f"{name}, declared with others", variable.item.place))
        return f"{declared} = {value};" if value else f"{declared};"

    def _type(self, item: Item) -> str:
        text = "".join(each.text for each in item.tokens)
        if self.private and item.name and self.private == f"struct {item.name}" and "{" in text:
            return f"{text}\nCC_PRIVATE({self.private});"
        return text

    def _settings(self) -> str:
        """A function for each variable that module_init computes."""
        texts = []
        init = self.form.functions.get(self.form.init)
        for name, written in self.setting.items():
            variable = self.form.variables[name]
            for token in (token for each in written for token in each if init):
                if token.kind == "word" and init and token.text in init.hidden:
                    what = f"{token.text} of {init.name}, on which {name} depends"
                    self.form.problems.append((what, token.place))
            if not variable.is_number:
                self.form.problems.append((f"{name}, which depends on HZ", variable.item.place))
            scope = [Scope(each, "sk", {name}, is_const=True, is_unsigned=True) for each in written]
            code = [self.rewriter.code(each).strip() for each in scope]
            if name in self.form.params:
                start = f"({variable.kind})cc_param(sk, {self.form.params[name]})"
            elif variable.value:
                start = self.rewriter.code(Scope(variable.value, "sk", (), is_const=True)).strip()
            else:
                start = "0"
            texts.append(_computed(variable.kind, name, start, code))
        return "\n\n" + "\n\n".join(texts)

    def _registration(self) -> str:
        wrappers = []
        for hook, name in self.plain_hooks.items():
            returns, params = HOOKS[hook]
            wrappers.append(self._wrapper(hook, name, returns, params))
        members = [
            f".{hook} = {self.plain_hooks.get(hook, name)}" for hook, name in self.hooks.items()
        ]
        if self.flags:
            members.append(f".flags = {self.flags}")
        summary = _quoted(self.shown["summary"])
        lines = ",\n\t     ".join([f"CC_ALGORITHM({self.algorithm}, {summary}", *members])
        return "".join(f"{each}\n\n" for each in wrappers) + f"{lines});"

    def _wrapper(self, hook: str, name: str, returns: str, params: str) -> str:
        target = self.hooks[hook]
        own = self.form.functions.get(target)
        given = [each.split()[-1].lstrip("*") for each in params.split(",")]
        if (
            own is not None
            and hook == "cong_control"
            and len(lexer.parts(self._arguments(own))) == 2
        ):
            given = [given[0], given[3]]
        call = f"{target}({', '.join(given)});"
        back = "" if returns == "void" else "return "
        return f"CC_HOOK({returns}, {name}, {params})\n{{\n\t{back}{call}\n}}"

    def _includes(self) -> str:
        rows = [self._row(each) for each in self.shown["params"] if self._is_wanted(each["name"])]
        include = '#include "kernel_names.h"'
        if not rows:
            return include
        notes = self._notes()
        about = (
            "/*\n * Parameters: name, default, minimum, maximum, scale, what it is. The published\n"
            f" * file has no ranges: fill them in.\n{notes} */\n"
        )
        listed = " \\\n".join(f"\t{row}" for row in rows)
        return f"{about}#define CC_PARAMS(P) \\\n{listed}\n\n{include}"

    def _is_wanted(self, name: str) -> bool:
        variable = next((each for each, said in self.form.params.items() if said == name), None)
        if variable is None:
            return False
        own = any(self.form.variables[variable].item is each for each in self.form.items)
        if "HZ" in self._expanded(self.form.variables[variable].value):
            place = self.form.variables[variable].item.place
            self.form.problems.append((f"{name}, whose default depends on HZ", place))
        return own or variable in self.kept

    def _row(self, param: dict[str, Any]) -> str:
        name, doc = param["name"], _quoted(param["doc"] or param["name"])
        if param["default"] < 0:
            self.form.problems.append((f"{name}, whose default is negative", str(self.form.path)))
        return f"P({name}, {param['default']}, {max(param['min'], 0)}, {param['max']}, 1, {doc})"

    def _notes(self) -> str:
        """What comments say of the variables that have become parameters."""
        lines = []
        for variable, name in self.form.params.items():
            if variable not in self.form.variables:
                continue
            item = self.form.variables[variable].item
            comments = [
                each for each in [*_near(item.lead), *item.tokens] if each.kind == "comment"
            ]
            said = " ".join(_said(each.text) for each in comments)
            if said:
                lines.append(f" * {name}: {said}\n")
        init = self.form.functions.get(self.form.init)
        for statement in statements(init.body[1:-1]) if init else ():
            refused = re.match(r"if \((.*)\) \{?\s*(?:\w+\(.*\);\s*)?return -E", plain(statement))
            if refused and set(lexer.words(statement)) & self.form.params.keys():
                lines.append(f" * module_init refuses {refused[1]}\n")
        return " *\n" + "".join(lines) if lines else ""

    def _headed(self, text: str) -> str:
        """With the source and its licence in the first comment of several lines."""
        about = self.form.about
        licence = ", ".join(about.get("MODULE_LICENSE", [])) or "not named"
        authors = ", ".join(about.get("MODULE_AUTHOR", []))
        lines = [
            f"Converted by `ackclock import` from {self.form.path.name}, whose licence it keeps",
            f"(MODULE_LICENSE: {licence}).",
        ]
        if authors:
            lines.append(f"Authors: {authors}.")
        if "get_info" in self.form.ops[self.ops_name]:
            lines.append("Left out: get_info, what ss shows of a connection.")
        head = "".join(f" * {each}\n" for each in lines)
        comment = re.match(r"((?://[^\n]*\n|/\*[^\n]*\*/\n)*)/\*[ \t]*\n", text)
        if comment:
            return f"{text[: comment.end()]}{head} *\n{text[comment.end() :]}"
        first = re.match(r"(?://[^\n]*\n|/\*[^\n]*\*/\n)*", text)
        at = first.end() if first else 0
        return f"{text[:at]}/*\n{head} */\n{text[at:]}"


def _specified(function: Function) -> str:
    """`static inline u32 name`, for all functions."""
    gap = "" if function.returns.endswith("*") else " "
    return f"static inline {function.returns}{gap}{function.name}"


def _computed(kind: str, name: str, start: str, code: list[str]) -> str:
    why = "module_init of the published file computes it once" if code else "It depends on HZ"
    head = f"/* {why}. */\nstatic inline {kind} {name}(const struct sock *sk)\n{{\n"
    is_set = code and re.match(rf"(?:/\*.*?\*/|\s)*\b{name}\s*=[^=]", code[0], re.DOTALL)
    if not code:
        return f"{head}\treturn {start};\n}}"
    body = "".join(f"\t{each}\n" for each in code)
    if is_set and len(code) == 1:
        return head + re.sub(rf"\b{name}\s*=\s*", "return ", body, count=1) + "}"
    first = f"\t{kind} {name};\n\n" if is_set else f"\t{kind} {name} = {start};\n\n"
    return f"{head}{first}{body}\n\treturn {name};\n}}"


def _quoted(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    return f'"{escaped}"'


def _said(comment: str) -> str:
    return " ".join(re.sub(r"^/\*|\*/$|^//|(?<=\n)\s*\*", "", comment).split())


def _near(lead: list[Token]) -> list[Token]:
    """The tokens before an item that no blank line parts from it."""
    for index in reversed(range(len(lead))):
        if lead[index].kind == "space" and lead[index].text.count("\n") > 1:
            return lead[index + 1 :]
    return lead


def _without_comment(lead: str) -> str:
    """The lead of an item that goes: the comment right above it goes with it."""
    above, blank, _ = lead.rpartition("\n\n")
    return above + blank if blank else ("\n" if lead.startswith("\n") else "")
