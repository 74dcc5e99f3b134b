"""The sentence says what the data support, and no more."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fakes import ENVIRONMENT, sweep, trained
from test_language import VERDICTS

from bench import stats
from bench.analysis import sweep_verdict, training_verdict
from bench.analysis.caveats import caveats
from bench.analysis.fits import SweepFit, sweep_fits
from bench.analysis.verdicts import verdicts
from bench.machine.ceilings import Roof, roofs
from bench.records.measurement import IMPOSSIBLE, NOISY, TIMED_OUT, UNVERIFIED, WRONG
from bench.records.reason import Reason, because, quoted
from bench.records.run import Run
from bench.storage.recorded import load_recorded
from bench.text import language
from bench.text.tell import tell


def again(reason):
    """As a file gives it back."""
    return Reason.from_plain(json.loads(json.dumps(reason.plain())))


def points(**speedups):
    return {int(n[1:]): {"cpu": 1e-3, "mps": 1e-3 / s} for n, s in speedups.items()}


@pytest.mark.parametrize(
    ("speedups", "sentence"),
    [
        (
            {"n100": 0.1, "n1500": 0.5, "n2000": 2, "n3000": 4},
            "Up to m ≈ 1\u202f730 (1\u202f500 to 2\u202f000) use the CPU, above it MPS: 4.00 times (4.00 to 4.00) "
            "as fast at 3\u202f000.",
        ),
        (
            {"n100": 2, "n200": 4},
            "Use MPS at all these sizes: 4.00 times (4.00 to 4.00) as fast as the CPU at m = 200.",
        ),
        (
            {"n100": 0.1, "n200": 0.5},
            "Use the CPU at all these sizes: even at m = 200, where MPS comes closest, "
            "the CPU is 2.00 times (2.00 to 2.00) as fast.",
        ),
        ({"n100": 2, "n200": 0.5}, "Up to m ≈ 141 (100 to 200) use MPS, above it the CPU."),
        ({"n100": 2, "n200": 0.5, "n300": 2}, "The two change places more than once: MPS is faster at m = 100, 300."),
        ({"n100": 1.0}, "MPS and the CPU can't be told apart at any of these sizes."),
        (
            {"n100": 0.5, "n200": 1.0, "n300": 2},
            "Up to m ≈ 200 (100 to 300) use the CPU, above it MPS: 2.00 times "
            "(2.00 to 2.00) as fast at 300. Undecided at m = 200.",
        ),
    ],
)
def test_which_device_from_which_size(speedups, sentence):
    assert [*map(tell, sweep_verdict.of_sweep(sweep(points(**speedups))))] == [sentence]


def test_nothing_is_said_where_nothing_can_be_compared():
    alone = replace(ENVIRONMENT, devices={"cpu": "x"})
    assert sweep_verdict.of_sweep(sweep({100: {"cpu": 1e-3}}, environment=alone)) == []


def test_an_emulated_device_is_called_so():
    emulated = replace(ENVIRONMENT, devices={"cpu": "x", "mps": "Emulated MPS (not real hardware)"})
    run = sweep(points(n100=2), environment=emulated)
    assert run.emulated and "MPS (emulated)" in tell(sweep_verdict.of_sweep(run)[0])


def test_failed_sizes_are_in_no_sentence():
    run = sweep(points(n100=2), failures=[(200, "mps", "out of memory")])
    assert "200" not in tell(sweep_verdict.of_sweep(run)[0])


@pytest.mark.parametrize(
    ("speedup", "sentence"),
    [
        (4, "Training ConvNet: MPS is 4.00 times (4.00 to 4.00) as fast as the CPU (2.00 s against 8.00 s an epoch)."),
        (
            0.25,
            "Training ConvNet: the CPU is 4.00 times (4.00 to 4.00) as fast as MPS (8.00 s against 32.0 s an epoch).",
        ),
        (1, "Training ConvNet: MPS and the CPU can't be told apart (8.00 s against 8.00 s an epoch)."),
    ],
)
def test_training_names_the_faster_device(speedup, sentence):
    cpu, mps = (trained(device, s / 469, s) for device, s in (("cpu", 8.0), ("mps", 8.0 / speedup)))
    run = Run("training", ENVIRONMENT, {}, (cpu, mps))
    assert [*map(tell, training_verdict.of_training(run))] == [sentence]


def test_seconds_that_do_not_give_the_factor_say_why():
    """Batches 4 times as fast by their medians, and an epoch that was held up."""
    run = Run("training", ENVIRONMENT, {}, (trained("cpu", 8.0 / 469, 8.2), trained("mps", 2.0 / 469, 4.0)))
    (told,) = map(tell, training_verdict.of_training(run))
    assert told.endswith(
        "4.00 times (4.00 to 4.00) as fast as the CPU (4.00 s against 8.20 s an epoch, interruptions and all)."
    )


def test_no_sentence_says_faster_beside_seconds_that_say_slower():
    """Paired batches and whole epochs can differ on an unquiet machine: then nothing is claimed."""
    run = Run("training", ENVIRONMENT, {}, (trained("cpu", 0.02, 1.68), trained("mps", 0.01, 2.57)))
    (told,) = map(tell, training_verdict.of_training(run))
    assert told.endswith("can't be told apart (2.57 s against 1.68 s an epoch, interruptions and all).")


def test_doubts_name_noisy_cases_and_there_are_none_without():
    run = sweep(points(n100=2))
    assert caveats(run) == []
    noisy = replace(run, outcomes=(replace(run.outcomes[0], status=NOISY), run.outcomes[1]))
    assert [*map(tell, caveats(noisy))] == ["1 of 2 cases is noisy: 100 on CPU."]


def test_while_a_run_grows_each_speed_up_is_computed_once(monkeypatch):
    """A page draws all of them at every tick: with two hundred sizes of four devices that took seconds."""
    asked, whole = [], sweep(points(m100=2.0, m200=3.0))
    ratio = stats.ratio
    monkeypatch.setattr(stats, "ratio", lambda *sides: asked.append(sides) or ratio(*sides))
    growing = replace(whole, outcomes=())
    for outcome in whole.outcomes:
        growing = growing.with_outcomes(outcome)
        seen = [growing.speedup(m) for m in growing.measurements]
    assert len(asked) == 2 and [round(s.value, 6) for s in seen if s] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("roof", "said"),
    [
        (None, "moves 20.0 GB/s."),
        (80e9, "moves 20.0 GB/s, 25 % of the 80.0 GB/s of its copy measured here."),
        (
            5e9,
            "moves 20.0 GB/s, more than the 5.00 GB/s of its copy measured here: out of a cache, or it was busy then.",
        ),
    ],
)
def test_a_bandwidth_is_put_beside_the_copy_and_a_share_is_never_above_all_of_it(roof, said):
    run = sweep(points(n100=2))
    t0, bandwidth = stats.Estimate(1e-5, 9e-6, 1.1e-5), stats.Estimate(20e9, 19e9, 21e9)
    curve = SimpleNamespace(t0=t0, bandwidth=bandwidth, describes=True)
    variant = run.variants[-1]
    above = [Roof("mps", because("roof_measured", label="MPS"), 0.0, roof)] if roof else []
    (said_of_it,) = sweep_verdict.of_fits(run, {variant: SweepFit(variant, curve, ())}, above)
    assert again(said_of_it) == said_of_it
    assert tell(said_of_it) == f"MPS needs 10.0 µs to start a call; after that it {said}"


def changed(run, **changes):
    """The run with fields of some outcomes changed, each by its number: ``at0={"status": NOISY}``."""
    outcomes = (replace(outcome, **changes.get(f"at{number}", {})) for number, outcome in enumerate(run.outcomes))
    return replace(run, outcomes=tuple(outcomes))


FOUR = sweep(points(n100=0.1, n1500=0.5, n2000=2, n3000=4))
WRONG_ANSWER, SLOWER = quoted("Its result differs."), quoted("It became 3.00 times slower.")
CAREFUL = [
    (
        changed(
            FOUR,
            at1={"status": WRONG, "reason": WRONG_ANSWER},
            at3={"status": WRONG, "reason": WRONG_ANSWER},
            at4={"status": IMPOSSIBLE, "reason": quoted("Too fast.")},
        ),
        [
            "100, 1\u202f500 on MPS are struck out: its result differs.",
            "2\u202f000 on CPU is struck out: too fast.",
            "An answer that is wrong is worth a report to PyTorch (github.com/pytorch/pytorch/issues), with this line: "
            "PyTorch 2.9.0, Apple M1 Pro, 100 on MPS, float32: Its result differs.",
        ],
    ),
    (
        changed(FOUR, at1={"status": TIMED_OUT}, at2={"status": UNVERIFIED}, at4={"status": UNVERIFIED}),
        [
            "2 of 8 cases could not be checked: 1\u202f500 on CPU, 2\u202f000 on CPU.",
            "1 of 8 cases is cut short by the time limit: 100 on MPS.",
        ],
    ),
    (
        changed(FOUR, **{f"at{number}": {"status": NOISY, "flags": (SLOWER,)} for number in range(8)}),
        [
            "8 of 8 cases are noisy: 100 on CPU, 100 on MPS, 1\u202f500 on CPU, 1\u202f500 on MPS and 4 more.",
            "100 on CPU, 100 on MPS, 1\u202f500 on CPU and 5 more: It became 3.00 times slower.",
        ],
    ),
    (
        replace(
            FOUR, environment=replace(ENVIRONMENT, translated=True, variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"})
        ),
        [
            "PYTORCH_ENABLE_MPS_FALLBACK is set: operators that MPS lacks run on the CPU unseen.",
            "This Python is an Intel build run by Rosetta; everything on the CPU is slower than it need be.",
        ],
    ),
]


@pytest.mark.parametrize(("run", "lines"), CAREFUL)
def test_what_to_be_careful_with_is_one_line_each(run, lines):
    assert [*map(tell, caveats(run))] == lines


@pytest.mark.parametrize(
    ("name", "english", "indonesian"),
    [
        (
            "h200-matvec",
            "Up to m ≈ 331 (300 to 500) use the CPU, above it CUDA: 18.6 times (16.1 to 22.4) as fast at "
            "8\u202f192. Undecided at m = 300.",
            "Sampai m ≈ 331 (300 sampai 500) pakailah CPU, di atasnya CUDA: 18,6 kali (16,1 sampai 22,4) secepat itu "
            "pada 8.192. Belum pasti pada m = 300.",
        ),
        (
            "h200-training-mnist",
            "Training MLP: CUDA is 1.62 times (1.60 to 1.65) as fast as the CPU (770 ms against 1.25 s an epoch).",
            "Pelatihan MLP: CUDA 1,62 kali (1,60 sampai 1,65) secepat CPU (770 ms terhadap 1,25 s per epoch).",
        ),
        (
            "h200-against-itself",
            "CUDA against itself: 8 of 9 intervals hold 1, as they should; the largest difference is "
            "2.5 %, and all sizes together differ by 0.082 %.",
            "CUDA terhadap dirinya sendiri: 8 dari 9 selang memuat 1, sebagaimana mestinya; perbedaan terbesar 2,5 %, "
            "dan semua ukuran bersama-sama berbeda 0,082 %.",
        ),
        (
            "h200-sustained",
            "8\u202f192 on CUDA kept its speed for 2 min 2 s: 21.6 ms a call, no throttling.",
            "8.192 di CUDA mempertahankan kecepatannya selama 2 mnt 2 s: 21,6 ms per panggilan, tanpa pelambatan.",
        ),
    ],
)
def test_the_verdict_of_a_recorded_run_reads_in_either_language(name, english, indonesian):
    first = verdicts(load_recorded(name))[0]
    assert tell(first) == english
    with language.speaking("id"):
        assert tell(first) == indonesian


@pytest.mark.parametrize("run", [*VERDICTS, *(run for run, _ in CAREFUL)], ids=lambda run: run.kind)
def test_all_that_is_said_of_a_run_comes_back_from_a_file_as_it_was(run):
    said = [*verdicts(run), *caveats(run), *training_verdict.about_energy(run)]
    if run.kind == "sweep":
        said += sweep_verdict.of_fits(run, sweep_fits(run), roofs(run))
    assert said and [*map(again, said)] == said
