"""What the checks of a device found: values."""

from __future__ import annotations

from dataclasses import dataclass

from bench.records.environment import Environment
from bench.records.reason import Reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found: ``good`` is None where it could not be made."""

    device: str
    name: Reason
    good: bool | None
    text: Reason


@dataclass(frozen=True, slots=True)
class Checkup:
    """Every accelerator's verdicts, and the machine they were found on."""

    environment: Environment
    checks: tuple[Verdict, ...]
