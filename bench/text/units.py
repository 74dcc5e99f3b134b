"""Numbers for people. Everything else in ``bench`` is in SI base units, unscaled."""

import math
from collections.abc import Sequence
from typing import Protocol

from bench.text.language import separators, translate

PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")]


class Interval(Protocol):
    """A value between two ends, as an Estimate has them."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def si(value: float, unit: str, digits: int = 3) -> str:
    """``si(1.234e-5, "s") == "12.3 µs"``; a value that is not finite reads "–"."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return f"0 {unit}"
    rounded = float(f"{value:.{digits - 1}e}")  # first, so that 999.9 µs reads 1.00 ms
    scale, prefix = next((p for p in PREFIXES if abs(rounded) >= p[0]), PREFIXES[-1])
    return f"{significant(rounded / scale, digits)} {prefix}{unit}"


def significant(value: float, digits: int = 3) -> str:
    """``value`` with that many significant digits and no exponent: ``significant(3.14159) == "3.14"``."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return _written(f"{rounded:,.{decimals}f}")


def percent(share: float) -> str:
    """A share of 1 in per cent, two digits: ``percent(0.0314) == "3.1 %"``."""
    return f"{significant(100 * share, 2)} %"


def span(interval: Interval) -> str:
    """Both ends of an interval of plain numbers: "3.70 to 4.10"."""
    return translate("{low} to {high}", low=significant(interval.low), high=significant(interval.high))


def times(factor: Interval) -> str:
    """A factor with its interval: "3.90 times (3.70 to 4.10)"."""
    return translate("{factor} times ({ends})", factor=significant(factor.value), ends=span(factor))


def listed(names: Sequence[str], most: int) -> str:
    """Names after commas: "100, 200 and 7 more" where there are more than ``most``."""
    more = translate(" and {rest} more", rest=len(names) - most) if len(names) > most else ""
    return ", ".join(names[:most]) + more


def count(number: int) -> str:
    """A whole number with thin spaces: ``count(16384) == "16 384"``."""
    return _written(f"{number:,}")


def _written(number: str) -> str:
    """With the marks of the reader's language in the place of "," and "."."""
    decimal, group = separators()
    return number.replace(",", "_").replace(".", decimal).replace("_", group)


def duration(seconds: float) -> str:
    """For waiting: "8 s", "1 min 20 s", "2 h 5 min"."""
    whole = max(1, round(seconds))
    if whole < 60:
        return translate("{seconds} s", seconds=whole)
    if whole < 3600:
        minutes, seconds = divmod(whole, 60)
        if not seconds or whole >= 600:
            return translate("{minutes} min", minutes=minutes)
        return translate("{minutes} min {seconds} s", minutes=minutes, seconds=seconds)
    return translate("{hours} h {minutes} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def size(number_of_bytes: float) -> str:
    """Memory in bytes with decimal prefixes: ``size(2.1e9) == "2.10 GB"``."""
    return si(number_of_bytes, "B")
