"""The one exception that a user is meant to read."""

import re

#: What a terminal obeys instead of showing it, and what turns the direction of a text.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with its control characters spelt out, as JSON spells them.

    Names of files, the texts in a C file and what a compiler says are of others' making.
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class AckclockError(ValueError):
    """Bad input: one message that names field, value and fix."""

    def __str__(self) -> str:
        return visible(super().__str__())


class FieldError(AckclockError):
    """A field of a scenario in canonical form that cannot run: `args` are field, value and fix."""

    def __str__(self) -> str:
        return visible("{} = {}: {}".format(*self.args))


class AlgorithmError(AckclockError):
    """What the code of an algorithm did in a run: an impossible window, a hook without an end."""
