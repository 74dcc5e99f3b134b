"""The same jobs without a page: ``python -m bench sweep | train | replay | aa | doctor``.

Exit code 0: done. 1: something failed. 2: bad usage, said in one sentence.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import models, ops, verdict  # noqa: F401  (importing the first two fills the registries)
from bench.cases import EFFORTS, Case, PlanError, ReplayPlan, SweepPlan, TrainingPlan, again, parse_sizes
from bench.datasets import FASHION, SOURCES
from bench.export import to_csv, to_json
from bench.recorder import Recorder
from bench.registry import ARTICLE_SIZES, NETWORKS, OPERATIONS
from bench.replay import replay, sentences
from bench.results import Failure, Measurement, Run
from bench.runner import Job, Runner, Snapshot, State
from bench.store import StoreError, open_store
from bench.sweep import measure
from bench.training import train
from bench.units import duration, si, significant

OK, FAILED, USAGE = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise PlanError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        options = _parser().parse_args(arguments)
        return options.run(options)
    except PlanError as error:
        print(error, file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m bench", description="Benchmark PyTorch on CPU against MPS, CUDA or XPU.")
    commands = parser.add_subparsers(
        required=True, metavar="sweep | train | replay | aa | doctor", parser_class=_Parser
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
        command.add_argument("--batch", default=128, type=int, help="images a batch")
        command.add_argument("--images", default=60_000, type=int, help="training images an epoch")
        command.add_argument("--data", default=FASHION, help=f"{', '.join(SOURCES)}, or a folder of IDX files")
        command.add_argument("--download", action="store_true", help="fetch Fashion-MNIST if it is not there")

    for command in (sweep, noise, training, replaying):
        command.add_argument("--devices", default="", help="such as cpu,mps; all usable ones if left out")
        command.add_argument("--seed", default=0, type=int)
        command.add_argument("--out", type=Path, help="write the run here: .json, or .csv for the table alone")

    commands.add_parser("doctor", help="what is here, what is missing and why").set_defaults(run=_doctor)
    return parser


def _sweep(options: argparse.Namespace) -> int:
    runner, make = _recording(), _sweep_plan(options)
    plan = make(_choose(options.devices, runner))
    return _carry_out(runner, partial(measure, plan), "sweep", plan.cases, options.out)


def _noise(options: argparse.Namespace) -> int:
    runner, make = _recording(), _sweep_plan(options)
    device = _choose(options.devices, runner)[-1]
    plan = make((device, again(device)))
    return _carry_out(runner, partial(measure, plan), "aa", plan.cases, options.out)


def _train(options: argparse.Namespace) -> int:
    make = _training_plan(options)
    if options.download and options.data == FASHION and (code := _download()) != OK:
        return code
    runner = _recording()
    plan = make(_choose(options.devices, runner))
    return _carry_out(runner, partial(train, plan), "training", plan.cases, options.out)


def _replay(options: argparse.Namespace) -> int:
    make = _training_plan(options)
    if options.download and options.data == FASHION and (code := _download()) != OK:
        return code
    runner = _recording()
    training = make(_choose(options.devices, runner))
    plan = ReplayPlan(SweepPlan("matvec", ARTICLE_SIZES, training.devices, EFFORTS["quick"]), training)
    return _carry_out(runner, partial(replay, plan), "replay", plan.cases, options.out)


def _sweep_plan(options: argparse.Namespace) -> Callable[[tuple[str, ...]], SweepPlan]:
    """Complains of whatever can be known before PyTorch is loaded; what is returned takes the devices."""
    if options.effort not in EFFORTS:
        raise PlanError(f"There is no effort {options.effort!r}; choose from {', '.join(EFFORTS)}.")
    sizes = parse_sizes(options.sizes)

    def make(devices: tuple[str, ...]) -> SweepPlan:
        return SweepPlan(options.op, sizes, devices, EFFORTS[options.effort], options.seed)

    make(("cpu",))
    _check_out(options.out)
    return make


def _training_plan(options: argparse.Namespace) -> Callable[[tuple[str, ...]], TrainingPlan]:
    names = tuple(name.strip() for name in options.models.split(",") if name.strip())

    def make(devices: tuple[str, ...]) -> TrainingPlan:
        return TrainingPlan(
            names, devices, options.epochs, options.batch, options.images, options.data, seed=options.seed
        )

    make(("cpu",))
    if options.data not in SOURCES and not Path(options.data).expanduser().is_dir():
        raise PlanError(f"--data: there is no folder {options.data}; or choose from {', '.join(SOURCES)}.")
    _check_out(options.out)
    return make


def _doctor(options: argparse.Namespace) -> int:
    from bench.doctor import examine, report

    findings = examine()
    print(report(findings))
    return OK if all(finding.good for finding in findings if finding.needed) else FAILED


def _download() -> int:
    from tqdm import tqdm

    from bench.datasets import DataError, available, download_fashion_mnist

    if available():
        return OK
    with tqdm(unit="B", unit_scale=True, desc="Fashion-MNIST", disable=not sys.stderr.isatty()) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        try:
            download_fashion_mnist(progress=progress)
        except DataError as error:
            print(error, file=sys.stderr)
            return FAILED
    return OK


def _check_out(out: Path | None) -> None:
    """Before measuring for minutes: can the file be written, and is its kind known?"""
    if out is None:
        return
    if out.suffix not in (".json", ".csv"):
        raise PlanError(f"--out must end in .json or .csv, and {out.name} does not.")
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise PlanError(f"--out: there is no folder {out.absolute().parent} to write {out.name} into.")
    try:
        with out.open("a"):
            pass
    except OSError as error:
        raise PlanError(f"--out: {out} cannot be written ({error.strerror}).") from error
    if out.stat().st_size == 0:
        out.unlink()  # only tried


def _choose(text: str, runner: Runner) -> tuple[str, ...]:
    """The devices asked for, or all usable ones. PlanError with the reason if one is not usable."""
    runner.wake()
    found = {device.name: device for device in runner.join().devices}
    if runner.snapshot.state is State.BROKEN:
        raise PlanError(runner.snapshot.error)
    if not text.strip():
        return tuple(device.name for device in runner.snapshot.usable)
    chosen = tuple(name.strip() for name in text.split(","))
    for name in chosen:
        if name not in found:
            raise PlanError(f"There is no device {name!r}; choose from {', '.join(found)}.")
        if not found[name].usable:
            raise PlanError(f"Device {name!r} can't be used. {found[name].reason}")
    return chosen


def _carry_out(runner: Runner, job: Job, kind: str, planned: tuple[Case, ...], out: Path | None) -> int:
    runner.start(job, kind, planned)
    try:
        snapshot = _wait(runner)
    except KeyboardInterrupt:
        print("Stopping after the current block; finished cases are kept.", file=sys.stderr)
        runner.stop()
        snapshot = runner.join(4.0)
    run = snapshot.run
    for text in filter(None, (snapshot.notice, snapshot.error)):
        print(text, file=sys.stderr)
    if run is None:
        return FAILED
    print(_table(run))
    for sentence in _sentences(run, snapshot.kind):
        print(sentence)
    if out:
        out.write_bytes(to_csv(run) if out.suffix == ".csv" else to_json(run).encode())
        print(f"Written to {out}")
    return FAILED if run.failures or snapshot.state is not State.DONE else OK


def _recording() -> Runner:
    """A runner that keeps its runs on disk; where that can't be, it says so and goes on."""
    try:
        store = open_store()
        for notice in store.notices:
            print(notice, file=sys.stderr)
        for head in store.unfinished():
            store.recover(head.id)
            at = f" while {head.case} was measured" if head.case else ""
            print(f"An earlier run ended abruptly{at}; {head.outcomes} of its cases are kept.", file=sys.stderr)
        return Runner(recorder=Recorder(store))
    except StoreError as error:
        print(f"{error} This run is not kept on disk.", file=sys.stderr)
        return Runner()


