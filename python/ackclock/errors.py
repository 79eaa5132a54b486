"""The one exception that a user is meant to read."""


class AckclockError(ValueError):
    """Bad input: one message that names field, value and fix."""


class AlgorithmError(AckclockError):
    """What the code of an algorithm did in a run: an impossible window, a hook without an end."""
