"""Reasons to be careful with a run; only where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.records.case import Variant
from bench.records.measurement import BUSY, CONVERGED, NOISY, TIMED_OUT, UNVERIFIED, WRONG, Measurement
from bench.records.reason import Figure, Quantity, Reason, because
from bench.records.run import Run

MOST_NAMED, MOST_FLAGGED = 4, 3
ONE_SIDED = 0.9  # share of the largest class from which a network learns little
STATUSES = {  # kinds behind "1 of 9 cases", behind "2 of 9 cases"
    UNVERIFIED: ("unverified_one", "unverified_many"),
    NOISY: ("noisy_one", "noisy_many"),
    TIMED_OUT: ("cut_short_one", "cut_short_many"),
}


def caveats(run: Run) -> list[Reason]:
    """One for each reason to be careful; none if there is none."""
    return [
        *_struck_out(run),
        *_by_status(run),
        *_scattered(run),
        *_flagged(run),
        *_of_the_data(run),
        *_of_the_machine(run),
    ]


def listed(names: Sequence[Figure], most: int) -> Reason:
    """The first ``most`` names, and how many more there are."""
    return because("listed", parts=tuple(names[:most]), rest=max(0, len(names) - most))


def _struck_out(run: Run) -> list[Reason]:
    struck: dict[tuple[Variant, Reason | None], list[Measurement]] = {}
    for m in run.measurements:
        if not m.believed:
            struck.setdefault((m.case.variant, m.reason), []).append(m)
    found = [
        because(
            "struck_one" if len(some) == 1 else "struck_many",
            names=listed([run.case_figure(m.case) for m in some], MOST_NAMED),
            variant=run.variant_figure(variant),
            why=why or because("nothing"),
        )
        for (variant, why), some in struck.items()
    ]
    wrong = next((m for m in run.measurements if m.status == WRONG and m.reason), None)
    return [*found, _report(run, wrong)] if wrong else found


def _report(run: Run, wrong: Measurement) -> Reason:
    """What to do about a wrong answer, with a line to paste."""
    return because(
        "report_wrong",
        torch=run.environment.torch,
        hardware=run.environment.devices.get(wrong.case.device, wrong.case.device),
        case=because("named_with", name=_name(run, wrong), dtype=wrong.case.dtype),
        why=wrong.reason or because("nothing"),
    )


def _by_status(run: Run) -> list[Reason]:
    found = []
    for status, (one, many) in STATUSES.items():
        some = [m for m in run.measurements if m.status == status]
        if some:
            names = listed([_name(run, m) for m in some], MOST_NAMED)
            what = because(one if len(some) == 1 else many)
            found.append(because("some_of_cases", some=len(some), total=len(run.outcomes), what=what, names=names))
    return found


def _scattered(run: Run) -> list[Reason]:
    """Of a training an epoch is as long as it is, so that its scatter is told otherwise."""
    busy = [m for m in run.measurements if m.status == CONVERGED and m.noise > BUSY]
    if not busy or run.kind == "training":
        return []
    return [because("scatter", names=listed([_name(run, m) for m in busy], MOST_NAMED))]


def _flagged(run: Run) -> list[Reason]:
    return [
        because(
            "flagged",
            names=listed([_name(run, m) for m in run.measurements if flag in m.flags], MOST_FLAGGED),
            flag=flag,
        )
        for flag in dict.fromkeys(flag for m in run.measurements for flag in m.flags)
    ]


def _of_the_data(run: Run) -> list[Reason]:
    """Images nearly all of one class can't teach: a network that always says it seems to know all."""
    labels = run.settings.get("labels")
    share, classes = (labels.get("largest"), labels.get("classes")) if isinstance(labels, Mapping) else (None, None)
    if not isinstance(share, int | float) or not isinstance(classes, int) or not ONE_SIDED < share <= 1:
        return []
    return [because("same_labels", share=Quantity(share, "%"), classes=classes)]


def _of_the_machine(run: Run) -> list[Reason]:
    found = []
    if run.environment.variables.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        found.append(because("fallback_unseen"))
    if run.environment.translated:
        found.append(because("slow_under_rosetta"))
    return found


def _name(run: Run, m: Measurement) -> Reason:
    return because("on", what=run.case_figure(m.case), variant=run.variant_figure(m.case.variant))
