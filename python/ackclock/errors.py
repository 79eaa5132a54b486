"""The one exception that a user is meant to read."""

from ackclock._core import AckclockError

__all__ = ["AckclockError"]
