"""Textbook cases, then properties that hold for any run times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import stats

times = st.lists(st.floats(1e-7, 1e2), min_size=1, max_size=60)
rounds = st.lists(st.lists(st.floats(1e-7, 1e2), min_size=1, max_size=5), min_size=1, max_size=12)


def test_iqr_of_a_known_sample():
    assert stats.iqr([1, 2, 3, 4, 5]) == 2


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (9, 2, 8), (10, 2, 9), (20, 6, 15), (100, 40, 61)])
def test_the_median_lies_between_the_order_statistics_of_the_tables(n, low, high):
    """Conover's table A3: these ranks enclose the median with at least 95 %."""
    assert stats.median(range(1, n + 1)) == ((n + 1) / 2, low, high)


def test_the_interval_of_the_median_covers_it_as_often_as_it_says():
    """Skewed times, 2 000 samples of 15: the true median is inside in at least 95 %, and not always."""
    draws = np.random.default_rng(1).lognormal(0, 1, (2000, 15))
    inside = np.mean([e.low <= 1.0 <= e.high for e in map(stats.median, draws)])
    assert 0.945 <= inside <= 0.985


def test_no_samples_have_no_median():
    with pytest.raises(ValueError):
        stats.median([])


@given(times)
def test_the_interval_holds_the_median(samples):
    e = stats.median(samples)
    assert min(samples) <= e.low <= e.value <= e.high <= max(samples)


@given(rounds, rounds, st.floats(0.01, 100))
def test_a_ratio_does_not_depend_on_the_unit(a, b, unit):
    plain = stats.ratio(a, b)
    scaled = stats.ratio([[s * unit for s in r] for r in a], [[s * unit for s in r] for r in b])
    assert scaled == pytest.approx(plain, rel=1e-6)


@given(rounds, rounds)
def test_a_ratio_turned_round_is_its_inverse_and_lies_in_its_interval(a, b):
    there, back = stats.ratio(a, b), stats.ratio(b, a)
    assert there.value * back.value == pytest.approx(1)
    assert there.low <= there.value <= there.high


def test_few_samples_make_the_widest_interval_that_they_allow():
    assert stats.ratio([[2.0, 4.0]], [[1.0, 2.0]]) == (2.0, 1.0, 4.0)


def test_what_changes_between_rounds_cancels_in_a_ratio():
    """The machine slows to half its speed: medians scatter, the paired ratio does not."""
    slowing = [1 + r / 10 for r in range(10)]
    a, b = [[2 * s] * 5 for s in slowing], [[s] * 5 for s in slowing]
    assert stats.ratio(a, b) == pytest.approx((2, 2, 2))


def test_equal_devices_are_told_apart_in_about_five_of_a_hundred():
    draws = np.random.default_rng(2).lognormal(0, 0.05, (1000, 2, 8, 10))
    wrong = np.mean([not e.low <= 1 <= e.high for e in (stats.ratio(a, b) for a, b in draws)])
    assert wrong <= 0.07


def test_a_rate_turns_the_interval_round():
    assert stats.Estimate(2, 1, 4).rate_of(8) == (4, 2, 8)


def test_the_geometric_mean_of_a_double_and_a_half_is_one():
    assert stats.geometric_mean([2, 0.5]) == pytest.approx(1)
