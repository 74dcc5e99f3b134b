"""What a Mac's own tools say of it. Parsers apart from the running of the tools; nothing here raises.

Fields are picked by name: the tools also print serial numbers and host names, which stay where they are.
Formats: sysctl(8) "name: value"; system_profiler(8) -json, "sppci_cores" of SPDisplaysDataType; pmset(1) -g.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

TIMEOUT_S = 8.0
SYSCTL = (
    "hw.model",
    "hw.nperflevels",
    *(f"hw.perflevel{i}.{what}" for i in range(3) for what in ("name", "physicalcpu")),
)


@dataclass(frozen=True, slots=True)
class Mac:
    """Facts of this Mac; empty, "unknown" or None where the tools don't tell."""

    model: str = ""  # "MacBookPro18,3"
    performance_cores: int | None = None
    efficiency_cores: int | None = None
    gpu_cores: int | None = None
    low_power: str = "unknown"  # "on", "off"


@cache
def this_mac() -> Mac:
    """Asks once a process: system_profiler takes a second."""
    values = sysctl_values(_run("/usr/sbin/sysctl", *SYSCTL))
    performance, efficiency = cores(values)
    displays = _run("/usr/sbin/system_profiler", "-json", "SPDisplaysDataType")
    power = low_power(_run("/usr/bin/pmset", "-g"))
    return Mac(values.get("hw.model", ""), performance, efficiency, gpu_cores(displays), power)


def sysctl_values(text: str) -> dict[str, str]:
    """``name: value`` lines; unknown names print to another stream and are simply not there."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def cores(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Performance and efficiency cores from the performance levels; the fastest level counts as performance.

    Levels are called "Performance" and "Efficiency", on some chips "Super" and "Performance": whatever is not called
    "Efficiency" is a core to compute on.
    """
    counts = {"performance": 0, "efficiency": 0}
    for level in range(_number(values.get("hw.nperflevels")) or 0):
        number = _number(values.get(f"hw.perflevel{level}.physicalcpu"))
        if number is None:
            return None, None
        slow = values.get(f"hw.perflevel{level}.name", "").lower().startswith("efficien")
        counts["efficiency" if slow else "performance"] += number
    return (counts["performance"], counts["efficiency"]) if counts["performance"] else (None, None)


def gpu_cores(text: str) -> int | None:
    """Of the first GPU that tells; None for an Intel Mac's, or in a virtual machine."""
    try:
        entries = json.loads(text)["SPDisplaysDataType"]
        found = [_number(str(entry["sppci_cores"])) for entry in entries if "sppci_cores" in entry]
    except (ValueError, KeyError, TypeError):
        return None
    return next((number for number in found if number), None)


def low_power(text: str) -> str:
    """ "on" or "off" from ``pmset -g``; macOS 12 and newer have ``lowpowermode``, some ``powermode`` (1 is low)."""
    found = re.search(r"^\s*(?:lowpowermode|powermode)\s+(\d)\b", text, re.MULTILINE)
    return "unknown" if found is None else ("on" if found[1] == "1" else "off")


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else None


def _run(*command: str) -> str:
    """What a tool prints; nothing if it is missing, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
