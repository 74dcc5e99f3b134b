"""Two runs side by side: the same cases, how many times faster, how sure, and what else differs between them.

Nothing is merged. A ratio within one run comes from rounds that took turns; here the two runs were made at
different times or on different machines, so its interval is Welch's, on the logarithms of the rounds' medians. It
knows how the rounds of a run scatter, not how whole runs do: repeat a run to learn that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import stats
from bench.analysis.differences import differences
from bench.records.case import Case
from bench.records.measurement import Measurement
from bench.records.run import Run
from bench.text.language import translate
from bench.text.units import si, significant, span, times

SAME = 0.05  # within 5 % nobody would notice
FASTER, SLOWER, EQUAL, UNDECIDED = "faster", "slower", "same", "undecided"


@dataclass(frozen=True, slots=True)
class Pair:
    """One case in both runs. ``speedup``: how many times faster the second run is."""

    case: Case
    first: Measurement
    second: Measurement
    speedup: stats.Estimate | None  # None where one of the two is wrong, or has too few samples to know
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """A run against another one."""

    pairs: tuple[Pair, ...]
    overall: stats.Estimate | None  # geometric mean of the pairs' speed-ups
    verdict: str  # of the overall figure
    only_first: tuple[Case, ...]  # cases that the other run lacks, or that failed there
    only_second: tuple[Case, ...]
    differences: tuple[tuple[str, str, str], ...]  # of the environments: what, first, second


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


def judge(speedup: stats.Estimate | None) -> str:
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


def sentence(comparison: Comparison, first: str, second: str) -> str:
    """The comparison in words; ``first`` and ``second`` are the runs' names."""
    if not comparison.pairs:
        return translate("The two runs have no case in common.")
    counts = [(sum(p.verdict == v for p in comparison.pairs), v) for v in (FASTER, SLOWER, EQUAL, UNDECIDED)]
    told = ", ".join(f"{n} {translate(verdict)}" for n, verdict in counts if n)
    total, overall = len(comparison.pairs), comparison.overall
    if overall is None:
        return translate(
            "{second} against {first}: none of the {total} common cases can be compared.",
            second=second,
            first=first,
            total=total,
        )
    figure = times(overall)
    words = {
        FASTER: translate("{second} is {figure} as fast as {first} overall", second=second, figure=figure, first=first),
        SLOWER: translate(
            "{second} is slower than {first} overall: {figure} as fast", second=second, first=first, figure=figure
        ),
        EQUAL: translate(
            "{second} and {first} are equally fast overall, within 5 %: {figure}",
            second=second,
            first=first,
            figure=figure,
        ),
        UNDECIDED: translate(
            "{second} and {first} can't be told apart overall: {figure}", second=second, first=first, figure=figure
        ),
    }
    return translate(
        "{verdict}; of {total} common cases {told}.", verdict=words[comparison.verdict], total=total, told=told
    )


COLUMNS = ("times as fast", "95 % interval", "verdict")  # of ``rows``, behind case, first and second run


def rows(comparison: Comparison, named: Callable[[Case], str] = str) -> list[tuple[str, ...]]:
    """Every common case for people: its name, both medians, and COLUMNS."""
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
