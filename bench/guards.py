"""Numbers that can't be, and machines that changed while they were made."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench.environment import Environment
from bench.registry import Cost
from bench.results import Run
from bench.units import si, significant
from bench.words import noted, say

CHIPS = Path(__file__).parent / "reference" / "apple-chips.csv"
MARGIN = 1.15  # vendor figures are rounded and clocks are estimated
BEYOND_CACHES = 256e6  # bytes; only there does a step's traffic have to come from memory
COPY_MARGIN = 2.0  # a measured copy is a floor of what a device can move, not its ceiling
DRIFT, DRIFT_ROUNDS = 0.05, 3  # a change of that size, with so many rounds on either side


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a device can do at most; 0 where nothing is known."""

    flops_per_s: float
    bytes_per_s: float
    basis: str  # "vendor", "measured copy": where the figures come from


@cache
def apple_chips() -> dict[str, dict[str, str]]:
    """The table of Apple's chips by name ("M1 Pro"); sources in reference/README.md."""
    with CHIPS.open(newline="", encoding="utf-8") as file:
        return {row["chip"]: row for row in csv.DictReader(file)}


def _listed_chip(environment: Environment) -> str:
    """This machine's chip as the table calls it; empty if it is not there."""
    found = re.search(r"Apple (M\d+(?: (?:Pro|Max|Ultra))?)", environment.chip)
    return found[1] if found and found[1] in apple_chips() else ""


def ceiling(environment: Environment, device: str, copy_bytes_per_s: float = 0.0) -> Ceiling:
    """For this chip from the table, else from the copy measured at start-up."""
    chip = _listed_chip(environment)
    if chip and not environment.is_emulated(device):
        roof = chip_roof(chip, device)
        return Ceiling(
            roof.flops_per_s * MARGIN, roof.bytes_per_s * MARGIN, noted("published for the {chip}", chip=chip)
        )
    return Ceiling(0.0, copy_bytes_per_s * COPY_MARGIN, noted("twice the copy measured here"))


@dataclass(frozen=True, slots=True)
class Roof:
    """What a device, or a chip, can do at most, to be drawn; 0 where nothing is known."""

    device: str
    name: str  # says whose it is, and whether it was published or measured
    flops_per_s: float
    bytes_per_s: float


def roofs(run: Run) -> list[Roof]:
    """Of the devices of a run: published for its chip, else the copy measured before the run."""
    chip = _listed_chip(run.environment)
    if chip and not run.emulated:
        return [chip_roof(chip, device) for device in run.devices if device in ("cpu", "mps")]
    copied = run.settings.get("copy_bytes_per_s")
    copied = copied if isinstance(copied, Mapping) else {}
    return [
        Roof(device, f"{run.label(device)}: {say('copy measured here')}", 0.0, float(copied[device]))
        for device in run.devices
        if isinstance(copied.get(device), int | float) and copied[device] > 0
    ]


def chip_roof(chip: str, device: str = "mps") -> Roof:
    """The published ceiling of an Apple chip; its FLOP/s are the GPU's, in float32."""
    row = apple_chips()[chip]
    flops = float(row["fp32_gpu_tflops"] or 0) * 1e12 if device == "mps" else 0.0
    return Roof(device, f"{say('published')}: {chip}", flops, float(row["memory_bandwidth_gb_s"]) * 1e9)


def impossible(cost: Cost, seconds: float, top: Ceiling) -> str:
    """Why ``seconds`` a step can't be true; empty if they can."""
    flops, traffic = cost.flops / seconds, cost.bytes_moved / seconds
    if top.flops_per_s and flops > top.flops_per_s:
        return noted(
            "{rate} is more than the device can do ({most}, {basis}).",
            rate=si(flops, "FLOP/s"), most=si(top.flops_per_s, "FLOP/s"), basis=top.basis,
        )  # fmt: skip
    if top.bytes_per_s and cost.bytes_moved > BEYOND_CACHES and traffic > top.bytes_per_s:
        return noted(
            "{rate} is more than the device can move ({most}, {basis}).",
            rate=si(traffic, "B/s"), most=si(top.bytes_per_s, "B/s"), basis=top.basis,
        )  # fmt: skip
    return ""


def drift(rounds: Sequence[Sequence[float]]) -> str:
    """Did the time change in the middle of a case, and by how much? A sentence, or empty.

    The split of the rounds that parts their medians best; believed only if every round on one side
    is slower than every round on the other.
    """
    medians = np.array([np.median(a_round) for a_round in rounds])
    best = 1.0
    for split in range(DRIFT_ROUNDS, len(medians) - DRIFT_ROUNDS + 1):
        before, after = medians[:split], medians[split:]
        if before.max() < after.min() or after.max() < before.min():
            best = max(best, float(np.median(after) / np.median(before)), key=lambda r: abs(np.log(r)))
    if abs(best - 1) <= DRIFT:
        return ""
    if best > 1:
        return noted(
            "It became {factor} times slower while it was measured (heat, or another program).",
            factor=significant(best),
        )
    return noted(
        "It became {factor} times faster while it was measured (warm-up, or another program ended).",
        factor=significant(1 / best),
    )


def clocks_disagree(wall_s: float, events_s: Sequence[float], tolerance: float) -> str:
    """Wall clock against the device's own events: a sentence if they differ by more than ``tolerance``."""
    if not events_s:
        return ""
    ratio = float(np.median(events_s)) / wall_s
    if abs(ratio - 1) <= tolerance:
        return ""
    return noted("The device's own clock says {factor} times the wall clock.", factor=significant(ratio))
