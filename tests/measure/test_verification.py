"""What verification says of strange numbers, of its own reference, and of faults that come only now and then."""

import math
import operator

import pytest
import torch
from injected import DTYPES, case

from bench.analysis.caveats import caveats
from bench.measure.discovery import find_devices
from bench.measure.gate import Gate
from bench.measure.job import Control
from bench.measure.plans import SweepPlan
from bench.measure.sweep import measure
from bench.measure.verification import case as case_room
from bench.measure.verification.case import IN_A_ROW, Outline, Verifier
from bench.measure.verification.judge import Judge
from bench.measure.verification.places import Places
from bench.measure.verification.verdicts import worse
from bench.records.budget import EFFORTS
from bench.records.measurement import REDUCED, RIGHT, UNVERIFIED, WRONG, Check
from bench.storage.reading import from_json
from bench.storage.writing import to_json
from bench.text.tell import tell
from bench.workloads.operations import OPERATIONS

STRANGE = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1e38, 1e-40, 1e300, 1e-320)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_numbers_go_in_or_come_out_there_is_a_verdict(name, dtype):
    """Never an exception; and an honest answer to strange inputs is never called wrong."""
    for value in STRANGE:
        for some in (slice(None), slice(3, 4)):
            function, inputs = case(name, 20, dtype, 0)
            for one in inputs:
                if one.is_floating_point():
                    one[some] = torch.tensor(value, dtype=torch.float64).to(one.dtype)
            judge = Judge(OPERATIONS[name], 20, inputs, dtype)
            out = function(*inputs)
            found = judge.compare(out)
            if not 1e30 < abs(value) < math.inf:  # squares of such numbers are beyond the format, the answer is not
                assert found.verdict in (RIGHT, UNVERIFIED, REDUCED), (value, some, found)
            for spoilt in (out * math.nan, out * 0, out + 1, torch.full_like(out, 1.0) * value):
                assert judge.compare(spoilt).verdict in (RIGHT, REDUCED, UNVERIFIED, WRONG)


def test_numbers_taken_for_zero_though_the_format_holds_them_are_named():
    function, inputs = case("softmax", 40, "float32", 0)
    inputs[0][:, ::2] -= 95.0  # exp(-95) is a denormal number of float32
    right = function(*inputs)
    assert 0 < right.min() < 2.0**-126
    judge = Judge(OPERATIONS["softmax"], 40, inputs)
    assert judge.compare(right).verdict == RIGHT
    found = judge.compare(torch.where(right < 2.0**-126, 0.0, right))
    assert found.verdict == REDUCED and "denormals" in tell(found.reason)


def test_an_answer_beyond_the_largest_number_of_its_format_is_rightly_infinite():
    function, inputs = case("sum", 100, "float16", 0)
    inputs[0][7] = 6e4
    found = Judge(OPERATIONS["sum"], 100, inputs, "float16").compare(function(*inputs))
    assert found.verdict == RIGHT, found
    out = function(*inputs)
    out[8] = math.inf
    found = Judge(OPERATIONS["sum"], 100, inputs, "float16").compare(out)
    assert found.verdict == WRONG and tell(found.reason) == "1.0 % of its result are not finite numbers: row 8."


@pytest.mark.parametrize("size", [40, 900])
@pytest.mark.parametrize("garbage", [0.0, 1.0, math.nan])
def test_a_judge_that_is_blind_itself_judges_nothing(monkeypatch, size, garbage):
    """The multiplication returns at once, for float64, too."""
    _, inputs = case("matmul", size, "float32", 0)

    def nothing(a, b):
        return torch.full((*a.shape[:-1], b.shape[-1]), garbage, dtype=a.dtype)

    judge = Judge(OPERATIONS["matmul"], size, inputs)
    monkeypatch.setattr(torch.Tensor, "__matmul__", nothing)
    found = judge.compare(nothing(*inputs))
    assert found.verdict in (WRONG, UNVERIFIED)
    assert math.isnan(garbage) or (found.verdict == UNVERIFIED and "reference itself is wrong" in tell(found.reason))


