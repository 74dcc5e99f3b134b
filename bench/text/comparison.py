"""Comparisons of runs as rows of text."""

from __future__ import annotations

from collections.abc import Callable

from bench.analysis.comparison import Comparison
from bench.records.case import Case
from bench.records.environment import LABELS
from bench.text.language import translatable, translate
from bench.text.tell import told
from bench.text.units import si, significant, span

COLUMNS = (  # of ``rows``, behind case, first and second run
    translatable("times as fast"),
    translatable("95 % interval"),
    translatable("verdict"),
)
FACTS = {  # fields of an environment, in words
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
    "low_power": "low-power mode",
}


def rows(comparison: Comparison, named: Callable[[Case], str] = str) -> list[tuple[str, ...]]:
    """Every common case: its name, both medians, and COLUMNS."""
    return [
        (
            named(pair.case),
            si(pair.first.median_s.value, "s"),
            si(pair.second.median_s.value, "s"),
            significant(pair.speedup.value) if pair.speedup else "–",
            span(pair.speedup) if pair.speedup else "–",
            translate(pair.verdict),
        )
        for pair in comparison.pairs
    ]


def differences(comparison: Comparison) -> list[tuple[str, str, str]]:
    """What else differs between the two: what, in the first, in the second."""
    return [(_fact(one.what), told(one.first), told(one.second)) for one in comparison.differences]


def _fact(what: str) -> str:
    kind, _, device = what.partition(" ")
    if kind == "hardware" and device:
        return f"{LABELS.get(device, device)} hardware"
    return FACTS.get(what, what)
