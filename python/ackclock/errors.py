"""The one exception that a user is meant to read."""


class AckclockError(ValueError):
    """Bad input: one message that names field, value and fix."""
