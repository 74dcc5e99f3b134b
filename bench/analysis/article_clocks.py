"""What the article's clocks read, beside what is so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.records.case import Case
from bench.records.reason import Quantity, Reason, because
from bench.records.run import Run
from bench.workloads.article import published
from bench.workloads.networks import NETWORKS


@dataclass(frozen=True, slots=True)
class Reading:
    """One case by both clocks, in seconds: of a call, or of all batches."""

    case: Case
    article_s: float
    wall_s: float
    published_s: float | None

    @property
    def error(self) -> float:
        """What the article's clock shows over what is so: 2 reads twice too long."""
        return self.article_s / self.wall_s


def readings(run: Run) -> list[Reading]:
    """Every case that was read by both clocks."""
    found = []
    for m in run.measurements:
        if m.article_s is None or not m.believed:
            continue
        there = published()["seconds"].get(m.case.workload, {}).get(m.case.device)
        if m.learning is None:
            found.append(Reading(m.case, m.article_s, m.median_s.value, None))
        else:
            wall = sum(m.learning.epochs_s)
            per_step = sum(m.samples_s) / len(m.samples_s)
            found.append(Reading(m.case, m.article_s / per_step * wall, wall, there))
    return found


def speedups(run: Run, workload: str, size: int, device: str, choose: Callable[[Reading], float]) -> float | None:
    """How many times faster than the CPU by one of the clocks; None where there is no pair."""
    pair = {r.case.device: choose(r) for r in readings(run) if (r.case.workload, r.case.size) == (workload, size)}
    return pair["cpu"] / pair[device] if "cpu" in pair and device in pair else None


def of_replay(run: Run) -> list[Reason]:
    """For each network: the speed-up by either clock, and what the article's clock missed."""
    by_case = {(r.case.workload, r.case.device): r for r in readings(run) if "/" in r.case.workload}
    found = []
    for (workload, device), reading in by_case.items():
        reference = by_case.get((workload, "cpu"))
        if device == "cpu" or not workload.endswith("train") or reference is None:
            continue
        found.append(
            because(
                "article_training",
                title=NETWORKS[workload.partition("/")[0]].title,
                label=run.label(device),
                claimed=Quantity(reference.article_s / reading.article_s, ""),
                true=Quantity(reference.wall_s / reading.wall_s, ""),
                there=_why(reference.error),
                here=_why(reading.error),
            )
        )
    return found


def _why(error: float) -> Reason:
    """What `process_time` did to a time: it adds up threads, and leaves out every kind of waiting."""
    if abs(error - 1) < 0.03:
        return because("true_time")
    return because("adds_threads" if error > 1 else "leaves_out_waiting", factor=Quantity(error, ""))
