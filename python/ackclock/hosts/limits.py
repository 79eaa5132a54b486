"""What a process that runs users' C files may use: memory, files, processor time."""

import os
from dataclasses import dataclass, replace
from typing import Self

from ackclock.base import units
from ackclock.base.errors import AckclockError

#: In the environment, as "memory=8GB,file=2GB,time=48h": what is not said stays.
VARIABLE = "ACKCLOCK_LIMITS"
#: Key → field, and how its value is read.
_FIELDS = {
    "memory": ("memory_bytes", units.size_bytes),
    "file": ("file_bytes", units.size_bytes),
    "time": ("cpu_s", lambda text: max(1, units.duration_ns(text) // 10**9)),
}
_LIKE = 'write it as "memory=8GB,file=2GB,time=48h"'


@dataclass(frozen=True)
class Limits:
    """Of one process. The compiler that it starts has narrower ones."""

    memory_bytes: int = 5 * 10**9
    file_bytes: int = 10**9
    cpu_s: int = 24 * 3600

    @classmethod
    def read(cls) -> Self:
        """What the environment says. Raises `AckclockError` that says what to write."""
        found = cls()
        for each in filter(None, os.environ.get(VARIABLE, "").split(",")):
            key, _, value = (part.strip() for part in each.partition("="))
            if key not in _FIELDS:
                raise AckclockError(
                    f'{VARIABLE}: "{each}": choose from {", ".join(_FIELDS)}; {_LIKE}'
                )
            field, read = _FIELDS[key]
            try:
                found = replace(found, **{field: read(value)})
            except ValueError as error:
                raise AckclockError(f'{VARIABLE}: "{each}": {error}') from None
        return found

    def obey(self) -> None:
        """Sets them for this process and its children, where the system has limits."""
        try:
            import resource  # noqa: PLC0415 (Windows has none)
        except ImportError:
            return
        most = {
            resource.RLIMIT_DATA: self.memory_bytes,
            resource.RLIMIT_FSIZE: self.file_bytes,
            resource.RLIMIT_CPU: self.cpu_s,
            resource.RLIMIT_CORE: 0,
        }
        for which, wanted in most.items():
            _, hard = resource.getrlimit(which)
            limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(which, (limit, limit))

    @property
    def too_much_memory(self) -> str:
        """What to say when memory does not suffice."""
        gb = self.memory_bytes / 1e9
        return f"the run needs more than {gb:.3g} GB of memory; {VARIABLE}=memory={2 * gb:.0f}GB"
