"""Two runs side by side: the same cases, how many times faster, how sure, and what else differs between them.

Nothing is merged. A ratio within one run comes from rounds that took turns; here the two runs were made at
different times or on different machines, so its interval is Welch's, on the logarithms of the rounds' medians. It
knows how the rounds of a run scatter, not how whole runs do: repeat a run to learn that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bench import stats
from bench.analysis.differences import Difference, differences
from bench.records.case import Case
from bench.records.measurement import Measurement
from bench.records.reason import Reason, because
from bench.records.run import Run

SAME = 0.05  # within 5 % nobody would notice
PairVerdict = Literal["faster", "slower", "same", "undecided"]
FASTER: Final = "faster"
SLOWER: Final = "slower"
EQUAL: Final = "same"
UNDECIDED: Final = "undecided"
EACH: tuple[PairVerdict, ...] = (FASTER, SLOWER, EQUAL, UNDECIDED)
OVERALL: Mapping[PairVerdict, str] = {  # kinds
    FASTER: "faster_overall",
    SLOWER: "slower_overall",
    EQUAL: "equal_overall",
    UNDECIDED: "undecided_overall",
}
COUNTED: Mapping[PairVerdict, str] = {
    FASTER: "count_faster",
    SLOWER: "count_slower",
    EQUAL: "count_same",
    UNDECIDED: "count_undecided",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in both runs. ``speedup``: how many times faster the second run is."""

    case: Case
    first: Measurement
    second: Measurement
    speedup: stats.Estimate | None  # None where one of the two is wrong, or has too few samples to know
    verdict: PairVerdict


@dataclass(frozen=True)
class Comparison:
    """A run against another one."""

    pairs: tuple[Pair, ...]
    overall: stats.Estimate | None  # geometric mean of the pairs' speed-ups
    verdict: PairVerdict  # of the overall figure
    only_first: tuple[Case, ...]  # cases that the other run lacks, or that failed there
    only_second: tuple[Case, ...]
    differences: tuple[Difference, ...]  # of the environments: what, first, second


def compare(first: Run, second: Run) -> Comparison:
    """Every case that both measured, in the first one's order."""
    there = {m.case: m for m in second.measurements}
    pairs = tuple(_pair(m, there[m.case]) for m in first.measurements if m.case in there)
    here = {m.case for m in first.measurements}
    overall = _overall([pair.speedup for pair in pairs if pair.speedup])
    return Comparison(
        pairs,
        overall,
        judge(overall),
        tuple(case for case in (m.case for m in first.measurements) if case not in there),
        tuple(case for case in there if case not in here),
        tuple(differences(first.environment, second.environment)),
    )


def judge(speedup: stats.Estimate | None) -> PairVerdict:
    """EQUAL if the whole interval is within SAME of 1, FASTER or SLOWER if it excludes 1, else UNDECIDED."""
    if speedup is None:
        return UNDECIDED
    if speedup.low >= 1 / (1 + SAME) and speedup.high <= 1 + SAME:
        return EQUAL
    if speedup.low > 1:
        return FASTER
    return SLOWER if speedup.high < 1 else UNDECIDED


def slower_than(comparison: Comparison, factor: float) -> tuple[Pair, ...]:
    """Cases in which the second run is slower by more than ``factor``, as the interval supports."""
    return tuple(pair for pair in comparison.pairs if pair.speedup and pair.speedup.high < 1 / factor)


def summary(comparison: Comparison, first: str, second: str) -> Reason:
    """The comparison as a whole; ``first`` and ``second`` are the runs' names."""
    total, overall = len(comparison.pairs), comparison.overall
    if not comparison.pairs:
        return because("nothing_common")
    if overall is None:
        return because("none_comparable", second=second, first=first, total=total)
    counts = [(sum(p.verdict == v for p in comparison.pairs), v) for v in EACH]
    told = tuple(because(COUNTED[verdict], n=n) for n, verdict in counts if n)
    verdict = because(OVERALL[comparison.verdict], first=first, second=second, figure=overall)
    return because("compared", verdict=verdict, total=total, told=told)


def _pair(first: Measurement, second: Measurement) -> Pair:
    speedup = stats.unpaired_ratio(first.by_round, second.by_round) if first.believed and second.believed else None
    return Pair(first.case, first, second, speedup, judge(speedup))


def _overall(speedups: Sequence[stats.Estimate]) -> stats.Estimate | None:
    """Geometric mean; its interval takes the cases' errors as independent of each other."""
    if not speedups:
        return None
    mid = stats.geometric_mean([s.value for s in speedups])
    half = math.sqrt(sum((math.log(s.high / s.low) / 2) ** 2 for s in speedups)) / len(speedups)
    return stats.Estimate(mid, mid * math.exp(-half), mid * math.exp(half))
