"""What the errors of an answer amount to: a check, with its reason and place."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.measure.verification.limits import Limits
from bench.measure.verification.places import Places
from bench.measure.verification.population import Population
from bench.records.measurement import REDUCED, RIGHT, UNVERIFIED, WRONG, Check
from bench.records.reason import Figure, Quantity, Reason, because


def verdict_of(found: Population, axes: Sequence[str] = ()) -> Check:
    """Of errors that were all looked at."""
    limits, error = found.limits, number(found.worst)
    if found.not_finite.count:
        return not_finite(limits, found.not_finite, found.judged, axes)
    if found.within:
        return blind(limits, found) if found.blind else Check(RIGHT, error, limits.element)
    if found.wrong.count and found.flushed == found.wrong.count:
        return Check(REDUCED, error, limits.element, because("flushes_denormals", number=found.flushed))
    if found.shorter:
        return Check(REDUCED, error, limits.element, because("reduced_precision", part=part(found.worst)))
    return wrong_at(found, axes, found)


def verdict_of_sums(sums: Sequence[Population]) -> Check:
    """Of an answer judged by sums in several ways, in which no element was found to be wrong."""
    worst = max(sums, key=lambda one: one.worst / one.limits.element)
    error, limit = number(worst.worst), worst.limits.element
    for found in sums:
        if found.blind:
            return blind(found.limits, found)
        if found.shorter and not found.within:
            return Check(REDUCED, error, limit, because("reduced_precision", part=part(found.worst)))
        if found.off_as_a_whole:
            return wrong_at(found, (), found)
    return Check(RIGHT, error, limit)


def wrong_at(found: Population, axes: Sequence[str], whole: Population) -> Check:
    """With a place, unless it is a factor that the ``whole`` of the answer has in common."""
    error, limit = number(found.worst), found.limits.element
    if whole.scaled and whole.clear is None:
        why = because("scaled", factor=Quantity(1 + whole.bias, ""), part=part(abs(whole.bias)))
        return Check(WRONG, error, limit, why)
    where = found.wrong.reason(axes)
    if where is None:
        return Check(WRONG, error, limit, because("differs", what=because("result"), part=part(found.spread)))
    return Check(WRONG, error, limit, because("differs_at", where=where, part=part(found.worst)), where=where)


def sampled_verdict(found: Population, rest: Population, share: float, axes: Sequence[str] = ()) -> Check:
    """Of an answer of which ``found`` was compared in full, and all of it, ``rest``, with an estimate."""
    for one in (rest, found):
        if one.not_finite.count:
            return not_finite(found.limits, one.not_finite, one.judged, axes)
    check = verdict_of(found, axes)
    if check.verdict not in (RIGHT, REDUCED) or not rest.wrong.count:
        if check.verdict == RIGHT:
            why = because("judged_in_part", share=Quantity(share, "%"), limit=part(rest.threshold))
            return Check(RIGHT, check.error, check.limit, why, share)
        return Check(check.verdict, check.error, check.limit, check.reason, share, check.where)
    where = rest.wrong.reason(axes) or because("place_everywhere")
    why = because("differs_at", where=where, part=part(rest.worst))
    return Check(WRONG, number(rest.worst), rest.threshold, why, share, where)


def not_finite(limits: Limits, places: Places, judged: int, axes: Sequence[str] = ()) -> Check:
    where = places.reason(axes) or because("place_everywhere")
    why = because("not_finite_at", share=Quantity(places.count / max(judged, 1), "%"), where=where)
    return Check(WRONG, None, limits.element, why, where=where)


def unverified(limits: Limits) -> Check:
    """The judge itself is wrong."""
    return Check(UNVERIFIED, None, limits.element, because("reference_wrong"), 0.0)


def blind(limits: Limits, found: Population) -> Check:
    """The judge has no number to compare with, for some elements or all."""
    share = found.blind / max(found.judged, 1)
    why = because("reference_no_number", share=Quantity(share, "%"))
    return Check(UNVERIFIED, None, limits.element, why, 1 - share)


def wrong(limits: Limits, why: Reason) -> Check:
    return Check(WRONG, None, limits.element, why)


def worse(first: Check, second: Check) -> Check:
    """The check that says more against the device."""
    order = (RIGHT, UNVERIFIED, REDUCED, WRONG)
    return max(first, second, key=lambda check: (order.index(check.verdict), check.error or 0.0))


def number(error: float) -> float | None:
    """For strict JSON."""
    return error if math.isfinite(error) else None


def part(error: float | None) -> Figure:
    """A relative error, as a figure of a reason: "1.0 %", or in words where it is none."""
    return Quantity(error, "%") if error is not None and math.isfinite(error) else because("no_number")
