"""Numbers for people."""

import math

import pytest

from bench.text import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.234e-5, "12.3 µs"),
        (9.999e-4, "1.00 ms"),
        (0, "0 s"),
        (3, "3.00 s"),
        (2e-9, "2.00 ns"),
        (1234, "1.23 ks"),
        (math.nan, "–"),
        (-0.002, "-2.00 ms"),
        (5e-12, "0.00500 ns"),
    ],
)
def test_three_digits_and_a_prefix(value, text):
    assert units.si(value, "s") == text


def test_thousands_are_parted_by_thin_spaces():
    assert units.count(16384) == "16\u202f384"
    assert units.significant(12345) == "12\u202f300"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (59.4, "59 s"), (80, "1 min 20 s"), (1200, "20 min"), (7500, "2 h 5 min")]
)
def test_waiting_times(seconds, text):
    assert units.duration(seconds) == text


@pytest.mark.parametrize(("most", "text"), [(2, "a, b and 1 more"), (3, "a, b, c"), (5, "a, b, c")])
def test_a_list_says_how_many_it_leaves_out(most, text):
    assert units.listed(["a", "b", "c"], most) == text
