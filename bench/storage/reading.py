"""Reading a run from a file: whatever is in it, either a run of which everything can be derived, or a reason.

A file may be empty, cut off, of another program, huge, nested without end, or made to do harm. Everything is
checked here, once, so that nothing behind it has to.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from typing import Any

from bench.records.environment import Environment
from bench.records.formats import LAYOUTS, WIDTHS
from bench.records.measurement import (
    CONVERGED,
    FAILED,
    IMPOSSIBLE,
    NOISY,
    REDUCED,
    RIGHT,
    TIMED_OUT,
    UNVERIFIED,
    WRONG,
    Failure,
    Measurement,
    Outcome,
)
from bench.records.reason import Reason, Refused, because
from bench.records.refusal import MOST_THREADS
from bench.records.run import Run
from bench.storage.versions import mended
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

SCHEMA_VERSION = 2  # 1 kept reasons as sentences
MOST_BYTES = 64 * 2**20
MOST_OUTCOMES, MOST_SAMPLES = 20_000, 5_000_000
DEEPEST, LONGEST_TEXT, LONGEST_NUMBER = 12, 20_000, 40
SHORTEST_S, LONGEST_S = 1e-12, 1e7  # of anything timed
LARGEST = 1e30  # of a count
KINDS = ("sweep", "aa", "training", "replay")
STATUSES = (CONVERGED, NOISY, TIMED_OUT, WRONG, UNVERIFIED, IMPOSSIBLE)
VERDICTS = (RIGHT, REDUCED, UNVERIFIED, WRONG)
DEVICE = re.compile(r"[a-z][a-z0-9]{0,11}(#2)?")  # as PyTorch names them
WHEN = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.+Z-]{1,30}")


class FileError(Refused, ValueError):
    """A file that is not a run; the reason says what is wrong and where."""


def from_json(text: str | bytes) -> Run:
    """The run that ``to_json`` wrote. FileError if it is not one, or from a newer version."""
    return from_data(_parse(text))


def read_files(files: Iterable[tuple[str, bytes]]) -> tuple[list[tuple[str, Run]], list[Reason]]:
    """Runs by file name, and a reason for each file that is none; bad ones cost the good ones nothing."""
    runs: list[tuple[str, Run]] = []
    complaints: list[Reason] = []
    for name, content in files:
        shown = "".join(c if c.isprintable() else "?" for c in name)[:80]
        try:
            runs.append((shown, from_json(content)))
        except FileError as error:
            complaints.append(because("of_file", name=shown, why=error.reason))
    return runs, complaints


def from_data(data: object) -> Run:
    """The run that ``to_head`` and ``to_entry`` made, the entries under "results". FileError as ``from_json``."""
    _within_reason(data)
    if not isinstance(data, dict) or "schema_version" not in data:
        raise FileError("no_schema_version")
    version = data["schema_version"]
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        newer = type(version) is int and version > SCHEMA_VERSION
        kind = "newer_file" if newer else "wrong_schema_version"
        raise FileError(kind, version=str(version)[:20] if newer else repr(str(version)[:20]), known=SCHEMA_VERSION)
    entries = data.get("results")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FileError("results_no_list")
    if len(entries) > MOST_OUTCOMES:
        raise FileError("too_many_entries", entries=len(entries), most=MOST_OUTCOMES)
    run = Run(
        _validated(str, data.get("kind"), "kind"),
        _validated(Environment, data.get("environment"), "environment"),
        _validated(dict[str, Any], data.get("settings", {}), "settings"),
        tuple(from_entry(entry, f"results[{i}]") for i, entry in enumerate(entries)),
    )
    check_run(run)
    return run


def from_entry(entry: dict[str, Any], where: str) -> Outcome:
    """The outcome that ``to_entry`` made; ``where`` it stands, for a FileError."""
    kind = Failure if entry.get("status") == FAILED else Measurement
    known = {field.name for field in fields(kind)}
    outcome: Outcome = _validated(kind, {key: value for key, value in mended(entry).items() if key in known}, where)
    case = outcome.case
    _need(1 <= case.size <= LARGEST, f"{where}.case.size", because("must_be_at_least_1"))
    _need(DEVICE.fullmatch(case.device), f"{where}.case.device", because("must_be_a_device"))
    _need(_known(case.workload), f"{where}.case.workload", because("unknown_workload"))
    computable = case.dtype in WIDTHS and case.layout in LAYOUTS and 0 <= case.threads <= MOST_THREADS
    _need(computable, f"{where}.case", because("has_an_unknown_format"))
    if isinstance(outcome, Measurement):
        _check_measurement(outcome, where)
    else:
        _need(outcome.error, f"{where}.error", because("must_say_why"))
    return outcome


def _check_measurement(m: Measurement, where: str) -> None:
    """What statistics and figures rest on."""

    def need(holds: object, what: str, must: Reason) -> None:
        _need(holds, f"{where}.{what}", must)

    need(m.status in STATUSES, "status", because("must_be_one_of", all=(*STATUSES, FAILED)))
    need(m.samples_s and _all_seconds(m.samples_s), "samples_s", because("must_hold_times_above_0"))
    need(
        min(m.rounds, default=0) >= 0 and sum(m.rounds) == len(m.samples_s),
        "rounds",
        because("must_add_up_to_the_samples"),
    )
    need(_all_seconds(m.dispatch_s, 0.0), "dispatch_s", because("must_hold_times"))
    need(_all_seconds(m.events_s), "events_s", because("must_hold_times_above_0"))
    need(0 <= m.first_call_s <= LONGEST_S, "first_call_s", because("must_be_a_time"))
    need(m.article_s is None or _all_seconds([m.article_s]), "article_s", because("must_be_a_time_above_0"))
    need(1 <= m.calls <= LARGEST and 0 <= m.disturbed <= LARGEST, "calls", because("must_be_at_least_1"))
    need(0 <= m.cost.flops <= LARGEST, "cost.flops", because("must_not_be_negative"))
    need(1 <= m.cost.bytes_moved <= LARGEST and 1 <= m.cost.items <= LARGEST, "cost", because("must_be_at_least_1"))
    need(all(m.flags), "flags", because("must_say_why"))
    need(m.check is None or m.check.verdict in VERDICTS, "check.verdict", because("must_be_one_of", all=VERDICTS))
    need(
        (m.learning is not None) == ("/" in m.case.workload),
        "learning",
        because("belongs_to_networks"),
    )
    if m.memory is not None:
        held = m.memory.used_bytes, m.memory.pool_bytes
        need(0 <= min(held) <= max(held) <= LARGEST, "memory", because("must_be_counts_of_bytes"))
    if m.learning is not None:
        need(_all_seconds(m.learning.energy_j, 0.0), "learning.energy_j", because("must_hold_joules"))
        need(1 <= m.learning.images <= LARGEST, "learning.images", because("must_be_at_least_1"))
        need(
            m.learning.epochs_s and _all_seconds(m.learning.epochs_s),
            "learning.epochs_s",
            because("must_hold_times_above_0"),
        )
        phases = m.learning.phases_s.values()
        need(all(p and _all_seconds(p, 0.0) for p in phases), "learning.phases_s", because("must_hold_times"))


def check_run(run: Run) -> None:
    """What the pages look up is there. FileError if not."""
    settings, environment = run.settings, run.environment
    _need(run.kind in KINDS, "kind", because("must_be_one_of", all=KINDS))
    _need(WHEN.fullmatch(environment.captured_at), "environment.captured_at", because("must_be_a_date_and_time"))
    _need(all(map(DEVICE.fullmatch, environment.devices)), "environment.devices", because("must_be_devices"))
    if run.kind in ("sweep", "aa"):
        _need(settings.get("operation") in OPERATIONS, "settings.operation", because("unknown_operation"))
        _need(_sizes(settings.get("sizes")), "settings.sizes", because("must_be_sizes"))
    if run.kind == "training":
        _need(isinstance(settings.get("data"), str), "settings.data", because("must_say_which_images"))
        _need(_sizes([settings.get("images")]), "settings.images", because("must_be_at_least_1"))
    cases = [outcome.case for outcome in run.outcomes]
    _need(len(set(cases)) == len(cases), "results", because("holds_a_case_twice"))
    for i, case in enumerate(cases):
        _need(case.device in environment.devices, f"results[{i}].case.device", because("device_not_listed"))
        network = "/" in case.workload
        _need(
            run.kind == "replay" or network == (run.kind == "training"),
            f"results[{i}]",
            because("is_not_of", run=run.kind),
        )
    samples = sum(len(m.samples_s) for m in run.measurements)
    _need(samples <= MOST_SAMPLES, "results", because("too_many_samples", samples=samples, most=MOST_SAMPLES))


def _need(holds: object, what: str, must: Reason) -> None:
    if not holds:
        raise FileError("field_invalid", where=what, must=must)


def _known(workload: str) -> bool:
    network, slash, mode = workload.partition("/")
    return (network in NETWORKS and mode in ("train", "infer")) if slash else workload in OPERATIONS


def _sizes(values: object) -> bool:
    return (
        bool(values)
        and isinstance(values, list | tuple)
        and all(type(value) is int and 1 <= value <= LARGEST for value in values)
    )


def _all_seconds(values: Iterable[float], least: float = SHORTEST_S) -> bool:
    return all(least <= value <= LONGEST_S for value in values)


def _parse(text: str | bytes) -> object:
    if len(text) > MOST_BYTES:
        raise FileError("file_too_large", most=MOST_BYTES // 2**20)
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_no_twins
        )
    except UnicodeDecodeError as error:
        raise FileError("not_utf8", byte=error.start) from error
    except RecursionError as error:
        raise FileError("nested_too_deeply") from error
    except json.JSONDecodeError as error:
        raise FileError("not_json", error=str(error)) from error


def _no_constant(constant: str) -> None:
    raise FileError("no_strict_number", constant=constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise FileError("number_too_large", number=text[:20])
    return number


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise FileError("number_too_large", number=text[:20] + "…")
    return int(text)


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise FileError("name_twice")
    return found


def _within_reason(value: object, depth: int = 0) -> None:
    """Depth and texts; what is left can be shown and written again."""
    if depth > DEEPEST:
        raise FileError("nested_too_deeply")
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise FileError("text_too_long", characters=len(value))
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise FileError("half_a_character")
    elif isinstance(value, dict):
        for key, entry in value.items():
            _within_reason(key, depth + 1)
            _within_reason(entry, depth + 1)
    elif isinstance(value, list) and not all(type(entry) in (int, float) for entry in value):
        for entry in value:
            _within_reason(entry, depth + 1)


def _validated(kind: Any, value: object, where: str) -> Any:
    """``value`` as a ``kind``, or a FileError that says where it is not."""
    from pydantic import ValidationError

    try:
        return _validator(kind)(json.dumps(value), strict=True)  # in JSON a list may be a tuple, no text a number
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([where, *(str(part)[:40] for part in first["loc"])])
        raise FileError("field_of_wrong_type", where=place, said=str(first["msg"])[:200]) from error


@cache
def _validator(kind: Any) -> Callable[..., Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_json
