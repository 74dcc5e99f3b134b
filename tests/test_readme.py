"""What the README says can be done, can be done."""

import re
import shlex
from pathlib import Path

import pytest
import torch

from bench.cli.main import _parser
from bench.measure.plans import TrainingPlan
from bench.measure.sizes import parse_batches, parse_sizes
from bench.measure.verify import Judge, Outline
from bench.records import cost
from bench.workloads import operations
from bench.workloads.inputs import draw_from

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m bench (.+)$", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_understood(command):
    options = _parser().parse_args(shlex.split(command))
    if hasattr(options, "sizes"):
        assert parse_sizes(options.sizes)
    if hasattr(options, "models"):
        TrainingPlan(
            tuple(options.models.split(",")), ("cpu",), options.epochs, parse_batches(options.batch), options.images
        )


def test_there_are_commands():
    assert {command.split()[0] for command in COMMANDS} == {
        "sweep",
        "train",
        "replay",
        "aa",
        "compare",
        "fresh",
        "sustain",
        "doctor",
    }


def test_the_example_adds_an_operation_that_is_verified(monkeypatch):
    monkeypatch.setattr(operations, "OPERATIONS", dict(operations.OPERATIONS))
    (code,) = re.findall(r"```python\n(.+?)```", README, re.DOTALL)
    exec(code, {"operation": operations.operation, "Cost": cost.Cost})
    dot = operations.OPERATIONS["dot"]
    function, inputs = dot.build(draw_from(0), 100)
    judge = Judge(dot, 100, function, inputs)
    outline = Outline.of(function(*inputs))
    assert judge.check(lambda: function(*inputs), outline).verdict == "right"
    assert judge.check(lambda: 1.01 * function(*inputs), outline).verdict == "wrong"
    assert dot.cost(100, 4).bytes_moved == sum(t.nbytes for t in (*inputs, torch.zeros(1)))
