"""Faults put into right answers are found, whatever the operation, format and place; right answers are right."""

import random

import pytest
import torch
from injected import DTYPES, case, caught, injected

from bench.measure.compiling import autocast
from bench.measure.verification.judge import WHOLE_FLOPS, Judge
from bench.measure.verification.limits import ROUNDOFF
from bench.records.measurement import REDUCED, RIGHT, WRONG
from bench.text.tell import tell
from bench.workloads.operations import OPERATIONS

SIZES, SEEDS = (48, 101), (0, 1)  # the script tries more
LARGE = {"matmul": 900, "bmm": 330, "conv2d": 1100}  # judged by sums


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_fault_is_caught_and_no_right_answer_is_called_wrong(name, dtype):
    for size, seed in zip(SIZES, SEEDS, strict=True):
        for fault, check, _ in injected(name, size, dtype, seed):
            assert caught(check) == (fault != "honest"), (fault, size, seed, check)
            assert (check.reason is None) == (check.verdict == RIGHT)
            assert tell(check.reason) or check.verdict == RIGHT


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LARGE)
def test_faults_in_answers_too_large_for_float64_are_caught_too(name, dtype):
    size = LARGE[name]
    assert OPERATIONS[name].cost(size, 4).flops > WHOLE_FLOPS
    for fault, check, _ in injected(name, size, dtype, seed=0):
        assert caught(check) == (fault != "honest"), (fault, check)
        assert check.share == 1.0, "all of it is judged"


def test_what_is_judged_of_a_large_attention_is_said():
    found = {fault: check for fault, check, _ in injected("attention", 800, "float32", seed=0)}
    assert found["honest"].verdict == RIGHT and 0.1 < found["honest"].share < 1
    assert "number by number" in tell(found["honest"].reason)
    missed = [fault for fault, check in found.items() if not caught(check)]
    few = {f"{place}, slightly" for place in ("element", "row", "last row", "tile", "band")}
    assert set(missed) <= {"honest", *few}, "few elements, by less than the estimate is good for"


PLACES = {
    "rows 500 to 509": lambda out: out[500:510],
    "row 3": lambda out: out[3],
    "column 7": lambda out: out[:, 7],
    "rows 32 to 63, columns 0 to 31": lambda out: out[32:64, :32],
    "one in 7 rows, from 0": lambda out: out[::7],
    "one element, at (3, 5)": lambda out: out[3:4, 5:6],
    "columns 512 to 599": lambda out: out[:, 512:],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "size"), [("elementwise", 600), ("matmul", 600), ("matmul", 900)])
def test_a_fault_is_named_by_its_place(name, size, place):
    function, inputs = case(name, size, "float32", 0)
    out = function(*inputs)
    PLACES[place](out).mul_(1.0002)
    found = Judge(OPERATIONS[name], size, inputs).compare(out)
    wanted = place if size == 600 else place.replace("599", "899")
    assert found.verdict == WRONG and tell(found.where) == wanted, tell(found.reason)
    assert tell(found.reason) == f"Its result differs from the reference by 0.020 %: {wanted}."


@pytest.mark.parametrize(("name", "size"), [("matmul", 200), ("matmul", 900), ("conv2d", 100), ("attention", 100)])
def test_a_relative_error_of_a_ten_thousandth_in_one_row_is_seen(name, size):
    function, inputs = case(name, size, "float32", 0)
    judge = Judge(OPERATIONS[name], size, inputs)
    for row in (0, size // 3, size - 1):
        out = function(*inputs)
        out.select(OPERATIONS[name].truth.along, row).mul_(1.0001)
        assert judge.compare(out).verdict == WRONG


@pytest.mark.parametrize("size", [100, 900])
def test_what_tf32_gives_is_reduced_unless_a_row_of_it_is_wrong_too(size):
    """Inputs cut to the 10 bits that TF32 keeps; some hardware rounds, some cuts."""
    function, inputs = case("matmul", size, "float32", 0)
    judge = Judge(OPERATIONS["matmul"], size, inputs)
    cut = [(one.view(torch.int32) & ~0x1FFF).view(torch.float32) for one in inputs]
    rounded = [((one.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32) for one in inputs]
    for factors in (cut, rounded):
        out = function(*factors)
        found = judge.compare(out)
        assert found.verdict == REDUCED and "reduced precision" in tell(found.reason), found
        out[17].mul_(1.01)
        found = judge.compare(out)
        assert found.verdict == WRONG and tell(found.where) == "row 17", tell(found.reason)


@pytest.mark.parametrize("factor", [1.001, 0.999, 1.01, -1.0, 0.0])
@pytest.mark.parametrize(("name", "size"), [("matmul", 200), ("matmul", 900), ("softmax", 200), ("layernorm", 200)])
def test_a_factor_common_to_all_is_wrong_and_told(name, size, factor):
    function, inputs = case(name, size, "float32", 0)
    found = Judge(OPERATIONS[name], size, inputs).compare(function(*inputs) * factor)
    assert found.verdict == WRONG and "times what it should be" in tell(found.reason), found


def test_hundreds_of_right_answers_are_right_with_room_to_spare():
    rng = random.Random(1)
    formats = (*DTYPES, "autocast-bfloat16", "autocast-float16")
    for seed in range(400):
        name, dtype = rng.choice(list(OPERATIONS)), rng.choice(formats)
        size = rng.choice((16, 33, 100, 257) + (1500,) * (name == "matvec"))
        if size > 100 and name in ("bmm", "conv2d"):
            continue
        function, inputs = case(name, size, dtype, seed)
        with autocast("cpu", dtype):
            out = function(*inputs)
        found = Judge(OPERATIONS[name], size, inputs, dtype).compare(out)
        assert found.verdict == RIGHT and found.reason is None, (name, size, dtype, seed, found)
        assert found.error <= 0.6 * found.limit, (name, size, dtype, found)  # correct rounding alone is half of it
        assert found.limit < 24 * ROUNDOFF[dtype.removeprefix("autocast-")] * size**0.5
