"""In which units people see a sweep: the same in its table and in its picture."""

from dataclasses import replace

from ackclock.estimates.stats import Estimate
from ackclock.sweeps.axes import Axis

#: Ending of a column → factor and unit for people.
UNITS = {"bps": (1e-6, "Mb/s"), "bytes": (1e-6, "MB"), "packets": (1, "packets"), "s": (1, "s"),
         "bdp": (1, "BDP")}  # fmt: skip


def unit(column: str, most: float | None) -> tuple[float, str]:
    """Factor and unit in which people see a column: times below a second are in ms."""
    scale, unit = UNITS.get(column.rpartition("_")[2], (1, ""))
    return (1e3, "ms") if unit == "s" and most is not None and most < 1 else (scale, unit)


def scale(axis: Axis) -> tuple[float, str]:
    """The same of an axis."""
    ends = axis.values or (axis.low, axis.high)
    most = max(axis.in_table(value) for value in ends) if axis.numeric else None
    return unit(axis.column, most) if axis.column != axis.key else (1, "")


def named(column: str, unit: str) -> str:
    """A metric for people: "goodput (Mb/s)"."""
    name = (column.rpartition("_")[0] if unit else column).replace("_", " ")
    return f"{name} ({unit})" if unit else name


def label(axis: Axis) -> str:
    """An axis for people: "rtt (ms)"."""
    unit = scale(axis)[1]
    return f"{axis.key} ({unit})" if unit else axis.key


def scaled(estimate: Estimate, scale: float) -> Estimate:
    """The estimate in another unit."""
    low, high = estimate.low * scale, estimate.high * scale
    return replace(estimate, mean=estimate.mean * scale, low=low, high=high)
