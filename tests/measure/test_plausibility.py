"""Numbers that can't be are marked, and so are machines that changed meanwhile."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import ENVIRONMENT

from bench.machine import ceilings
from bench.measure import plausibility
from bench.records.cost import Cost
from bench.text.tell import tell

M1_PRO = ceilings.ceiling(ENVIRONMENT, "mps")


def test_the_ceiling_of_a_chip_comes_from_the_table_with_its_basis():
    assert M1_PRO.bytes_per_s == pytest.approx(200e9 * ceilings.MARGIN)
    assert M1_PRO.flops_per_s == pytest.approx(5.31e12 * ceilings.MARGIN)
    assert "published for the M1 Pro" in tell(M1_PRO.basis)


@pytest.mark.parametrize("chip", ["Apple M1", "Apple M2 Ultra", "Apple M4 Max", "Apple M5"])
def test_every_name_finds_its_own_row(chip):
    row = ceilings.apple_chips()[chip.removeprefix("Apple ")]
    found = ceilings.ceiling(replace(ENVIRONMENT, chip=chip), "cpu")
    assert found.bytes_per_s == pytest.approx(float(row["memory_bandwidth_gb_s"]) * 1e9 * ceilings.MARGIN)
    assert found.flops_per_s == 0, "nothing is published of the CPU"


def test_seventeen_petaflops_on_a_laptop_are_impossible():
    cost = Cost(flops=2 * 4096**3, bytes_moved=12 * 4096**2)
    assert "more than the device can do" in tell(plausibility.impossible(cost, cost.flops / 17e15, M1_PRO))
    assert plausibility.impossible(cost, cost.flops / 3.7e12, M1_PRO) is None


def test_traffic_beyond_the_memory_is_impossible_only_where_no_cache_can_hold_it():
    large, small = Cost(1, 1_000_000_000), Cost(1, 1_000_000)
    assert "more than the device can move" in tell(plausibility.impossible(large, 1e9 / 300e9, M1_PRO))
    assert plausibility.impossible(large, 1e9 / 190e9, M1_PRO) is None
    assert plausibility.impossible(small, 1e6 / 300e9, M1_PRO) is None, "this lies in a cache"


def test_a_chip_nobody_knows_is_held_to_the_copy_measured_on_it():
    unknown = replace(ENVIRONMENT, chip="Some CPU")
    top = ceilings.ceiling(unknown, "cpu", copy_bytes_per_s=10e9)
    assert "copy measured here" in tell(top.basis)
    assert plausibility.impossible(Cost(1, 1_000_000_000), 1 / 50, top)
    assert plausibility.impossible(Cost(1, 1_000_000_000), 1 / 50, ceilings.ceiling(unknown, "cpu")) is None


def rounds(*medians, scatter=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return [[m * (1 + scatter * rng.standard_normal()) for _ in range(9)] for m in medians]


def test_throttling_is_named_with_its_size_wherever_it_begins():
    for begin in (3, 4, 5):
        said = tell(plausibility.drift(rounds(*[1.0] * begin, *[1.5] * (8 - begin), scatter=0.01)))
        assert "slower" in said and float(said.split()[2]) == pytest.approx(1.5, rel=0.03), said


def test_warming_up_is_named_too():
    assert "faster" in tell(plausibility.drift(rounds(2, 2, 2, 1, 1, 1, 1, 1)))


def test_steady_rounds_do_not_drift():
    wrong = sum(bool(plausibility.drift(rounds(*[1.0] * 10, scatter=0.05, seed=s))) for s in range(200))
    assert wrong <= 2


def test_one_slow_round_is_no_drift():
    assert plausibility.drift(rounds(1, 1, 1, 3, 1, 1, 1, 1)) is None


def test_clocks_that_disagree_are_named():
    assert plausibility.clocks_disagree(1.0, (1.01, 1.02), 0.05) is None
    assert plausibility.clocks_disagree(1.0, (), 0.05) is None
    assert "1.20 times the wall clock" in tell(plausibility.clocks_disagree(1.0, (1.2, 1.2, 9), 0.05))