def test_an_answer_of_another_shape_is_wrong():
    _, inputs = case("matmul", 40, "float32", 0)
    judge = Judge(OPERATIONS["matmul"], 40, inputs)
    for shape in ((40, 40, 2), (20, 40), (40,), ()):
        assert judge.compare(torch.zeros(shape)).verdict == WRONG


def test_the_worse_of_two_checks_counts():
    right, reduced, wrong = Check(RIGHT, 1e-7, 1e-6), Check(REDUCED, 1e-4, 1e-6), Check(WRONG, None, 1e-6)
    assert worse(right, wrong) is wrong and worse(wrong, reduced) is wrong and worse(reduced, right) is reduced


@pytest.mark.parametrize(
    ("marked", "told"),
    [
        ([(2, 3)], "one element, at (2, 3)"),
        ([(1, j) for j in range(9)], "row 1"),
        ([(i, 8) for i in range(20)], "column 8"),
        ([(i, j) for i in range(0, 20, 5) for j in range(9)], "one in 5 rows, from 0"),
        ([(i, j) for i in (1, 4, 5) for j in range(9)], "3 rows between 1 and 5"),
        ([(0, 0), (9, 8), (19, 4)], "3 elements, the first at (0, 0)"),
        ([(i, j) for i in range(20) for j in range(9)], "everywhere"),
        ([(i, j) for i in range(4) for j in range(3, 9)], "rows 0 to 3, columns 3 to 8"),
    ],
)
def test_places_are_told_as_a_person_would(marked, told):
    mask = torch.zeros(20, 9, dtype=torch.bool)
    mask[tuple(torch.tensor(marked).T)] = True
    places = Places(mask.shape)
    for first in range(0, 20, 6):
        places.add(mask[first : first + 6], 0, range(first, min(first + 6, 20)))
    assert tell(places.reason()) == told and places.count == len(marked)


# ------------------------------------------------------------ the answers of a case


class Faulty:
    """An operation whose every so many-th answer is wrong."""

    def __init__(self, name, size, every):
        self.function, self.inputs = case(name, size, "float32", 0)
        self.every, self.calls, self.name, self.size = every, 0, name, size

    def __call__(self):
        self.calls += 1
        out = self.function(*self.inputs)
        if self.calls % self.every == 0:
            out[3] *= 1.001
        return out

    def verifier(self):
        return Verifier(Judge(OPERATIONS[self.name], self.size, self.inputs), self, Outline.of(self()))


def test_a_fault_in_every_fiftieth_call_is_caught_between_calls_back_to_back():
    step = Faulty("matvec", 100, every=50)
    verifier = step.verifier()
    verifier.first()
    assert verifier.check.verdict == RIGHT
    verifier.last(step_s=1e-5, measured_s=1.0)
    assert IN_A_ROW >= 50 and verifier.check.verdict == WRONG and tell(verifier.check.where) == "row 3", verifier.check


def test_a_timed_answer_that_differs_is_judged_and_one_that_does_not_is_not(monkeypatch):
    step = Faulty("matvec", 100, every=10**9)
    verifier = step.verifier()
    verifier.first()
    judged = []
    compare = verifier._judge.compare
    monkeypatch.setattr(verifier._judge, "compare", lambda answer: judged.append(1) or compare(answer))
    verifier.timed(step(), 1.0)
    assert not judged and verifier.check.verdict == RIGHT
    out = step()
    out[7] *= 1.0 + 2.0**-23  # another order of adding up
    verifier.timed(out, 1.0)
    assert judged == [1] and verifier.check.verdict == RIGHT
    out[7] *= 1.001
    verifier.timed(out, 1.0)
    assert judged == [1, 1] and verifier.check.verdict == WRONG


def test_comparing_timed_answers_takes_a_small_part_of_the_time(monkeypatch):
    step, now = Faulty("matvec", 100, every=10**9), [0.0]
    verifier = step.verifier()
    verifier.first()
    looks = []
    monkeypatch.setattr(case_room.clock, "now", lambda: now[0])

    def slow(answer):
        looks.append(now[0])
        now[0] += 0.1

    monkeypatch.setattr(verifier, "_look", slow)
    for measured in range(1, 41):
        verifier.timed(step(), float(measured))
    assert len(looks) <= 40 * case_room.PART / 0.1 + 1


