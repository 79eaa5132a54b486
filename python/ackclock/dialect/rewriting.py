"""Code of the kernel's form in our own dialect's words: what needs the socket is given it."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ackclock.dialect import lexer
from ackclock.dialect.c_file import declarators_of
from ackclock.dialect.kernel_form import Function, KernelForm
from ackclock.dialect.lexer import ASSIGNMENTS, Token, after, before, closing, following, seen

#: What stands for a value of the host → with the socket.
_VALUES = {
    "jiffies": "cc_jiffies({})", "jiffies_64": "(u64)cc_jiffies({})",
    "tcp_jiffies32": "tcp_jiffies32({})", "TCP_RTO_MAX": "(120 * cc_hz({}))",
    "TCP_RTO_MIN": "(cc_hz({}) / 5)", "TCP_TIMEOUT_INIT": "cc_hz({})",
}  # fmt: skip
_HZ = {"HZ", "CONFIG_HZ"}
#: What is called → its name where the socket comes first.
_CALLS = {
    "get_jiffies_64": "(u64)cc_jiffies",
    "usecs_to_jiffies": "cc_usecs_to_jiffies", "msecs_to_jiffies": "cc_msecs_to_jiffies",
    "jiffies_to_msecs": "cc_jiffies_to_msecs", "jiffies_to_usecs": "cc_jiffies_to_usecs",
    "tcp_clock_us": "cc_clock_us", "tcp_clock_ns": "cc_clock_ns", "local_clock": "cc_clock_ns",
    "ktime_get_ns": "cc_clock_ns", "ktime_get_real_ns": "cc_clock_ns",
    "ktime_get_boottime_ns": "cc_clock_ns", "ktime_get": "(ktime_t)cc_clock_ns",
    "ktime_get_real": "(ktime_t)cc_clock_ns",
}  # fmt: skip
#: The same for those that change the socket.
_CHANGES = {
    "get_random_u32": "cc_random", "get_random_int": "cc_random", "prandom_u32": "cc_random",
    "get_random_u16": "(u16)cc_random", "get_random_u8": "(u8)cc_random",
    "get_random_u32_below": "cc_random_below", "prandom_u32_max": "cc_random_below",
    "get_random_bytes": "cc_random_bytes", "prandom_bytes": "cc_random_bytes",
}  # fmt: skip
_MEMORY = {
    "kmalloc", "kzalloc", "kcalloc", "kmalloc_array", "kvmalloc", "kvzalloc", "kvcalloc", "kfree",
    "kvfree", "kfree_sensitive",
}  # fmt: skip
#: What simulates in the kernel's form, and has no counterpart.
_NOWHERE = {
    *_MEMORY, "get_random_u64", "get_random_long", "get_random_u32_above",
    "get_random_u32_inclusive", "TICK_NSEC", "MAX_JIFFY_OFFSET",
    "secs_to_jiffies", "nsecs_to_jiffies", "jiffies_to_nsecs", "tcp_clock_ms",
    "time_is_before_jiffies", "time_is_after_jiffies", "tcp_ca_needs_ecn",
}  # fmt: skip
#: Words of the kernel's build, in code that is kept.
_DROPPED = {"__bpf_kfunc", "__read_mostly", "__ro_after_init", "__init", "noinline", "__cold"}
#: Types of a parameter whose number is the one that the file sees.
_UNSIGNED = {"u32", "__u32", "uint", "unsigned", "unsigned int", "uint32_t"}
_RENO = {"ssthresh": "tcp_reno_ssthresh", "cong_avoid": "tcp_reno_cong_avoid",
         "undo_cwnd": "tcp_reno_undo_cwnd"}  # fmt: skip


@dataclass
class Scope:
    """Where code stands: its socket, what hides the file's names, and the tokens' texts."""

    tokens: list[Token]
    socket: str
    hidden: Collection[str] = ()
    #: The socket's type is const struct sock *.
    is_const: bool = False
    #: What module_init computes of parameters: BPF has no signed division.
    is_unsigned: bool = False
    out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.out = [each.text for each in self.tokens]

    @property
    def changed(self) -> str:
        """The socket, for what changes it."""
        return f"(struct sock *){self.socket}" if self.is_const else self.socket

    def drop(self, start: int, end: int) -> None:
        """Removes the tokens from start up to end, and what is blank before them on the line."""
        self.out[start:end] = [""] * (end - start)
        if start and self.tokens[start - 1].kind == "space":
            self.out[start - 1] = self.out[start - 1].rstrip(" \t").removesuffix("\n")

    def statement(self, index: int) -> tuple[int, int]:
        """The places from which and up to which the statement goes that this place is in."""
        start = index
        while start and self.tokens[start - 1].text not in {";", "{", "}"}:
            start -= 1
        start = next(seen(self.tokens, start))
        end = next(i for i in seen(self.tokens, index) if self.tokens[i].text == ";")
        return start, end + 1


class Rewriter:
    """Rewrites the code of one file.

    `computed`: variables that module_init sets. `private`: the type of the private state.
    """

    def __init__(self, form: KernelForm, computed: Collection[str], private: str) -> None:
        self.form = form
        self.private = private
        self.computed = set(computed)
        self.params = {each for each in form.params if each in form.variables} - self.computed
        #: Functions and macros that use the socket and are not given it; do they change it?
        self.needy: dict[str, bool] = {}
        self._find_needy()
        self.rules = self._rules()

    def parameters(self, function: Function) -> str:
        """A function's parameters, with the socket if it needs it."""
        inside = function.item.tokens[function.opening + 1 : function.closing]
        params = "".join(each.text for each in inside)
        if function.name not in self.needy:
            return params
        const = "" if self.needy[function.name] else "const "
        rest = "" if params.strip() in {"", "void"} else f", {params}"
        return f"{const}struct sock *sk{rest}"

    def _uses(self, tokens: list[Token], hidden: Collection[str]) -> tuple[bool, bool]:
        """Whether the code needs the socket, and whether to change it."""
        needs = changes = False
        for index in seen(tokens):
            name = tokens[index].text
            if tokens[index].kind != "word" or self._is_other(tokens, index, hidden):
                changes |= name == "snd_cwnd_clamp" and after(tokens, index) == "="
                needs |= name == "icsk_ca_state"
                continue
            needs |= name in {*_VALUES, *_HZ, *_CALLS, *_CHANGES, *self.params, *self.computed}
            needs |= name in self.needy
            changes |= name in _CHANGES or self.needy.get(name, False)
        return needs or changes, changes

    def _find_needy(self) -> None:
        """Functions without a socket, and all macros: until there are no more."""
        found = True
        while found:
            found = False
            for name, macro in self.form.macros.items():
                found |= self._note(name, self._uses(macro.body, macro.params))
            for name, function in self.form.functions.items():
                if function.socket is None:
                    found |= self._note(name, self._uses(function.body, function.hidden))

    def _note(self, name: str, uses: tuple[bool, bool]) -> bool:
        needs, changes = uses
        if not needs or (name in self.needy and self.needy[name] >= changes):
            return False
        self.needy[name] = changes
        return True

    def _is_other(self, tokens: list[Token], index: int, hidden: Collection[str]) -> bool:
        """Whether the word is a member, a label or a name of the function's own."""
        was, then = before(tokens, index), after(tokens, index)
        is_label = was == "goto" or (then == ":" and was in {";", "{", "}"})
        return was in {".", "->"} or is_label or tokens[index].text in hidden

    def code(self, scope: Scope) -> str:
        """The code of a function or a macro."""
        for index in seen(scope.tokens):
            token = scope.tokens[index]
            rule = self.rules.get(token.text)
            if token.kind == "word" and before(scope.tokens, index) in {".", "->"}:
                self._member(scope, index)
            elif rule and not self._is_other(scope.tokens, index, scope.hidden):
                rule(scope, index)
        self._drop_unused(scope)
        return "".join(scope.out)

    def _rules(self) -> dict[str, Callable[[Scope, int], None]]:
        """Word → what rewrites it. The file's own names come first."""
        functions = {name for name in self.form.functions if name in self.needy}
        macros = {name for name in self.form.macros if name in self.needy}
        return {
            **dict.fromkeys(_DROPPED, self._drop),
            **dict.fromkeys(_VALUES, self._value),
            **dict.fromkeys(_HZ, self._hz),
            **dict.fromkeys([*_CALLS, *_CHANGES], self._call),
            **dict.fromkeys(_NOWHERE, self._refuse),
            "inet_csk_ca": self._private,
            "__tcp_send_ack": self._send_ack,
            "INET_ECN_dontxmit": self._drop_statement,
            **dict.fromkeys(self.form.variables, self._variable),
            **dict.fromkeys(self.params, self._param),
            **dict.fromkeys(self.computed, self._computed),
            **dict.fromkeys(functions, self._own_call),
            **dict.fromkeys(macros, self._macro),
        }

    @staticmethod
    def _drop(scope: Scope, index: int) -> None:
        space = index - 1 if index else index + 1
        scope.out[index] = scope.out[space] = ""

    @staticmethod
    def _drop_statement(scope: Scope, index: int) -> None:
        scope.drop(*scope.statement(index))

    @staticmethod
    def _value(scope: Scope, index: int) -> None:
        scope.out[index] = _VALUES[scope.tokens[index].text].format(scope.socket)

    @staticmethod
    def _computed(scope: Scope, index: int) -> None:
        scope.out[index] = f"{scope.tokens[index].text}({scope.socket})"

    def _own_call(self, scope: Scope, index: int) -> None:
        changes = self.needy[scope.tokens[index].text]
        self._give(scope, index, scope.changed if changes else scope.socket)

    def _macro(self, scope: Scope, index: int) -> None:
        if scope.socket != "sk":
            name = scope.tokens[index].text
            problem = f"{name}, a macro that needs the socket, which is {scope.socket} here, as sk"
            self.form.problems.append((problem, scope.tokens[index].place))

    def _refuse(self, scope: Scope, index: int) -> None:
        self.form.problems.append((scope.tokens[index].text, scope.tokens[index].place))

    def _hz(self, scope: Scope, index: int) -> None:
        """HZ is an int. A quotient of it is taken unsigned, for BPF has no signed division."""
        of, was = scope.tokens, before(scope.tokens, index)
        slash = following(of, index)
        number = following(of, slash) if slash is not None and of[slash].text == "/" else None
        if number is not None and of[number].kind == "number" and was not in {"*", "/", "%", "~"}:
            scope.out[index] = f"(int)(cc_hz({scope.socket})"
            scope.out[number] += ")"
        else:
            scope.out[index] = f"(int)cc_hz({scope.socket})"

    def _call(self, scope: Scope, index: int) -> None:
        name = scope.tokens[index].text
        if name in _CALLS:
            self._give(scope, index, scope.socket)
        else:
            self._give(scope, index, scope.changed)
        scope.out[index] = _CALLS.get(name) or _CHANGES[name]

    def _give(self, scope: Scope, index: int, socket: str) -> None:
        """Gives the socket to a call, as its first argument."""
        opening = following(scope.tokens, index)
        if opening is None or scope.tokens[opening].text != "(":
            problem = f"the address of {scope.tokens[index].text}, which needs the socket"
            self.form.problems.append((problem, scope.tokens[index].place))
            return
        comma = "" if after(scope.tokens, opening) == ")" else ", "
        scope.out[opening] = f"({socket}{comma}"

    def _param(self, scope: Scope, index: int) -> None:
        variable = self.form.variables[scope.tokens[index].text]
        if is_written(scope.tokens, index):
            problem = f"{variable.name}, a parameter that is written"
            self.form.problems.append((problem, scope.tokens[index].place))
        read = f"cc_param({scope.socket}, {self.form.params[variable.name]})"
        is_asked = self._is_condition(scope.tokens, index)
        is_plain = variable.kind in _UNSIGNED or is_asked or scope.is_unsigned
        cast = "" if is_plain else f"({variable.kind})"
        scope.out[index] = cast + read

    @staticmethod
    def _is_condition(tokens: list[Token], index: int) -> bool:
        """Whether the word is asked for being 0, as in `if (x)` or `!x`."""
        was, then = before(tokens, index), after(tokens, index)
        if was == "(":
            opening = max(i for i in seen(tokens, 0, index) if tokens[i].text == "(")
            is_if = before(tokens, opening) in {"if", "while"}
            return is_if and then in {")", "&&", "||"}
        return was == "!" or (was in {"&&", "||"} and then in {")", "&&", "||"})

    def _variable(self, scope: Scope, index: int) -> None:
        if is_written(scope.tokens, index):
            problem = f"{scope.tokens[index].text}, a variable that is written at run time"
            self.form.problems.append((problem, scope.tokens[index].place))

    def _private(self, scope: Scope, index: int) -> None:
        """Another type than the file's own private state is cast."""
        start = index
        while start and scope.tokens[start - 1].text not in {";", "{", "}"}:
            start -= 1
        declared = lexer.plain(scope.tokens[start:index])
        of = re.fullmatch(r"(?:const )?((?:struct )?\w+) \* ?(?:const )?\w+ =", declared)
        if of is not None and of[1] != self.private:
            scope.out[index] = f"(void *){scope.out[index]}"

    def _send_ack(self, scope: Scope, index: int) -> None:
        """Ours has no flags."""
        opening = following(scope.tokens, index) or 0
        end = closing(scope.tokens, opening)
        commas = [
            i
            for i in seen(scope.tokens, opening, end)
            if scope.tokens[i].text == "," and _depth(scope.tokens, opening, i) == 1
        ]
        if len(commas) != 2 or lexer.plain(scope.tokens[commas[1] + 1 : end]) != "0":
            self.form.problems.append(("__tcp_send_ack with flags", scope.tokens[index].place))
            return
        scope.out[commas[1] : end] = [""] * (end - commas[1])

    def _member(self, scope: Scope, index: int) -> None:
        name = scope.tokens[index].text
        if name == "icsk_ca_state":
            start = _object(scope.tokens, index)
            scope.out[start : index + 1] = [""] * (index + 1 - start)
            scope.out[start] = f"tcp_ca_state({scope.socket})"
        elif name == "icsk_ca_ops":
            self._switch(scope, index)
        elif name == "snd_cwnd_clamp" and after(scope.tokens, index) in ASSIGNMENTS:
            start, end = scope.statement(index)
            equals = following(scope.tokens, index) or index
            if scope.tokens[equals].text != "=":
                self.form.problems.append(("a write to snd_cwnd_clamp", scope.tokens[index].place))
            scope.out[start : equals + 1] = [""] * (equals + 1 - start)
            scope.out[start] = f"cc_set_cwnd_clamp({scope.changed},"
            scope.out[end - 1] = ");"

    def _switch(self, scope: Scope, index: int) -> None:
        """A socket that goes on as Reno."""
        start, end = scope.statement(index)
        said = lexer.plain(scope.tokens[start:end])
        to = re.search(r"&(\w+)\s*\)?;$", said)
        members = self.form.ops.get(to[1]) if to else None
        hooks = {name: lexer.plain(value) for name, value in (members or {}).items()}
        for name in ("name", "owner", "get_info"):
            hooks.pop(name, None)
        if hooks != _RENO:
            problem = "icsk_ca_ops, which may become Reno's only"
            self.form.problems.append((problem, scope.tokens[index].place))
            return
        scope.out[start:end] = [""] * (end - start)
        scope.out[start] = f"cc_become_reno({scope.changed});"

    def tables(self, scope: Scope, function: str) -> str:
        """Takes `static const` variables out of a function: clang 14 for BPF wants them outside.

        Returns them; in the function they are called FUNCTION_NAME.
        """
        taken = ""
        for index in seen(scope.tokens):
            if scope.tokens[index].text != "static":
                continue
            start, end = scope.statement(index)
            of = scope.tokens[start:end]
            if "const" not in lexer.words(of):
                self.form.problems.append((f"a static variable of {function}", of[0].place))
                continue
            name = declarators_of(of)[0][0]
            for other in seen(scope.tokens):
                is_it = scope.tokens[other].text == name
                if is_it and before(scope.tokens, other) not in {".", "->"}:
                    scope.out[other] = f"{function}_{name}"
            text = re.sub(r"(?m)^\t", "", "".join(scope.out[start:end]))
            taken += f"{as_table(text)}\n\n"
            scope.drop(start, end)
        return taken

    def _drop_unused(self, scope: Scope) -> None:
        """Drops `struct inet_connection_sock *icsk = inet_csk(sk);` where nothing is left of it."""
        for index in seen(scope.tokens):
            if scope.tokens[index].text != "inet_connection_sock":
                continue
            start, end = scope.statement(index)
            said = lexer.plain(scope.tokens[start:end])
            name = re.search(r"\* ?(?:const )?(\w+) = inet_csk\(", said)
            left = [i for i in seen(scope.tokens) if name and scope.out[i] == name[1]]
            if len(left) == 1:
                scope.drop(start, end)


def as_table(text: str) -> str:
    """The declaration of an array, as BPF wants it."""
    return re.sub(r"\]\s*=", "] CC_TABLE =", text, count=1)


def _depth(tokens: list[Token], start: int, end: int) -> int:
    texts = [tokens[index].text for index in seen(tokens, start, end)]
    return sum((text in lexer.BRACKETS) - (text in lexer.BRACKETS.values()) for text in texts)


def _object(tokens: list[Token], index: int) -> int:
    """Where the expression begins whose member this is: `icsk` or `inet_csk(sk)`."""
    visible = list(seen(tokens, 0, index))
    at = len(visible) - 2
    if tokens[visible[at]].text == ")":
        depth = 0
        while at >= 0:
            text = tokens[visible[at]].text
            depth += (text == ")") - (text == "(")
            if depth == 0:
                break
            at -= 1
        at -= 1
    return visible[at]


def is_written(tokens: list[Token], index: int) -> bool:
    """Whether the word at this place is assigned to."""
    then = after(tokens, index)
    if then == "[":
        opening = following(tokens, index)
        then = after(tokens, closing(tokens, opening or 0))
    return then in {*ASSIGNMENTS, "++", "--"} or before(tokens, index) in {"++", "--"}
