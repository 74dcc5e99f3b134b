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
    "machine": translatable("architecture"),
    "translated": translatable("run by Rosetta"),
    "cores": translatable("CPU cores"),
    "performance_cores": translatable("performance cores"),
    "efficiency_cores": translatable("efficiency cores"),
    "gpu_cores": translatable("GPU cores"),
    "platform": translatable("operating system"),
    "python": "Python",
    "torch": "PyTorch",
    "blas": "BLAS",
    "threads": translatable("CPU threads"),
    "float32_matmul": translatable("float32 precision"),
    "power": translatable("power"),
    "low_power": translatable("low-power mode"),
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
        return translate("{device} hardware", device=LABELS.get(device, device))
    return translate(FACTS[what]) if what in FACTS else what
