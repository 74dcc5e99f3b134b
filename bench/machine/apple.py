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
LEVELS = 4  # of cores that are asked for; chips have two or three
SYSCTL = ("hw.model", *(f"hw.perflevel{i}.{what}" for i in range(LEVELS) for what in ("name", "physicalcpu")))


@dataclass(frozen=True, slots=True)
class Mac:
    """Facts of this Mac that stay as they are; empty or None where the tools don't tell."""

    model: str = ""  # "MacBookPro18,3"
    performance_cores: int | None = None
    efficiency_cores: int | None = None
    gpu_cores: int | None = None


@cache
def this_mac() -> Mac:
    """Asks once a process: system_profiler takes a second."""
    values = sysctl_values(run_tool("/usr/sbin/sysctl", *SYSCTL))
    performance, efficiency = cores(values)
    displays = run_tool("/usr/sbin/system_profiler", "-json", "SPDisplaysDataType")
    return Mac(values.get("hw.model", ""), performance, efficiency, gpu_cores(displays))


def power_now() -> tuple[str, str]:
    """Source ("mains", "battery", "unknown") and low-power mode ("on", "off", "unknown"), asked anew each time."""
    return power_source(run_tool("/usr/bin/pmset", "-g", "batt")), low_power(run_tool("/usr/bin/pmset", "-g"))


def power_source(text: str) -> str:
    """From ``pmset -g batt``, which desktops answer too: "Now drawing from 'AC Power'"."""
    found = re.search(r"drawing from '(\w+) Power'", text)
    sources = {"AC": "mains", "Battery": "battery", "UPS": "battery"}
    return sources.get(found[1], "unknown") if found else "unknown"


def sysctl_values(text: str) -> dict[str, str]:
    """``name: value`` lines; unknown names print to another stream and are simply not there."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def cores(values: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Performance and efficiency cores from the performance levels; the fastest level counts as performance.

    Levels are called "Performance" and "Efficiency", on an M5 Max "Super" and "Performance" (kennss/SiliconScope#30):
    whatever is not called "Efficiency" is a core to compute on. macOS before 12.3 gives no names; there level 0 is the
    fast one.
    """
    counts = {"performance": 0, "efficiency": 0}
    for level in range(LEVELS):
        text = values.get(f"hw.perflevel{level}.physicalcpu")
        if text is None:
            break
        if (number := _number(text)) is None:
            return None, None
        name = values.get(f"hw.perflevel{level}.name") or ("Efficiency" if level else "Performance")
        if name == "Standard":  # a virtual machine, which may run on any core
            return None, None
        counts["efficiency" if name.lower().startswith("efficien") else "performance"] += number
    return (counts["performance"], counts["efficiency"]) if counts["performance"] else (None, None)


def gpu_cores(text: str) -> int | None:
    """Of the first GPU that tells; None for an Intel Mac's, or in a virtual machine."""
    try:
        entries = json.loads(text)["SPDisplaysDataType"]
        found = [_number(str(entry["sppci_cores"])) for entry in entries if "sppci_cores" in entry]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return next((number for number in found if number), None)


def low_power(text: str) -> str:
    """ "on" or "off" from ``pmset -g``; some Macs have ``lowpowermode``, others ``powermode``.

    Of either 1 is low; ``powermode`` is 0 for automatic and 2 for high (alfredapp/low-power-mode-workflow#4).
    """
    for name in ("powermode", "lowpowermode"):
        if found := re.search(rf"^\s*{name}\s+(\d)\b", text, re.MULTILINE):
            return "on" if found[1] == "1" else "off"
    return "unknown"


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else None


def run_tool(*command: str) -> str:
    """What a tool prints; nothing if it is missing, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
