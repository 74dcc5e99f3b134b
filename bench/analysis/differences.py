"""What differs between the environments of two runs, and may explain why one is faster."""

from __future__ import annotations

from typing import NamedTuple

from bench.records.environment import UNKNOWN, Environment
from bench.records.reason import Figure, because

FIELDS = (  # that may explain a difference
    "chip",
    "model",
    "machine",
    "translated",
    "cores",
    "performance_cores",
    "efficiency_cores",
    "gpu_cores",
    "platform",
    "python",
    "torch",
    "blas",
    "threads",
    "float32_matmul",
    "power",
    "low_power",
)
GIB = 2**30


class Difference(NamedTuple):
    """One fact, in the first run and in the second. ``what`` is a field of the environment, or a variable's name."""

    what: str
    first: Figure
    second: Figure


def differences(first: Environment, second: Environment) -> list[Difference]:
    """What may explain a difference between two runs.

    Left out is what changes by itself (the time, the load, memory to within 1 %), and what one of them does not tell.
    """
    found = [
        Difference(name, _figure(a), _figure(b))
        for name in FIELDS
        if (a := getattr(first, name)) != (b := getattr(second, name)) and not {a, b} & {None, "", UNKNOWN}
    ]
    if abs(first.memory_bytes - second.memory_bytes) > 0.01 * max(first.memory_bytes, second.memory_bytes):
        here, there = (because("gib", number=round(e.memory_bytes / GIB)) for e in (first, second))
        found.append(Difference("memory", here, there))
    for name in sorted({*first.devices} & {*second.devices}):
        if first.devices[name] != second.devices[name]:
            found.append(Difference(f"hardware {name}", first.devices[name], second.devices[name]))
    for name in sorted({*first.variables} | {*second.variables}):
        if (a := first.variables.get(name)) != (b := second.variables.get(name)):
            found.append(Difference(name, _figure(a), _figure(b)))
    return found


def _figure(value: object) -> Figure:
    if value is None:
        return because("not_set")
    if isinstance(value, bool):
        return because("yes" if value else "no")
    return str(value)
