"""Whatever is in a file: a run of which everything can be derived, or one sentence. Never another exception."""

import copy
import json
import os
import random
from dataclasses import replace

import pytest
from fakes import ENVIRONMENT, measurement, sweep
from told import raises

from bench.analysis import article_clocks, fits, sweep_verdict, training_verdict
from bench.analysis.caveats import caveats
from bench.records.case import again
from bench.records.measurement import REDUCED, WRONG, Check, Learning
from bench.records.reason import quoted
from bench.records.run import Run
from bench.storage.reading import MOST_BYTES, FileError, from_json, read_files
from bench.storage.writing import to_json
from bench.text.table import to_csv, to_rows
from bench.text.tell import note, tell
from bench.ui.charts import article, sample_charts, sweep_charts, training_charts

MUTATIONS = int(os.environ.get("BENCH_MUTATIONS", "10000"))
HOSTILE = [
    None,
    True,
    False,
    0,
    -1,
    1,
    3.5,
    -1e-300,
    1e308,
    1e-320,
    10**30,
    -(10**18),
    "",
    "x",
    "1",
    "NaN",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "<a href='http://x'>y</a>",
    "![i](http://x/y.png)",
    "\u202egpj.exe",
    "a\nb\0c",
    "é" * 3000,
    "converged",
    "failed",
    "wrong",
    "cpu",
    "mps",
    "cuda:0",
    "../../etc/passwd",
    [],
    {},
    [[]],
    [0],
    [1.5],
    ["x"],
    {"x": 1},
    [None],
    {"cpu": None},
    {"": ""},
    "sweep",
    "training",
    "mlp/train",
    "matmul",
]


def learning(images=100):
    phases = {"loading": (0.1,), "copy": (0.01,), "forward": (0.1,), "backward": (0.2,), "optimiser": (0.1,)}
    return Learning(images, "synthetic", (1.5, 1.2), phases, ((50, 2.3), (100, 1.1)), 1.7, 0.8)


def small(m):
    return replace(m, samples_s=m.samples_s[:12], rounds=(2,) * 6, dispatch_s=m.dispatch_s[:12])


def seeds():
    """One valid run of each kind, small."""
    points = {256: {"cpu": 1e-5, "mps": 3e-5}, 512: {"cpu": 1e-4, "mps": 4e-5}, 1024: {"cpu": 4e-4, "mps": 5e-5}}
    plain = sweep(points, failures=[(8192, "mps", "MPS backend out of memory")])
    plain = replace(plain, outcomes=tuple(small(o) if hasattr(o, "calls") else o for o in plain.outcomes))
    wrong = small(
        replace(
            measurement("mps", 2048, 1e-5),
            status=WRONG,
            reason=quoted("Its result differs."),
            events_s=(1e-5, 1.1e-5),
            check=Check(WRONG, 0.01, 1e-6, quoted("off")),
            flags=(quoted("Computed with reduced precision."),),
        )
    )
    yield plain.with_outcomes(wrong)
    trained = [
        small(replace(measurement(d, 128, s, f"mlp/{mode}"), learning=learning(), check=Check(REDUCED, None, 1e-3)))
        for d, s in (("cpu", 0.01), ("mps", 0.005))
        for mode in ("train", "infer")
    ]
    settings = {"networks": ["mlp"], "data": "synthetic", "images": 100, "epochs": 2}
    yield Run("training", ENVIRONMENT, settings, tuple(trained))
    twice = replace(ENVIRONMENT, devices={"mps": "Emulated MPS", again("mps"): "Emulated MPS"})
    outcomes = (measurement("mps", 64, 1e-3), measurement(again("mps"), 64, 1.01e-3))
    yield Run("aa", twice, {"operation": "matvec", "sizes": [64]}, tuple(map(small, outcomes)))
    both = [replace(o, article_s=1e-3) for o in (*map(small, outcomes[:1]), *trained)]
    yield Run("replay", ENVIRONMENT, {"sweep": {}, "training": {}}, tuple(both))


def places(value, at=()):
    """Every place in a tree, as the way to it."""
    yield at
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places(entry, (*at, key))
    elif isinstance(value, list):
        for i, entry in enumerate(value[:3]):
            yield from places(entry, (*at, i))


def mutated_tree(tree, ways, rng):
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        way = rng.choice(ways)
        target = tree
        try:
            for step in way[:-1]:
                target = target[step]
            last = way[-1]
            action = rng.randrange(6)
            if action == 0:
                del target[last]
            elif action == 1 and isinstance(target, dict):
                target[str(rng.choice(HOSTILE))[:50]] = target.pop(last)
            elif action == 2:
                target[last] = [target[last]]
            else:
                target[last] = copy.deepcopy(rng.choice(HOSTILE))
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation took this place away
    return json.dumps(tree).encode()


