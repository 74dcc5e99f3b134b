"""What each command does: the options that were typed in, its exit code out. Bad usage is a UsageError or PlanError."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial

from bench.analysis.comparison import compare, slower_than
from bench.analysis.spread import spreads
from bench.cli.jobs import carry_out, recording_runner
from bench.cli.options import check_out, choose, run_named, sweep_plan, training_plan
from bench.cli.progress import download_bar
from bench.cli.usage import FAILED, OK, UsageError
from bench.cli.views import checkup_text, comparison_text, spread_text
from bench.measure.device_checks import check_every
from bench.measure.doctor import examine
from bench.measure.plans import ReplayPlan, SweepPlan
from bench.measure.processes import FreshError, run_fresh
from bench.measure.replay import replay
from bench.measure.sweep import measure
from bench.measure.training import train
from bench.records.budget import EFFORTS, sustained
from bench.records.case import again
from bench.records.reason import Reason
from bench.text.evidence import report, to_send
from bench.text.tell import tell
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.datasets import FASHION, DataError, available, download_fashion_mnist

MOST_PROCESSES = 100


def sweep(options: argparse.Namespace) -> int:
    """One operation over sizes."""
    runner, make = recording_runner(), sweep_plan(options)
    plan = make(choose(options.devices, runner))
    return carry_out(runner, partial(measure, plan), "sweep", plan.cases, options.out)


def noise(options: argparse.Namespace) -> int:
    """One device against itself."""
    runner, make = recording_runner(), sweep_plan(options)
    device = choose(options.devices, runner)[-1]
    plan = make((device, again(device)))
    return carry_out(runner, partial(measure, plan), "aa", plan.cases, options.out)


def training(options: argparse.Namespace) -> int:
    """Training and inference of networks."""
    make = training_plan(options)
    if not _images_are_here(options):
        return FAILED
    runner = recording_runner()
    plan = make(choose(options.devices, runner))
    return carry_out(runner, partial(train, plan), "training", plan.cases, options.out)


def replaying(options: argparse.Namespace) -> int:
    """The article's two experiments."""
    make = training_plan(options)
    if not _images_are_here(options):
        return FAILED
    runner = recording_runner()
    networks = replace(make(choose(options.devices, runner)), one_by_one=False)
    plan = ReplayPlan(SweepPlan("matvec", ARTICLE_SIZES, networks.devices, EFFORTS["quick"]), networks)
    return carry_out(runner, partial(replay, plan), "replay", plan.cases, options.out)


def comparing(options: argparse.Namespace) -> int:
    """Two runs side by side."""
    if options.fail_slower is not None and not options.fail_slower >= 1:
        raise UsageError(f"--fail-slower must be at least 1, and {options.fail_slower} is not.")
    names = options.first, options.second
    comparison = compare(*map(run_named, names))
    print(comparison_text(comparison, *names))
    if options.fail_slower is None:
        return OK
    slower = slower_than(comparison, options.fail_slower)
    for pair in slower:
        print(f"Slower by more than {options.fail_slower} times: {pair.case}", file=sys.stderr)
    return FAILED if slower or not comparison.pairs else OK


def fresh(options: argparse.Namespace) -> int:
    """The same sweep in several new processes."""
    arguments = [argument for argument in options.sweep if argument != "--"]
    if not 2 <= options.times <= MOST_PROCESSES:
        raise UsageError(f"--times must be from 2 to {MOST_PROCESSES}, and {options.times} is not.")
    sweep_plan(options.parse(["sweep", *arguments]))  # complains now, not in every process

    def begins(number: int) -> None:
        print(f"Process {number + 1} of {options.times} …", file=sys.stderr)

    try:
        found = spreads(run_fresh(arguments, options.times, begins))
    except FreshError as error:
        print(tell(error.reason), file=sys.stderr)
        return FAILED
    print(spread_text(found))
    return OK if found else FAILED


def sustain(options: argparse.Namespace) -> int:
    """One case for minutes."""
    budget = sustained(options.minutes)

    def make(device: str) -> SweepPlan:
        return SweepPlan(options.op, (options.size,), (device,), budget, dtypes=(options.dtype,))

    make("cpu")
    check_out(options.out)
    runner = recording_runner()
    plan = make(choose(options.device, runner)[-1])
    return carry_out(runner, partial(measure, plan), "sweep", plan.cases, options.out)


def doctor(options: argparse.Namespace) -> int:
    """What is here, and with ``--check`` whether the accelerators keep their word. Imports torch."""
    from bench.measure.discovery import find_devices

    check_out(options.out)
    if options.out and not options.check:
        raise UsageError("--out goes with --check: only its findings are worth a file.")
    devices = find_devices()
    findings = examine(devices)
    print(report(findings))
    good = all(finding.good for finding in findings if finding.needed)
    if not options.check:
        return OK if good else FAILED

    def begins(check: Reason) -> None:
        print("…", tell(check), file=sys.stderr)

    usable = [info for info in devices if info.usable]
    checkup = check_every(usable, begins)
    print(checkup_text(checkup, usable))
    if options.out:
        options.out.write_text(to_send(checkup), encoding="utf-8")
        print(f"Written to {options.out}: attach it to a report.")
    return OK if good and all(verdict.good is not False for verdict in checkup.checks) else FAILED


def _images_are_here(options: argparse.Namespace) -> bool:
    """Fetches them if that was asked for; False, and why on the terminal, if they can't be had."""
    if not options.download or options.data != FASHION or available():
        return True
    with download_bar("Fashion-MNIST") as progress:
        try:
            download_fashion_mnist(progress=progress)
        except DataError as error:
            print(tell(error.reason), file=sys.stderr)
            return False
    return True
