"""What every registered workload promises. A new one is tested by being registered."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench import models, ops  # noqa: F401
from bench.data import draw_from
from bench.devices import Device, find_devices
from bench.registry import ARTICLE_SIZES, NETWORKS, OPERATIONS, operation

every_operation = pytest.mark.parametrize("op", OPERATIONS.values(), ids=OPERATIONS)
every_network = pytest.mark.parametrize("net", NETWORKS.values(), ids=NETWORKS)
DEVICES = [info.name for info in find_devices() if info.usable]


def answer(op, size, device="cpu"):
    function, inputs = op.build(draw_from(0), size)
    return function(*(tensor.to(device) for tensor in inputs)).cpu()


@every_operation
def test_a_step_gives_the_same_finite_numbers_each_time_it_is_built(op):
    first, second = answer(op, 64), answer(op, 64)
    assert torch.isfinite(first).all() and torch.equal(first, second)


@every_operation
@pytest.mark.parametrize("device", DEVICES)
def test_every_device_gives_the_answer_of_float64(op, device):
    function, inputs = op.build(draw_from(0), 100)
    exact = function(*(tensor.double() for tensor in inputs))
    torch.testing.assert_close(answer(op, 100, device).double(), exact, rtol=1e-5, atol=1e-5)


@every_operation
def test_flop_are_those_that_pytorch_counts(op):
    function, inputs = op.build(draw_from(0), 48)
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    assert counter.get_total_flops() in (0, op.cost(48).flops), "0: PyTorch does not count this operation"


@every_operation
def test_bytes_moved_are_those_of_inputs_and_output(op):
    function, inputs = op.build(draw_from(0), 48)
    tensors = (*inputs, function(*inputs))
    assert op.cost(48).bytes_moved == sum(t.numel() * t.element_size() for t in tensors) == op.memory(48)


@every_operation
def test_cost_grows_with_size(op):
    costs = [op.cost(n) for n in ARTICLE_SIZES]
    assert all(0 < a.flops < b.flops and 0 < a.bytes_moved < b.bytes_moved for a, b in zip(costs, costs[1:]))  # noqa: B905, RUF007


@every_operation
def test_inputs_are_contiguous_and_on_the_cpu(op):
    _, inputs = op.build(draw_from(0), 48)
    assert all(t.is_contiguous() and t.device.type == "cpu" for t in inputs)


@every_network
def test_a_network_has_the_parameters_it_says(net):
    assert sum(p.numel() for p in net.make().parameters()) == net.parameters


@every_network
def test_a_forward_pass_costs_what_it_says(net):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        out = net.make().eval()(torch.zeros(4, 1, 28, 28))
    assert out.shape == (4, 10)
    assert counter.get_total_flops() == 4 * net.forward_flops


@every_network
def test_the_smallest_batch_is_the_smallest_that_trains(net):
    net.make().train()(torch.zeros(net.smallest_batch, 1, 28, 28))
    if net.smallest_batch > 1:
        with pytest.raises(ValueError):
            net.make().train()(torch.zeros(net.smallest_batch - 1, 1, 28, 28))


def test_the_networks_are_the_articles():
    assert {net.name: net.parameters for net in NETWORKS.values()} == {"mlp": 671_754, "convnet": 421_642}
    mlp, convnet = (str(NETWORKS[name].make()) for name in ("mlp", "convnet"))
    assert mlp.count("BatchNorm1d(512") == 2 and mlp.count("ReLU") == 2 and mlp.count("Linear") == 3
    assert convnet.count("ReLU") == 2 and convnet.count("MaxPool2d") == 2, "none after the first convolution"


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="already"):
        operation("matvec", title="", formula="", axis="", cost=None)(None)


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
        assert info.usable != bool(info.reason)
        assert not info.usable or (info.flops_per_s > 0 and info.bytes_per_s > 0 and info.memory_bytes > 0)
