"""What the README says can be done, can be done."""

import re
import shlex
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.cli.parser import COMMANDS, make_parser
from bench.measure.plans import TrainingPlan
from bench.measure.sizes import parse_batches, parse_sizes
from bench.measure.verification.judge import Judge
from bench.records import cost
from bench.workloads import contract, operations
from bench.workloads.inputs import draw_from
from bench.workloads.networks import NETWORKS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^python -m bench (.+)$", README, re.MULTILINE)


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_command_is_understood(command):
    options = make_parser().parse_args(shlex.split(command))
    if hasattr(options, "sizes"):
        assert parse_sizes(options.sizes)
    if hasattr(options, "models"):
        TrainingPlan(
            tuple(options.models.split(",")), ("cpu",), options.epochs, parse_batches(options.batch), options.images
        )


def test_the_readme_shows_every_command():
    assert {command.split()[0] for command in EXAMPLES} == {command.name for command in COMMANDS}


def example(row, **names):
    """The row of a table that the README shows, made of what its module knows by these names."""
    (code,) = re.findall(rf"```python\n({row}\(.+?)```", README, re.DOTALL)
    return eval(code, names)


def test_the_example_adds_an_operation_that_is_verified():
    dot = example(
        "Operation",
        Operation=contract.Operation,
        Truth=contract.Truth,
        Cost=cost.Cost,
        torch_function=operations.torch_function,
    )
    assert dot.name == "dot" in contract.by_name([*operations.OPERATIONS.values(), dot])
    function, inputs = dot.build(draw_from(0), 100)
    judge = Judge(dot, 100, inputs)
    assert judge.compare(function(*inputs)).verdict == "right"
    assert judge.compare(1.01 * function(*inputs)).verdict == "wrong"
    assert dot.cost(100, 4).bytes_moved == sum(t.nbytes for t in (*inputs, torch.zeros(1)))


def test_the_example_adds_a_network_that_costs_what_it_says():
    def linear():
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))

    row = example("Network", Network=contract.Network, linear=linear)
    assert row.name == "linear" in contract.by_name([*NETWORKS.values(), row])
    made = row.make()
    assert sum(p.numel() for p in made.parameters()) == row.parameters
    with FlopCounterMode(display=False) as counter:
        assert made(torch.zeros(4, 1, 28, 28)).shape == (4, 10)
    assert counter.get_total_flops() == 4 * row.forward_flops