def _wait(runner: Runner) -> Snapshot:
    """Show a progress bar, on a terminal, until the run is over."""
    from tqdm import tqdm

    form = "{desc} |{bar}| {percentage:3.0f} % {postfix}"
    with tqdm(total=1.0, bar_format=form, disable=not sys.stderr.isatty(), leave=False) as bar:
        while (snapshot := runner.join(0.5)).active:
            bar.n = snapshot.done
            bar.set_description_str(f"{snapshot.current or ''} · {snapshot.stage}"[:60])
            bar.set_postfix_str(f"about {duration(snapshot.left_s)} left" if snapshot.left_s else "")
    return snapshot


def _table(run: Run) -> str:
    """For people at a terminal."""
    lines = ["Emulated device: its times are settings, never measurements of real hardware."] if run.emulated else []
    head = ("case", "median", "95 % interval", "article's clock", "speed-up", "status")
    rows = [head, *(_line(run, outcome) for outcome in run.outcomes)]
    if not any(m.article_s for m in run.measurements):
        rows = [(*row[:3], *row[4:]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _sentences(run: Run, kind: str) -> list[str]:
    """What the table amounts to."""
    if kind == "replay":
        return sentences(run)
    if kind == "aa":
        return verdict.of_noise(run)
    about = verdict.of_training(run) if kind == "training" else verdict.of_sweep(run)
    return [*about, *verdict.doubts(run)]


def _line(run: Run, outcome: Measurement | Failure) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        return str(outcome.case), "–", "–", "–", "–", f"failed: {outcome.error}"
    mid, speedup = outcome.median_s, run.speedup(outcome)
    return (
        str(outcome.case),
        si(mid.value, "s"),
        f"{si(mid.low, 's')} to {si(mid.high, 's')}",
        si(outcome.article_s, "s") if outcome.article_s else "–",
        f"{significant(speedup.value)} ×" if speedup else "–",
        f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status,
    )


if __name__ == "__main__":
    sys.exit(main())
