"""Results as tables: readable units on the page, sortable by the number behind them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import pandas as pd
import streamlit as st

from bench.analysis.article_clocks import readings
from bench.records.case import Variant
from bench.records.measurement import Failure, Learning, Measurement
from bench.records.reason import Reason
from bench.records.run import Run
from bench.text.language import translate
from bench.text.names import case_name, short_name, variant_name
from bench.text.tell import note, tell
from bench.text.units import listed, si, significant, size
from bench.ui.parts.plain import plain
from bench.workloads.article import published
from bench.workloads.networks import NETWORKS

MOST_NAMED = 3  # cases that failed for the same reason
MEMORY = {
    "memory": ("B", "Most that the tensors of a step held at once, weights and inputs among them."),
    "pool": ("B", "Taken from the system by then: by the device's allocator, or by the whole program for the CPU."),
}
SWEEP = {  # column: how it is shown, what it means
    "median": ("s", "Median of all samples: wall time of one call."),
    "low": ("s", "Lower end of the median's 95 % interval."),
    "high": ("s", "Upper end of the median's 95 % interval."),
    "speed-up": ("×", "Times as fast as the CPU at the same size."),
    "noise": ("%", "Middle half of the samples over their median; above 10 % doubt the machine."),
    "compute": ("FLOP/s", "Floating-point operations a second."),
    "traffic": ("B/s", "Least memory traffic a second: every input read once, every output written once."),
    "to queue": ("s", "Time until the call had been queued: what a clock shows that doesn't wait for the device."),
    "device clock": ("s", "One call by the device's own events, where it has them."),
    "error": ("%", "Largest difference from float64, relative to the magnitudes summed."),
    "first call": ("s", "The very first call, with compilation and allocation; part of no other figure."),
    **MEMORY,
}
RECAP = {
    "training": ("s", "Wall seconds of all epochs: loading, copying and computing."),
    "inference": ("s", "Wall seconds of one pass over the training images, without gradients."),
    "images/s": ("", "Training images a second."),
    "speed-up": ("×", "Training: times as fast as the CPU."),
    "inference speed-up": ("×", "Inference: times as fast as the CPU."),
    "train loss": ("", "Mean over the last epoch; the devices should agree."),
    "test accuracy": ("%", "Share of the test images told right; the devices should agree."),
    "one image": ("s", "Inference of a single image, waited for: the latency."),
    "energy": ("J", "Of an epoch, by the hardware's counter where there is one: an estimate."),
    **MEMORY,
    "first step": ("s", "The very first training step, with compilation; part of no other figure."),
}


REPLAY = {
    "wall": ("s", "Wall time with the device waited for: of one call, or of all batches."),
    "article's clock": ("s", "What the article's clock reads for the same work."),
    "off by": ("×", "The article's clock over the wall: 1 is right, 2 reads twice too long."),
    "published": ("s", "The article's own figure, M1 Pro, PyTorch 2.1.2."),
}


def sweep_table(run: Run, axis: str) -> None:
    """One row a case."""
    _table([_sweep_row(run, outcome, axis) for outcome in run.outcomes], SWEEP, "one row for each size and device")


def recap_table(run: Run) -> None:
    """The article's recap: training and inference, by model and device, in seconds."""
    trained = [m for m in run.measurements if m.case.workload.endswith("/train")]
    rows = [_recap_row(run, m, m.learning) for m in trained if m.learning]  # a network's always has it
    _table(rows, RECAP, "training and inference by model and device")


def published_table() -> None:
    """The article's recap, as published."""
    story = published()
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for workload, seconds in story["seconds"].items():
        network, _, mode = workload.partition("/")
        for device, value in seconds.items():
            row = rows.setdefault((network, device), {"model": NETWORKS[network].title, "device": device.upper()})
            row["training" if mode == "train" else "inference"] = value
    _table(list(rows.values()), RECAP, "the article's training and inference, as published")
    st.caption(
        translate(
            "Published, not measured here: {source}; {machine}, PyTorch {torch}.",
            source=story["source"],
            machine=story["machine"],
            torch=story["torch"],
        )
    )


def replay_table(run: Run) -> None:
    """Every case by both clocks, beside what was published."""
    rows = [
        {
            "case": r.case.workload,
            "size": r.case.size,
            "device": run.label(r.case.device),
            "wall": r.wall_s,
            "article's clock": r.article_s,
            "off by": r.error,
            "published": r.published_s,
        }
        for r in readings(run)
    ]
    _table(rows, REPLAY, "every case by both clocks")