@pytest.mark.parametrize("size", [16, 100, 257])
def test_a_part_of_the_output_that_is_never_written_is_wrong(size):
    """The kernel leaves the last tenth as it found it: full of the NaN that were put there before."""
    _, (b, a) = case("matvec", size, "float32", 0)

    def forgetful():
        out = torch.empty(size)
        written = size - max(1, size // 10)
        torch.mv(b[:written], a, out=out[:written])
        return out

    verifier = Verifier(Judge(OPERATIONS["matvec"], size, (b, a)), forgetful, Outline.of(forgetful()))
    verifier.first()
    assert verifier.check.verdict == WRONG


def test_a_check_costs_one_step_of_the_device():
    step = Faulty("matmul", 100, every=10**9)
    verifier = step.verifier()
    before = step.calls
    verifier.first()
    assert step.calls == before + 1


# ------------------------------------------------------------ a whole run


def swept(sizes):
    """A run of matrix × matrix on the CPU at the quickest effort."""
    runs = []

    def publish(**changes):
        if "run" in changes:
            runs.append(changes["run"])

    found = {info.name: info for info in find_devices() if info.name == "cpu"}
    plan = SweepPlan("matmul", sizes, ("cpu",), EFFORTS["quick"])
    measure(plan, Control(found, Gate(lambda: None), publish))
    return runs[-1]


def spoilt(change):
    """``operator.matmul`` that is wrong for float32 alone, as in the issue; ``change`` gets the right answer."""

    def matmul(a, b):
        out = torch.matmul(a, b)
        return change(out) if out.dtype == torch.float32 else out

    return matmul


FAULTY = {
    "rows 100 to 109": lambda out: out.index_copy(0, torch.arange(100, 110), 2 * out[100:110]),
    "rows 200 to 209": lambda out: out.index_copy(0, torch.arange(200, 210), 1.001 * out[200:210]),
    "one element, at (7, 9)": lambda out: out.index_put((torch.tensor([7]), torch.tensor([9])), out[7, 9] + 3),
    "rows 0 to 31": lambda out: out.index_fill(0, torch.arange(32), math.nan),
}


@pytest.mark.parametrize("place", FAULTY)
def test_a_run_names_the_place_of_a_fault_and_goes_on(monkeypatch, place):
    monkeypatch.setattr(operator, "matmul", spoilt(FAULTY[place]))
    run = swept((300, 310))
    assert [m.status for m in run.outcomes] == [WRONG, WRONG]
    for m in run.outcomes:
        assert place in tell(m.reason) and tell(m.check.where) == place
    told = [*map(tell, caveats(run))]
    assert any("struck out" in line and place in line for line in told) and any(
        "worth a report" in line for line in told
    )


def test_an_operation_that_returns_a_buffer_at_once_has_a_verdict_in_words_and_can_be_stored(monkeypatch):
    """For float64, too; and that a step takes no longer than a call that does nothing is told."""
    buffers = {}

    def nothing(a, b):
        key = a.dtype, a.shape
        if key not in buffers:
            buffers[key] = torch.full((a.shape[0], b.shape[1]), math.nan, dtype=a.dtype)
        return buffers[key]

    monkeypatch.setattr(operator, "matmul", nothing)
    monkeypatch.setattr(case_room.clock, "empty_call_s", lambda: 1e-3)
    run = swept((64, 80))
    assert [m.status for m in run.outcomes] == [WRONG, WRONG]
    assert all("not finite" in tell(m.reason) for m in run.outcomes)
    assert from_json(to_json(run)).outcomes == run.outcomes
    assert any("seems to do nothing" in tell(flag) for flag in run.outcomes[0].flags)


def test_right_answers_of_a_whole_run_are_right():
    assert [m.check.verdict for m in swept((64, 300)).outcomes] == [RIGHT, RIGHT]
