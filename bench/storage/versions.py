"""What this version does not write, or strict JSON can't, as it is read."""

from __future__ import annotations

from typing import Any

from bench.records.reason import because

NO_NUMBERS = ("nan", "inf", "-inf")


def mended(entry: dict[str, Any]) -> dict[str, Any]:
    """An outcome's entry as of now: whatever is in it, what is wrong stays for ``reading`` to refuse.

    Version 1 kept a check's reason as "text", and no reason as no text. Losses that are no numbers are words.
    """
    found, check, learning = dict(entry), entry.get("check"), entry.get("learning")
    if isinstance(check, dict) and "text" in check:
        found["check"] = {"reason": check["text"]} | check
    if isinstance(flags := entry.get("flags"), list):
        found["flags"] = [flag for flag in flags if flag != ""]
    if entry.get("error") == "":  # a failure has to have one
        found["error"] = because("nothing").plain()
    if isinstance(learning, dict) and isinstance(losses := learning.get("losses"), list):
        found["learning"] = learning | {"losses": [list(map(_number, x)) if isinstance(x, list) else x for x in losses]}
    return found


def _number(value: object) -> object:
    return float(value) if isinstance(value, str) and value in NO_NUMBERS else value
