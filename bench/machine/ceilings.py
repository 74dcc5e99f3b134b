"""What a device can do at most: published for its chip, or taken from the copy measured here."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.records.environment import Environment
from bench.records.reason import Reason, because, quoted
from bench.records.run import Run

CHIPS = Path(__file__).parent / "apple-chips.csv"
MARGIN = 1.15  # vendor figures are rounded and clocks are estimated
COPY_MARGIN = 2.0  # a measured copy is a floor of what a device can move, not its ceiling


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a device can do at most; 0 where nothing is known."""

    flops_per_s: float
    bytes_per_s: float
    basis: Reason  # where the figures come from


@cache
def apple_chips() -> dict[str, dict[str, str]]:
    """The table of Apple's chips by name ("M1 Pro"); sources in apple-chips.md."""
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
        return Ceiling(roof.flops_per_s * MARGIN, roof.bytes_per_s * MARGIN, because("published_for_chip", chip=chip))
    return Ceiling(0.0, copy_bytes_per_s * COPY_MARGIN, because("twice_measured_copy"))


@dataclass(frozen=True, slots=True)
class Roof:
    """What a device, or a chip, can do at most, to be drawn; 0 where nothing is known."""

    device: str
    basis: Reason  # whose it is, and whether it was published or measured
    flops_per_s: float
    bytes_per_s: float

    @property
    def whose(self) -> Reason:
        """Of what it is the ceiling, within a sentence: "M1 Pro", or "copy measured here"."""
        chip = dict(self.basis.figures).get("chip")
        return quoted(str(chip)) if chip else because("copy_measured_here")


def roofs(run: Run) -> list[Roof]:
    """Of the devices of a run: published for its chip, else the copy measured before the run."""
    chip = _listed_chip(run.environment)
    if chip and not run.emulated:
        return [chip_roof(chip, device) for device in run.devices if device in ("cpu", "mps")]
    copied = run.settings.get("copy_bytes_per_s")
    copied = copied if isinstance(copied, Mapping) else {}
    return [
        Roof(device, because("roof_measured", label=run.label(device)), 0.0, float(copied[device]))
        for device in run.devices
        if isinstance(copied.get(device), int | float) and copied[device] > 0
    ]


def chip_roof(chip: str, device: str = "mps") -> Roof:
    """The published ceiling of an Apple chip; its FLOP/s are the GPU's, in float32."""
    row = apple_chips()[chip]
    flops = float(row["fp32_gpu_tflops"] or 0) * 1e12 if device == "mps" else 0.0
    return Roof(device, because("roof_published", chip=chip), flops, float(row["memory_bandwidth_gb_s"]) * 1e9)