def mutated_bytes(content, rng):
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, action = rng.randrange(len(content)), rng.randrange(5)
        if action == 0:
            content[at] = rng.randrange(256)
        elif action == 1:
            del content[at : at + rng.randrange(1, 60)]
        elif action == 2:
            content[at:at] = content[at : at + rng.randrange(1, 60)]
        elif action == 3:
            content[at:at] = rng.choice((b"0", b"-", b"9" * 30, b"e", b'"', b"}", b"]", b"\\u0000", b"\xff", b"null"))
        else:
            del content[at:]
        if not content:
            break
    return bytes(content)


def derive(run, figures):
    """All that the program makes of a run."""
    assert from_json(to_json(run)) == run
    to_rows(run)
    to_csv(run)
    told = [*caveats(run)]
    article_clocks.readings(run)
    if run.kind == "replay":
        told += article_clocks.of_replay(run)
    if run.kind == "training":
        told += [*training_verdict.of_training(run), *training_verdict.about_energy(run)]
    if run.kind == "aa":
        told += sweep_verdict.of_noise(run)
        sweep_verdict.noise_band(run)
    assert all(map(tell, told)) and all(isinstance(note(outcome), str) for outcome in run.outcomes)
    if not figures:
        return
    if run.kind in ("sweep", "aa"):
        sweep_fits = fits.sweep_fits(run)
        assert all(map(tell, sweep_verdict.of_sweep(run, sweep_fits)))
        crossings = [crossing for sweep_fit in sweep_fits.values() for crossing in sweep_fit.crossings]
        sizes = run.settings["sizes"]
        for log in (True, False):
            sweep_charts.time_against_size(run, "m", sizes, log, crossings=crossings)
            sweep_charts.speedup_against_size(run, "m", sizes, log, 1.1, crossings)
            sweep_charts.rate_against_size(run, "m", sizes, log, "FLOP/s")
            sample_charts.clocks_against_size(run, "m", sizes, log)
    if run.kind == "training":
        training_charts.phases_of_a_step(run)
    if run.kind == "replay":
        article.matvec_clocks(run)
        article.clock_errors(run)


def test_ten_thousand_mutated_files_make_a_run_or_a_sentence():
    rng = random.Random(11)
    trees = [json.loads(to_json(run)) for run in seeds()]
    ways = [[way for way in places(tree) if way] for tree in trees]
    texts = [to_json(run).encode() for run in seeds()]
    accepted = refused = 0
    for number in range(MUTATIONS):
        which = number % len(trees)
        content = mutated_tree(trees[which], ways[which], rng) if number % 2 else mutated_bytes(texts[which], rng)
        try:
            run = from_json(content)
        except FileError as error:
            said = tell(error.reason)
            assert 5 < len(said) < 500 and "\n" not in said, (number, said)
            refused += 1
            continue
        accepted += 1
        derive(run, figures=accepted % 40 == 0)
    assert accepted > MUTATIONS / 20 and refused > MUTATIONS / 4, (accepted, refused)


@pytest.mark.parametrize("run", list(seeds()), ids=lambda run: run.kind)
def test_the_files_that_are_mutated_are_right_ones(run):
    assert from_json(to_json(run)) == run
    derive(run, figures=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b" ", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"PK\x03\x04", "not JSON"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"schema_version": 1e999}', "too large"),
        (b'{"schema_version": ' + b"9" * 5000 + b"}", "too large"),
        (b'{"schema_version": true}', "must be from 1 to 2"),
        (b'{"schema_version": 3}', "newer"),
        (b"NaN", "not a number"),
        (b'{"x": ' + b'{"y": ' * 30 + b"1" + b"}" * 31, "deep"),
        (b'{"schema_version": 1, "x": "\\ud800"}', "half a character"),
        (b'"' + b"x" * 30_000 + b'"', "too long"),
        (b" " * (MOST_BYTES + 1), "larger than the 64 MB"),
    ],
)
def test_files_that_are_none(content, says):
    with raises(FileError, match=says):
        from_json(content)


def test_a_byte_order_mark_is_no_fault():
    run = next(seeds())
    assert from_json(b"\xef\xbb\xbf" + to_json(run).encode()) == run


def test_an_operation_of_a_newer_version_is_refused_with_a_sentence():
    text = to_json(next(seeds())).replace('"matvec"', '"fft"')
    with raises(FileError, match="is not one that this version knows"):
        from_json(text)


def test_good_files_load_beside_bad_ones_which_are_named():
    good = to_json(next(seeds())).encode()
    runs, complaints = read_files([("a.json", good), ("<b>\n.json", b"{"), ("c.json", good), ("d.json", b"")])
    assert [name for name, _ in runs] == ["a.json", "c.json"]
    assert len(complaints) == 2 and tell(complaints[0]).startswith("<b>?.json: This is not JSON")
