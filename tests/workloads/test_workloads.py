"""What every workload of the tables promises. A new one is tested by being in its table."""

import itertools
import operator
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.machine.devices import Device
from bench.measure.discovery import find_devices
from bench.records.formats import FORMATS, WIDTHS
from bench.workloads.article import ARTICLE_SIZES
from bench.workloads.contract import by_name
from bench.workloads.inputs import draw_from
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

every_operation = pytest.mark.parametrize("op", OPERATIONS.values(), ids=OPERATIONS)
every_network = pytest.mark.parametrize("net", NETWORKS.values(), ids=NETWORKS)
ROOT = Path(__file__).parents[2]
DEVICES = [info.name for info in find_devices() if info.usable]


def answer(op, size, device="cpu", dtype=torch.float32):
    function, inputs = op.build(draw_from(0), size)
    inputs = [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in inputs]
    if op.inputs_on == "host":
        return function(*inputs, device=device).cpu()
    return function(*(tensor.to(device) for tensor in inputs)).cpu()


@every_operation
def test_a_step_gives_the_same_finite_numbers_each_time_it_is_built(op):
    first, second = answer(op, 64), answer(op, 64)
    assert torch.isfinite(first).all() and torch.equal(first, second)


@every_operation
@pytest.mark.parametrize("device", DEVICES)
def test_every_device_gives_the_answer_of_float64(op, device):
    exact = answer(op, 100, dtype=torch.float64)
    torch.testing.assert_close(answer(op, 100, device).double(), exact, rtol=1e-5, atol=1e-5)


@every_operation
def test_flop_are_those_that_pytorch_counts(op):
    function, inputs = op.build(draw_from(0), 48)
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    counted = counter.get_total_flops()  # 0: PyTorch does not count this operation
    if op.name == "attention":  # it leaves out the softmax
        assert counted in (0, op.cost(48, 4).flops - 8 * 5 * 48 * 48)
    else:
        assert counted in (0, op.cost(48, 4).flops)


@every_operation
@pytest.mark.parametrize("dtype", FORMATS)
def test_bytes_moved_are_those_of_inputs_and_output(op, dtype):
    function, inputs = op.build(draw_from(0), 48)
    inputs = [tensor.to(getattr(torch, dtype)) if tensor.is_floating_point() else tensor for tensor in inputs]
    out = function(*inputs)
    if op.name == "embedding":  # only the rows that are taken are read
        inputs = [inputs[0], out]
    moved = sum(t.numel() * t.element_size() for t in (*inputs, out))
    assert op.cost(48, WIDTHS[dtype]).bytes_moved == moved <= op.bytes_needed(48, WIDTHS[dtype])


@every_operation
def test_cost_grows_with_size(op):
    costs = [op.cost(n, 4) for n in ARTICLE_SIZES]
    for a, b in itertools.pairwise(costs):
        assert 0 < a.bytes_moved < b.bytes_moved and (a.flops == b.flops == 0 or 0 < a.flops < b.flops)


@every_operation
def test_inputs_are_contiguous_and_on_the_cpu(op):
    _, inputs = op.build(draw_from(0), 48)
    assert all(t.is_contiguous() and t.device.type == "cpu" for t in inputs)


@every_operation
@pytest.mark.parametrize("size", [16, 33, 100])
def test_the_reference_is_the_operation_in_float64(op, size):
    """Line by line, by steps of its own; and single elements once more, by NumPy."""
    _, inputs = op.build(draw_from(0), size)
    whole, truth = answer(op, size, dtype=torch.float64), op.truth
    inputs = [one.double() if one.is_floating_point() else one for one in inputs]
    parts = [truth.exact(slice(i, min(i + 7, size)), *inputs) for i in range(0, size, 7)]
    torch.testing.assert_close(torch.cat(parts, truth.along), whole, rtol=1e-12, atol=1e-12)
    for index in ((0,) * whole.dim(), tuple(n - 1 for n in whole.shape), tuple(n // 2 for n in whole.shape)):
        assert truth.witness is None or truth.witness(index, *inputs) == pytest.approx(whole[index].item(), rel=1e-11)


@every_network
def test_a_network_has_the_parameters_it_says(net):
    assert sum(p.numel() for p in net.make().parameters()) == net.parameters


@every_network
def test_a_forward_pass_costs_what_it_says(net):
    """As PyTorch counts it while training, plus what an LSTM multiplies, which it does not count."""
    made = net.make().train()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        out = made(torch.zeros(4, 1, 28, 28))
    assert out.shape == (4, 10)
    recurrent = sum(
        2 * 4 * 28 * 4 * m.hidden_size * (m.input_size + m.hidden_size)
        for m in made.modules()
        if isinstance(m, torch.nn.LSTM)
    )
    assert counter.get_total_flops() + recurrent == 4 * net.forward_flops


@every_network
def test_the_smallest_batch_is_the_smallest_that_trains(net):
    net.make().train()(torch.zeros(net.smallest_batch, 1, 28, 28))
    if net.smallest_batch > 1:
        with pytest.raises(ValueError):
            net.make().train()(torch.zeros(net.smallest_batch - 1, 1, 28, 28))


def test_the_networks_are_the_articles():
    assert [NETWORKS[name].parameters for name in ("mlp", "convnet")] == [671_754, 421_642]
    mlp, convnet = (str(NETWORKS[name].make()) for name in ("mlp", "convnet"))
    assert mlp.count("BatchNorm1d(512") == 2 and mlp.count("ReLU") == 2 and mlp.count("Linear") == 3
    assert convnet.count("ReLU") == 2 and convnet.count("MaxPool2d") == 2, "none after the first convolution"


@pytest.mark.parametrize("table", [OPERATIONS, NETWORKS])
def test_a_name_stands_once_in_its_table_and_rows_keep_their_order(table):
    rows = list(table.values())
    assert by_name(rows) == table and list(by_name(rows)) == list(table) == [row.name for row in rows]
    with pytest.raises(ValueError, match="already"):
        by_name([*rows, rows[0]])


@pytest.mark.parametrize("module", ["operations", "networks"])
def test_a_table_is_complete_whoever_asks_first_and_needs_no_torch(module):
    code = f"import sys; from bench.workloads.{module} import {module.upper()} as rows; print(*rows);"
    code += "sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(OPERATIONS if module == "operations" else NETWORKS)


def test_a_product_is_looked_up_when_it_is_built(monkeypatch):
    monkeypatch.setattr(operator, "matmul", "another")
    assert {name for name, op in OPERATIONS.items() if op.build(draw_from(0), 16)[0] == "another"} == {
        "matvec",
        "matmul",
        "bmm",
    }


@pytest.mark.parametrize("name", DEVICES)
def test_a_usable_device_waits_names_its_hardware_and_knows_its_memory(name):
    device = Device(name)
    device.synchronize()
    device.release_memory()
    assert device.hardware() and device.memory_bytes() > 1e6


def test_every_kind_of_device_is_usable_or_says_why_not():
    found = find_devices()
    assert [info.name for info in found] == ["cpu", "mps", "cuda", "xpu"]
    for info in found:
        assert info.usable == (info.reason is None)
        assert not info.usable or (info.flops_per_s > 0 and info.bytes_per_s > 0 and info.memory_bytes > 0)
