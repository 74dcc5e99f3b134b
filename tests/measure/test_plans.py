"""Plans: what can't be measured is refused in one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.measure.plans import SweepPlan, TrainingPlan
from bench.measure.sizes import parse_sizes, spaced_sizes
from bench.records.budget import sustained
from bench.records.refusal import PlanError
from bench.text.tell import tell
from bench.workloads.article import ARTICLE_SIZES


def sentence(error):
    """One sentence: starts with a capital or a number, ends with a full stop, no line break."""
    text = tell(error.value.reason)
    assert text[0].isupper() or text[0].isdigit()
    assert text.endswith(".") and "\n" not in text and len(text) < 220, text
    return text


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "''"), ("12,", "''"), ("128,64", "64 comes after 128"), ("64,64", "64 comes after 64"), ("-5", "'-5'"),
     ("1e3", "'1e3'"), ("15", "15"), ("16385", "16385"), ("²", "'²'"), ("9" * 5000, "from 16 to 16384"),
     ("abc", "'abc'"), (",".join(map(str, range(16, 300))), "too many")],
)  # fmt: skip
def test_sizes_that_make_no_sense_are_refused(text, says):
    with pytest.raises(PlanError) as error:
        parse_sizes(text)
    assert says in sentence(error)


def test_sizes_are_a_list_or_the_article():
    assert parse_sizes("article") == ARTICLE_SIZES
    assert parse_sizes(" 16, 1_000 ,16384") == (16, 1000, 16384)


@given(st.integers(16, 16384), st.integers(16, 16384), st.integers(1, 200), st.sampled_from(["geometric", "even"]))
def test_spaced_sizes_ascend_from_the_first_to_the_last(a, b, n, spacing):
    sizes = spaced_sizes(min(a, b), max(a, b), n, spacing)
    assert list(sizes) == sorted(set(sizes)) and len(sizes) <= n
    assert sizes[0] == min(a, b) and (n == 1 or sizes[-1] == max(a, b))


def test_geometric_sizes_multiply_and_even_ones_add():
    assert spaced_sizes(16, 1024, 7, "geometric") == (16, 32, 64, 128, 256, 512, 1024)
    assert spaced_sizes(100, 500, 5, "even") == (100, 200, 300, 400, 500)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"epochs": 0}, "Epochs must be from 1 to 20, and 0 is not"), ({"epochs": 21}, "21"), ({"images": 0}, "Images"),
     ({"batches": (0,)}, "batch size"), ({"batches": (70_000,), "images": 100_000}, "65535"),
     ({"batches": (256,), "images": 128}, "A batch of 256"), ({"images": 129}, "use 128 or 130 images"),
     ({"batches": (1,), "images": 10}, "batches of at least 2"), ({"networks": ()}, "at least one model"),
     ({"networks": ("vgg",)}, "'vgg'"), ({"devices": ()}, "at least one device"),
     ({"devices": ("cpu", "cpu")}, "once")],
)  # fmt: skip
def test_trainings_that_make_no_sense_are_refused(change, says):
    settings = {"networks": ("mlp",), "devices": ("cpu",), "data": "synthetic"} | change
    with pytest.raises(PlanError) as error:
        TrainingPlan(**settings)
    assert says in sentence(error)


def test_a_last_batch_of_one_is_fine_without_batch_normalisation():
    assert TrainingPlan(("convnet",), ("cpu",), images=129).cases


def test_an_unknown_operation_is_refused_with_the_known_ones():
    with pytest.raises(PlanError) as error:
        SweepPlan("fft", (16,), ("cpu",))
    assert "matvec" in sentence(error)


def test_the_devices_of_a_size_stand_side_by_side():
    plan = SweepPlan("matvec", (16, 32), ("cpu", "mps"))
    assert [(c.size, c.device) for c in plan.cases] == [(16, "cpu"), (16, "mps"), (32, "cpu"), (32, "mps")]


@pytest.mark.parametrize("minutes", [0, 61, -1.5])
def test_minutes_out_of_range_are_refused(minutes):
    with pytest.raises(PlanError) as error:
        sustained(minutes)
    assert f"{minutes:g} are not" in sentence(error)
