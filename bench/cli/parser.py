"""The commands and their options, as ``--help`` shows them.

A new option belongs into one of the functions below; a new command is a row of ``COMMANDS`` and a function in
``commands.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from bench.cli import commands
from bench.cli.usage import UsageError
from bench.records.budget import EFFORTS
from bench.records.formats import CONTIGUOUS, FLOAT32, LAYOUTS, WIDTHS
from bench.workloads.datasets import FASHION, SOURCES
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def make_parser() -> argparse.ArgumentParser:
    """What it parses has ``run``, the function of the command; wrong words are a UsageError."""
    parser = _Parser(prog="python -m bench", description="Benchmark PyTorch on CPU against MPS, CUDA or XPU.")
    names = " | ".join(command.name for command in COMMANDS)
    each = parser.add_subparsers(required=True, metavar=names, parser_class=_Parser)
    for command in COMMANDS:
        its = each.add_parser(command.name, help=command.help)
        its.set_defaults(run=command.run, parse=parser.parse_args)  # fresh reads a sweep's options by ``parse``
        for add in command.options:
            add(its)
    return parser


def _operation(command: argparse.ArgumentParser) -> None:
    command.add_argument("--op", default="matvec", help=f"one of {', '.join(OPERATIONS)}")
    command.add_argument("--sizes", default="article", help='"article", or whole numbers such as 128,256,512')
    command.add_argument("--effort", default="standard", help=f"one of {', '.join(EFFORTS)}")


def _networks(command: argparse.ArgumentParser) -> None:
    command.add_argument("--models", default="mlp,convnet", help=f"from {', '.join(NETWORKS)}")
    command.add_argument("--epochs", default=1, type=int)
    command.add_argument("--batch", default="128", help="images a batch; train takes several, such as 32,128")
    command.add_argument("--images", default=60_000, type=int, help="training images an epoch")
    command.add_argument("--data", default=FASHION, help=f"{', '.join(SOURCES)}, or a folder of IDX files")
    command.add_argument("--download", action="store_true", help="fetch Fashion-MNIST if it is not there")


def _variants(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dtypes", default=FLOAT32, help=f"number formats from {', '.join(WIDTHS)}")
    command.add_argument("--threads", default="default", help='CPU threads such as 1,4,8, or "default"')
    command.add_argument("--layouts", default=CONTIGUOUS, help=f"of images in memory, from {', '.join(LAYOUTS)}")
    command.add_argument("--compile", default="off", help="torch.compile: off, on, or off,on for both")


def _devices(command: argparse.ArgumentParser) -> None:
    command.add_argument("--devices", default="", help="such as cpu,mps; all usable ones if left out")
    command.add_argument("--seed", default=0, type=int)


def _run_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, help="write the run here: .json, or .csv for the table alone")


def _two_runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("first", help="a run: a .json file, or the name or id of one in the store")
    command.add_argument("second", help="the run compared with it")
    command.add_argument(
        "--fail-slower",
        type=float,
        metavar="FACTOR",
        help="exit with 1 if a case of the second run is slower by more than this factor, as its interval supports",
    )


def _processes(command: argparse.ArgumentParser) -> None:
    command.add_argument("--times", default=5, type=int, help="how many processes")
    command.add_argument("sweep", nargs=argparse.REMAINDER, metavar="…", help="after --: options of sweep")


def _one_case(command: argparse.ArgumentParser) -> None:
    command.add_argument("--op", default="matmul", help=f"one of {', '.join(OPERATIONS)}")
    command.add_argument("--size", default=2000, type=int)
    command.add_argument("--minutes", default=2.0, type=float)
    command.add_argument("--device", default="", help="one of them; the last usable one if left out")
    command.add_argument("--dtype", default=FLOAT32, help=f"one of {', '.join(WIDTHS)}")


def _checks(command: argparse.ArgumentParser) -> None:
    command.add_argument("--check", action="store_true", help="try every accelerator: waiting, clocks, memory, results")
    command.add_argument("--out", type=Path, help="with --check: write what was found here, a .json to send")


class Command(NamedTuple):
    """``python -m bench NAME``."""

    name: str
    help: str
    run: Callable[[argparse.Namespace], int]  # gives the exit code
    options: tuple[Callable[[argparse.ArgumentParser], None], ...]  # each adds some


SWEEP = (_operation, _variants, _devices, _run_file)
COMMANDS = (
    Command("sweep", "one operation over sizes", commands.sweep, SWEEP),
    Command(
        "train",
        "training and inference of networks",
        commands.training,
        (_networks, _variants, _devices, _run_file),
    ),
    Command(
        "replay",
        "the article's experiments by its own clocks and the right ones",
        commands.replaying,
        (_networks, _devices, _run_file),
    ),
    Command("aa", "one device against itself: the instrument's own noise", commands.noise, SWEEP),
    Command("compare", "two runs side by side", commands.comparing, (_two_runs,)),
    Command(
        "fresh",
        "the same sweep in several new processes: how much those differ",
        commands.fresh,
        (_processes,),
    ),
    Command("sustain", "one case for minutes: does it keep its speed?", commands.sustain, (_one_case, _run_file)),
    Command("doctor", "what is here, what is missing and why", commands.doctor, (_checks,)),
)