def failures(run: Run) -> None:
    """Cases that could not run: a sentence for each reason, with all cases that it befell."""
    by_reason: dict[tuple[Variant, Reason], list[Failure]] = {}
    for failure in run.failures:
        by_reason.setdefault((failure.case.variant, failure.error), []).append(failure)
    for (variant, error), some in by_reason.items():
        cases = [failure.case for failure in some]
        names = [case_name(run, cases[0])]
        for before, case in itertools.pairwise(cases):
            names.append((short_name if case.workload == before.workload else case_name)(run, case))
        st.warning(
            translate(
                "{names} on {variant}: {error}",
                names=listed(names, MOST_NAMED),
                variant=variant_name(run, variant),
                error=plain(tell(error)),
            ),
            icon=":material/block:",
        )


def _sweep_row(run: Run, outcome: Measurement | Failure, axis: str) -> dict[str, object]:
    row = {
        axis: outcome.case.size,
        "device": variant_name(run, outcome.case.variant),
        "status": translate(outcome.status),
    }
    if isinstance(outcome, Failure):
        return row | {"note": note(outcome)}
    mid, speedup = outcome.median_s, run.speedup(outcome)
    return row | {
        "median": mid.value,
        "low": mid.low,
        "high": mid.high,
        "speed-up": speedup and speedup.value,
        "noise": outcome.noise,
        "compute": outcome.flops_per_s.value,
        "traffic": outcome.bytes_per_s.value,
        "to queue": median(outcome.dispatch_s) if outcome.dispatch_s else None,
        "device clock": median(outcome.events_s) if outcome.events_s else None,
        "error": outcome.check and outcome.check.error,
        "first call": outcome.first_call_s,
        **_memory(outcome),
        "samples": len(outcome.samples_s),
        "note": note(outcome),
    }


def _recap_row(run: Run, train: Measurement, learning: Learning) -> dict[str, object]:
    network = train.case.workload.partition("/")[0]
    wanted = replace(train.case, workload=f"{network}/infer")
    found = {m.case: m for m in run.measurements}
    infer, single = found.get(wanted), found.get(replace(wanted, size=1))
    energy = learning.energy_j
    speedup, infer_speedup = run.speedup(train), infer and run.speedup(infer)
    return {
        "model": NETWORKS[network].title,
        "batch": train.case.size,
        "device": variant_name(run, train.case.variant),
        "training": sum(learning.epochs_s),
        "inference": infer and infer.learning and sum(infer.learning.epochs_s),
        "images/s": train.items_per_s.value,
        "speed-up": speedup and speedup.value,
        "inference speed-up": infer_speedup and infer_speedup.value,
        "train loss": learning.train_loss,
        "test accuracy": learning.test_accuracy,
        "one image": single and single.median_s.value,
        "energy": sum(energy) / len(energy) if energy else None,
        **_memory(train),
        "first step": train.first_call_s,
        "status": translate(train.status),
    }


def _memory(m: Measurement) -> dict[str, object]:
    return {"memory": m.memory and m.memory.used_bytes, "pool": m.memory and m.memory.pool_bytes}


def _table(rows: Sequence[Mapping[str, object]], columns: Mapping[str, tuple[str, str]], alt: str) -> None:
    """Shown with units, sorted by the numbers behind."""
    frame = pd.DataFrame(rows)
    shown = {name: unit for name, (unit, _) in columns.items() if name in frame and frame[name].notna().any()}
    frame = frame.drop(columns=[name for name in columns if name in frame and name not in shown])
    numbers = frame.astype({name: float for name in shown})
    said = numbers.rename(columns=translate)
    style = said.style.format({translate(name): partial(_text, unit=unit) for name, unit in shown.items()})
    config = {translate(name): st.column_config.NumberColumn(help=translate(columns[name][1])) for name in shown}
    st.dataframe(
        style,
        hide_index=True,
        key=alt,
        placeholder="–",
        column_config=config,
        alt=translate("Table of results: {alt}.", alt=translate(alt)),
    )


def _text(value: float, unit: str) -> str:
    if math.isnan(value):
        return "–"
    if unit == "%":
        return f"{significant(100 * value)} %"
    if unit == "B":
        return size(value)
    return f"{significant(value)} {unit}".strip() if unit in ("×", "") else si(value, unit)
