"""Simulated sweeps whose truth is known: curves and crossings are found, and intervals hold what they say."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from bench.stats import crossover, fit
from bench.workloads.article import ARTICLE_SIZES

GEOMETRIC = tuple(np.geomspace(64, 8192, 9).round())


def moved(m):
    """Bytes of a matrix times a vector."""
    m = np.asarray(m, dtype=float)
    return 4 * (m * m + 2 * m)


@dataclass(frozen=True)
class Machine:
    """A device that obeys the model exactly."""

    t0: float
    bandwidth: float
    knee: float = np.inf
    fast: float = np.inf
    sharpness: float = np.inf  # inf: the cache keeps its share

    def seconds(self, m):
        w = moved(m)
        if self.knee == np.inf:
            return self.t0 + w / self.bandwidth
        miss = np.maximum(0, 1 - self.knee / w)
        if self.sharpness < np.inf:
            miss = 1 / (1 + (self.knee / w) ** self.sharpness)
        return self.t0 + w * ((1 - miss) / self.fast + miss / self.bandwidth)


def sweep(random, machines, sizes, rounds=8, within=0.02, between=0.02, samples=8):
    """Rounds of samples of each machine at each size; half the noise between rounds is common to the machines."""
    result = [[] for _ in machines]
    for m in sizes:
        common = random.normal(0, between * 0.7, rounds)
        for of, machine in zip(result, machines, strict=True):
            level = machine.seconds(m) * np.exp(common + random.normal(0, between * 0.7, rounds))
            of.append(level[:, None] * np.exp(random.normal(0, within, (rounds, samples))))
    return result


def true_crossings(a, b, sizes):
    x = np.geomspace(sizes[0], sizes[-1], 20_001)
    gap = np.log(a.seconds(x) / b.seconds(x))
    return x[np.flatnonzero(gap[:-1] * gap[1:] < 0)]


def any_machines(random, sizes):
    """A CPU, in five of six cases with a cache, and an accelerator that overtakes it once inside the range."""
    while True:
        t0, bandwidth = random.uniform(1e-6, 5e-6), random.uniform(1e10, 1e11)
        cache = {}
        if random.random() < 5 / 6:
            cache = dict(knee=4e6 * 4 ** random.uniform(-1, 1), fast=bandwidth * random.uniform(1.3, 5))
            cache["sharpness"] = random.choice([np.inf, 2.3, 3.1, 5.5, 7.4])
        cpu = Machine(t0, bandwidth, **cache)
        mps = Machine(t0 * 10 ** random.uniform(0.7, 2), bandwidth * random.uniform(1.5, 8))
        found = true_crossings(cpu, mps, sizes)
        if len(found) == 1 and sizes[1] < found[0] < sizes[-2]:
            return cpu, mps, found[0]


@cache
def simulated():
    """(truth, crossings found, [(interval, true value) of t0 and bandwidth]) of sweeps of all kinds."""
    random, results = np.random.default_rng(20), []
    for i in range(150):
        sizes = (ARTICLE_SIZES, GEOMETRIC)[i % 2]
        cpu, mps, truth = any_machines(random, sizes)
        noise = dict(rounds=(5, 8, 12)[i % 3], within=random.uniform(0.01, 0.05), between=random.uniform(0.01, 0.03))
        data = sweep(random, (cpu, mps), sizes, **noise)
        curves = []
        for machine, rounds in zip((cpu, mps), data, strict=True) if i % 3 == 0 else ():
            curve = fit.fit_curve(moved(sizes), rounds)
            curves += [(curve.t0, machine.t0), (curve.bandwidth, machine.bandwidth)]
        results.append((truth, crossover.crossovers(sizes, moved(sizes), *data), curves))
    return results


def covered(pairs):
    return np.mean([e.low <= truth <= e.high for e, truth in pairs])


def test_the_one_crossing_is_found_and_lies_in_its_interval():
    found = [(c[0].size, truth) for truth, c, _ in simulated() if len(c) == 1 and c[0].candidate_wins]
    assert len(found) >= 0.99 * len(simulated())
    assert covered(found) >= 0.93


def test_the_point_is_within_ten_percent_and_the_interval_is_no_wider_than_it_must_be():
    found = [(c[0].size, truth) for truth, c, _ in simulated() if c]
    assert np.mean([abs(e.value / truth - 1) < 0.1 for e, truth in found]) >= 0.98
    widths = [e.relative_half_width for e, _ in found]
    print(f"covered {covered(found):.3f}, half-widths {np.quantile(widths, (0.5, 0.9))}")
    assert np.median(widths) < 0.05
    assert np.quantile(widths, 0.9) < 0.25


@pytest.mark.parametrize("which", [0, 1], ids=["t0", "bandwidth"])
def test_overhead_and_bandwidth_lie_in_their_intervals(which):
    pairs = [pair for _, _, curves in simulated() for pair in curves[which::2]]
    print(f"covered {covered(pairs):.3f}, median half-width {np.median([e.relative_half_width for e, _ in pairs]):.3f}")
    assert covered(pairs) >= 0.93
    assert np.median([e.relative_half_width for e, _ in pairs]) < 0.15


def test_without_a_crossing_none_is_found():
    random = np.random.default_rng(3)
    always_slower = Machine(4e-5, 1.5e10)
    for cpu in [Machine(2e-6, 2e10), Machine(2e-6, 2e10, 8e6, 6e10, 4.0)] * 5:
        data = sweep(random, (cpu, always_slower), ARTICLE_SIZES, within=0.05)
        assert crossover.crossovers(ARTICLE_SIZES, moved(ARTICLE_SIZES), *data) == []


def test_a_crossing_on_the_cliff_between_two_sizes_lies_in_its_interval():
    """The hardest place: the cache ends between two measured sizes, no form is quite right, and there they cross."""
    random, pairs = np.random.default_rng(11), []
    cpu, mps = Machine(2e-6, 2e10, 8e6, 6e10, 5.6), Machine(6e-5, 8e10)
    (truth,) = true_crossings(cpu, mps, ARTICLE_SIZES)
    for _ in range(25):
        data = sweep(random, (cpu, mps), ARTICLE_SIZES, rounds=5, within=0.01, between=0.01)
        pairs += [(c.size, truth) for c in crossover.crossovers(ARTICLE_SIZES, moved(ARTICLE_SIZES), *data)]
    assert len(pairs) == 25
    assert covered(pairs) >= 0.92


def test_of_two_hundred_sizes_the_knee_is_found_from_a_few_starts(monkeypatch):
    """From each size it would take seconds for each device; the cache ends between two of the starts."""
    sizes = np.unique(np.geomspace(16, 16384, 200).round())
    cpu = Machine(2e-6, 2e10, 8e6, 6e10, 5.6)
    (data,) = sweep(np.random.default_rng(5), (cpu,), sizes, rounds=5)
    few = fit.fit_curve(moved(sizes), data)
    assert few.knee == pytest.approx(8e6, rel=0.1) and few.bandwidth.value == pytest.approx(2e10, rel=0.05)
    monkeypatch.setattr(fit, "STARTS", 60)
    many = fit.fit_curve(moved(sizes), data)
    assert many.knee == pytest.approx(few.knee, rel=0.01)


def test_a_device_without_a_cache_is_seldom_given_one():
    random, plain = np.random.default_rng(12), Machine(3e-6, 5e10)
    curves = [fit.fit_curve(moved(GEOMETRIC), *sweep(random, (plain,), GEOMETRIC, within=0.05)) for _ in range(25)]
    assert sum(c.knee is not None for c in curves) <= 1


def test_equal_devices_do_not_cross():
    random = np.random.default_rng(4)
    same = Machine(2e-6, 2e10)
    found = [
        crossover.crossovers(GEOMETRIC, moved(GEOMETRIC), *sweep(random, (same, same), GEOMETRIC)) for _ in range(15)
    ]
    assert sum(map(len, found)) <= 1


def test_a_lead_that_a_cache_gives_and_memory_takes_away_makes_two_crossings():
    random = np.random.default_rng(5)
    cpu, cached = Machine(2e-6, 2e10), Machine(2e-5, 1.2e10, 8e6, 8e10)
    truths = true_crossings(cpu, cached, ARTICLE_SIZES)
    pairs = []
    for _ in range(15):
        found = crossover.crossovers(ARTICLE_SIZES, moved(ARTICLE_SIZES), *sweep(random, (cpu, cached), ARTICLE_SIZES))
        assert [c.candidate_wins for c in found] == [True, False]
        assert [c.size.value for c in found] == pytest.approx(truths, rel=0.1)
        pairs += [(c.size, truth) for c, truth in zip(found, truths, strict=True)]
    assert covered(pairs) >= 0.9


@dataclass(frozen=True)
class Jumping(Machine):
    """Uses one thread up to a size, and all from there."""

    jump: float = 0.0

    def seconds(self, m):
        return super().seconds(m) * np.where(np.asarray(m) < self.jump, 3.0, 1.0)


@pytest.mark.parametrize("jump", [600, 1200, 1700, 2200])
def test_where_no_curve_describes_the_data_the_interval_spans_the_sizes_that_disagree(jump):
    random = np.random.default_rng(jump)
    cpu, mps = Jumping(2e-6, 4e10, jump=jump), Machine(1.5e-4, 3e11)
    truths = true_crossings(cpu, mps, ARTICLE_SIZES)
    data = sweep(random, (cpu, mps), ARTICLE_SIZES, within=0.01, between=0.01)
    found = crossover.crossovers(ARTICLE_SIZES, moved(ARTICLE_SIZES), *data)
    assert not fit.fit_curve(moved(ARTICLE_SIZES), data[0]).describes
    assert len(found) % 2 == 1
    for c in found:
        assert {round(c.size.low), round(c.size.high)} <= set(ARTICLE_SIZES)
        assert any(c.size.low <= truth <= c.size.high for truth in truths)


def test_between_two_sizes_the_crossing_is_interpolated_in_log_log():
    rising, flat = [[[s] * 3] * 6 for s in (1e-6, 1e-4)], [[[1e-5] * 3] * 6] * 2
    (crossing,) = crossover.crossovers([10, 1000], [10, 1000], rising, flat)
    assert crossing.size == pytest.approx((100, 10, 1000))
    assert crossing.candidate_wins


def test_turned_round_the_other_device_wins_from_the_same_size():
    machines = Machine(2e-6, 2e10), Machine(4e-5, 1e11)
    a, b = sweep(np.random.default_rng(6), machines, GEOMETRIC)
    (there,) = crossover.crossovers(GEOMETRIC, moved(GEOMETRIC), a, b)
    (back,) = crossover.crossovers(GEOMETRIC, moved(GEOMETRIC), b, a)
    assert there.candidate_wins and not back.candidate_wins
    assert there.size.value == pytest.approx(back.size.value, rel=1e-3)


@pytest.mark.parametrize(("sizes", "gain"), [((400, 470, 500, 560), 2.0), (GEOMETRIC, 1.1)], ids=["local", "curves"])
def test_what_both_devices_feel_in_a_round_cancels(sizes, gain):
    """A machine that slows and recovers: paired rounds place the crossing better than shuffled ones."""
    random = np.random.default_rng(3)
    weather = np.exp(random.normal(0, 0.1, (len(sizes), 8, 1)))
    machines = Machine(2e-6, 2e10), Machine(4e-5, 1e11)
    a, b = (np.array(rounds) * weather for rounds in sweep(random, machines, sizes, within=0.01, between=0))
    paired = crossover.crossovers(sizes, moved(sizes), a, b)[0].size
    shuffled = crossover.crossovers(sizes, moved(sizes), a, np.roll(b, 1, axis=1))[0].size
    assert paired.relative_half_width < shuffled.relative_half_width / gain


def test_without_noise_the_truth_is_found():
    for machine in (Machine(3e-6, 5e10), Machine(3e-6, 2e10, 6e6, 8e10), Machine(3e-6, 2e10, 6e6, 8e10, 3.6)):
        (rounds,) = sweep(np.random.default_rng(0), (machine,), ARTICLE_SIZES, within=0, between=0)
        curve = fit.fit_curve(moved(ARTICLE_SIZES), rounds)
        assert curve.t0.value == pytest.approx(3e-6, rel=0.01)
        assert curve.bandwidth.value == pytest.approx(machine.bandwidth, rel=0.01)
        assert curve.seconds(moved(ARTICLE_SIZES)) == pytest.approx(machine.seconds(ARTICLE_SIZES), rel=0.002)
        assert curve.describes
        assert (curve.knee is None) == (machine.knee == np.inf)
        if curve.knee:
            assert (curve.knee, curve.fast) == pytest.approx((6e6, 8e10), rel=0.02)


def test_the_least_squares_are_those_of_scipy():
    from scipy.optimize import least_squares

    (rounds,) = sweep(np.random.default_rng(8), (Machine(3e-6, 2e10, 6e6, 8e10, 4.0),), GEOMETRIC)
    y, w = np.log(np.median(rounds, axis=2)).mean(axis=1), moved(GEOMETRIC)
    for form in fit.FORMS:
        start = np.array([[form, y[0] - 0.7, y[-1] - np.log(w[-1]), -1.0, k] for k in np.log(w[1:-1])])
        _, chi2 = fit._solve(start, w, y, np.full(9, 0.01))

        def residuals(p, form=form):
            return (fit._model(np.array([[form, *p]]), w)[0][0] - y) / 0.01

        low, high = fit._limits(w, y)
        inside = np.clip(start[:, 1:], low + 1e-3, high - 1e-3)
        theirs = min(2 * least_squares(residuals, p, bounds=(low, high)).cost for p in inside)
        assert chi2.min() == pytest.approx(theirs, rel=1e-3)


def test_what_the_data_cannot_tell_has_an_open_interval():
    flat, straight = Machine(1e-4, 1e15), Machine(1e-12, 1e10)
    a, b = sweep(np.random.default_rng(9), (flat, straight), ARTICLE_SIZES)
    assert fit.fit_curve(moved(ARTICLE_SIZES), a).bandwidth.high == np.inf
    assert fit.fit_curve(moved(ARTICLE_SIZES), b).t0.low == 0


def test_a_lone_round_and_a_lone_sample_are_used():
    (rounds,) = sweep(np.random.default_rng(10), (Machine(3e-6, 5e10),), ARTICLE_SIZES)
    rounds[-1], rounds[-2] = rounds[-1][:1], rounds[-2][:1, :1]
    curve = fit.fit_curve(moved(ARTICLE_SIZES), rounds)
    assert curve.bandwidth.low < 5e10 < curve.bandwidth.high


@pytest.mark.parametrize(
    ("w", "rounds"),
    [
        ([1, 2], [[[1.0]]] * 2),
        ([1, 3, 2], [[[1.0]]] * 3),
        ([0, 1, 2], [[[1.0]]] * 3),
        ([1, 2, 3], [[[1.0]]] * 4),
        ([1, 2, 3], [[[1.0]], [[0.0]], [[1.0]]]),
        ([1, 2, 3], [[[1.0]], [], [[1.0]]]),
    ],
)
def test_what_is_no_sweep_is_refused(w, rounds):
    with pytest.raises(ValueError):
        fit.fit_curve(w, rounds)
    if len(w) > 2:
        with pytest.raises(ValueError):
            crossover.crossovers([1, 2, 3], w, rounds, rounds)
