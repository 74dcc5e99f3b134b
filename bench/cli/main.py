"""The same jobs without a page: ``python -m bench sweep | train | replay | aa | compare | fresh | sustain | doctor``.

Exit code 0: done. 1: something failed. 2: bad usage, said in one sentence.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.analysis.comparison import compare, slower_than
from bench.analysis.spread import spreads
from bench.cli.options import choose, run_named, sweep_plan, training_plan
from bench.cli.terminal import (
    carry_out,
    check_all,
    check_out,
    comparison_text,
    recording_runner,
    spread_text,
)
from bench.cli.usage import FAILED, OK, USAGE, UsageError
from bench.measure.plans import ReplayPlan, SweepPlan
from bench.measure.processes import FreshError, run_fresh
from bench.measure.replay import replay
from bench.measure.sweep import measure
from bench.measure.training import train
from bench.records.budget import EFFORTS, sustained
from bench.records.case import again
from bench.records.formats import CONTIGUOUS, FLOAT32, LAYOUTS, WIDTHS
from bench.records.refusal import PlanError, check_between
from bench.text.tell import tell
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.datasets import FASHION, SOURCES
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = _parser().parse_args(arguments)
        return options.run(options)
    except UsageError as error:
        print(error, file=sys.stderr)
        return USAGE
    except PlanError as error:
        print(tell(error.reason), file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m bench", description="Benchmark PyTorch on CPU against MPS, CUDA or XPU.")
    commands = parser.add_subparsers(
        required=True, metavar="sweep | train | replay | aa | compare | fresh | sustain | doctor", parser_class=_Parser
    )

    sweep = commands.add_parser("sweep", help="one operation over sizes")
    sweep.set_defaults(run=_sweep)
    noise = commands.add_parser("aa", help="one device against itself: the instrument's own noise")
    noise.set_defaults(run=_noise)
    for command in (sweep, noise):
        command.add_argument("--op", default="matvec", help=f"one of {', '.join(OPERATIONS)}")
        command.add_argument("--sizes", default="article", help='"article", or whole numbers such as 128,256,512')
        command.add_argument("--effort", default="standard", help=f"one of {', '.join(EFFORTS)}")

    training = commands.add_parser("train", help="training and inference of networks")
    training.set_defaults(run=_train)
    replaying = commands.add_parser("replay", help="the article's experiments by its own clocks and the right ones")
    replaying.set_defaults(run=_replay)
    for command in (training, replaying):
        command.add_argument("--models", default="mlp,convnet", help=f"from {', '.join(NETWORKS)}")
        command.add_argument("--epochs", default=1, type=int)
        command.add_argument("--batch", default="128", help="images a batch; train takes several, such as 32,128")
        command.add_argument("--images", default=60_000, type=int, help="training images an epoch")
        command.add_argument("--data", default=FASHION, help=f"{', '.join(SOURCES)}, or a folder of IDX files")
        command.add_argument("--download", action="store_true", help="fetch Fashion-MNIST if it is not there")

    for command in (sweep, noise, training):
        command.add_argument("--dtypes", default=FLOAT32, help=f"number formats from {', '.join(WIDTHS)}")
        command.add_argument("--threads", default="default", help='CPU threads such as 1,4,8, or "default"')
        command.add_argument("--layouts", default=CONTIGUOUS, help=f"of images in memory, from {', '.join(LAYOUTS)}")
        command.add_argument("--compile", default="off", help="torch.compile: off, on, or off,on for both")

    for command in (sweep, noise, training, replaying):
        command.add_argument("--devices", default="", help="such as cpu,mps; all usable ones if left out")
        command.add_argument("--seed", default=0, type=int)
        command.add_argument("--out", type=Path, help="write the run here: .json, or .csv for the table alone")

    comparing = commands.add_parser("compare", help="two runs side by side")
    comparing.set_defaults(run=_compare)
    comparing.add_argument("first", help="a run: a .json file, or the name or id of one in the store")
    comparing.add_argument("second", help="the run compared with it")
    comparing.add_argument(
        "--fail-slower",
        type=float,
        metavar="FACTOR",
        help="exit with 1 if a case of the second run is slower by more than this factor, as its interval supports",
    )

    sustain = commands.add_parser("sustain", help="one case for minutes: does it keep its speed?")
    sustain.set_defaults(run=_sustain)
    sustain.add_argument("--op", default="matmul", help=f"one of {', '.join(OPERATIONS)}")
    sustain.add_argument("--size", default=2000, type=int)
    sustain.add_argument("--minutes", default=2.0, type=float)
    sustain.add_argument("--device", default="", help="one of them; the last usable one if left out")
    sustain.add_argument("--dtype", default=FLOAT32, help=f"one of {', '.join(WIDTHS)}")
    sustain.add_argument("--out", type=Path, help="write the run here: .json, or .csv for the table alone")

    fresh = commands.add_parser("fresh", help="the same sweep in several new processes: how much those differ")
    fresh.set_defaults(run=_fresh)
    fresh.add_argument("--times", default=5, type=int, help="how many processes")
    fresh.add_argument("sweep", nargs=argparse.REMAINDER, metavar="…", help="after --: options of sweep")

    doctor = commands.add_parser("doctor", help="what is here, what is missing and why")
    doctor.set_defaults(run=_doctor)
    doctor.add_argument("--check", action="store_true", help="try every accelerator: waiting, clocks, memory, results")
    doctor.add_argument("--out", type=Path, help="with --check: write what was found here, a .json to send")
    return parser


def _sweep(options: argparse.Namespace) -> int:
    runner, make = recording_runner(), sweep_plan(options)
    plan = make(choose(options.devices, runner))
    return carry_out(runner, partial(measure, plan), "sweep", plan.cases, options.out)


def _noise(options: argparse.Namespace) -> int:
    runner, make = recording_runner(), sweep_plan(options)
    device = choose(options.devices, runner)[-1]
    plan = make((device, again(device)))
    return carry_out(runner, partial(measure, plan), "aa", plan.cases, options.out)


def _train(options: argparse.Namespace) -> int:
    make = training_plan(options)
    if options.download and options.data == FASHION and (code := _download()) != OK:
        return code
    runner = recording_runner()
    plan = make(choose(options.devices, runner))
    return carry_out(runner, partial(train, plan), "training", plan.cases, options.out)


def _replay(options: argparse.Namespace) -> int:
    make = training_plan(options)
    if options.download and options.data == FASHION and (code := _download()) != OK:
        return code
    runner = recording_runner()
    training = replace(make(choose(options.devices, runner)), one_by_one=False)
    plan = ReplayPlan(SweepPlan("matvec", ARTICLE_SIZES, training.devices, EFFORTS["quick"]), training)
    return carry_out(runner, partial(replay, plan), "replay", plan.cases, options.out)


def _doctor(options: argparse.Namespace) -> int:
    from bench.measure.discovery import find_devices
    from bench.measure.doctor import examine
    from bench.text.evidence import report

    check_out(options.out)
    if options.out and not options.check:
        raise UsageError("--out goes with --check: only its findings are worth a file.")
    devices = find_devices()
    findings = examine(devices)
    print(report(findings))
    good = all(finding.good for finding in findings if finding.needed)
    return OK if (not options.check or check_all(devices, options.out)) and good else FAILED


def _compare(options: argparse.Namespace) -> int:
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


def _sustain(options: argparse.Namespace) -> int:
    budget = sustained(options.minutes)

    def make(device: str) -> SweepPlan:
        return SweepPlan(options.op, (options.size,), (device,), budget, dtypes=(options.dtype,))

    make("cpu")
    check_out(options.out)
    runner = recording_runner()
    plan = make(choose(options.device, runner)[-1])
    return carry_out(runner, partial(measure, plan), "sweep", plan.cases, options.out)


def _fresh(options: argparse.Namespace) -> int:
    arguments = [argument for argument in options.sweep if argument != "--"]
    check_between("--times", options.times, 2, 100)
    sweep_plan(_parser().parse_args(["sweep", *arguments]))  # complains now, not in every process

    def tell(number: int) -> None:
        print(f"Process {number + 1} of {options.times} …", file=sys.stderr)

    try:
        found = spreads(run_fresh(arguments, options.times, tell))
    except FreshError as error:
        print(tell(error.reason), file=sys.stderr)
        return FAILED
    print(spread_text(found))
    return OK if found else FAILED


def _download() -> int:
    from tqdm import tqdm

    from bench.workloads.datasets import DataError, available, download_fashion_mnist

    if available():
        return OK
    with tqdm(unit="B", unit_scale=True, desc="Fashion-MNIST", disable=not sys.stderr.isatty()) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        try:
            download_fashion_mnist(progress=progress)
        except DataError as error:
            print(tell(error.reason), file=sys.stderr)
            return FAILED
    return OK


if __name__ == "__main__":
    sys.exit(main())
