"""TODO."""

from __future__ import annotations

from bench.records.environment import LABELS, UNKNOWN, Environment

NAMED = {  # fields that may explain a difference, in words
    "chip": "chip",
    "model": "model",
    "machine": "architecture",
    "translated": "run by Rosetta",
    "cores": "CPU cores",
    "performance_cores": "performance cores",
    "efficiency_cores": "efficiency cores",
    "gpu_cores": "GPU cores",
    "platform": "operating system",
    "python": "Python",
    "torch": "PyTorch",
    "blas": "BLAS",
    "threads": "CPU threads",
    "float32_matmul": "float32 precision",
    "power": "power",
    "low_power": "low-power mode",
}


def differences(first: Environment, second: Environment) -> list[tuple[str, str, str]]:
    """What may explain a difference between two runs: what it is, in the first, in the second.

    Left out is what changes by itself (the time, the load, memory to within 1 %), and what one of them does not tell.
    """
    found = [
        (words, _told(a), _told(b))
        for name, words in NAMED.items()
        if (a := getattr(first, name)) != (b := getattr(second, name)) and not {a, b} & {None, "", UNKNOWN}
    ]
    if abs(first.memory_bytes - second.memory_bytes) > 0.01 * max(first.memory_bytes, second.memory_bytes):
        found.append(("memory", *(f"{e.memory_bytes / 2**30:.0f} GiB" for e in (first, second))))
    for name in sorted({*first.devices} & {*second.devices}):
        if first.devices[name] != second.devices[name]:
            found.append((f"{LABELS.get(name, name)} hardware", first.devices[name], second.devices[name]))
    for name in sorted({*first.variables} | {*second.variables}):
        if (a := first.variables.get(name)) != (b := second.variables.get(name)):
            found.append((name, "not set" if a is None else a, "not set" if b is None else b))
    return found


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
