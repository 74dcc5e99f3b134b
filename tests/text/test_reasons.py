"""Every kind of reason has its sentence, every sentence its use, and whatever figures a file brings are told."""

import ast
import math
import string
from pathlib import Path

import pytest
from fakes import ENVIRONMENT

from bench.records.case import Case, Variant
from bench.records.reason import Quantity, Reason, because, quoted
from bench.records.run import Run
from bench.stats import Estimate
from bench.text import language
from bench.text.reasons import TEMPLATES
from bench.text.tell import NAMES, WRITER, tell

ROOT = Path(__file__).resolve().parents[2]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "bench").rglob("*.py"))}
CODE = {path: tree for path, tree in TREES.items() if "reasons" not in path.parts}
NODES = [(path, node) for path, tree in CODE.items() for node in ast.walk(tree)]


def called(node):
    """The name of what a call calls, its last part."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def makers():
    """``reason`` and the exceptions that carry one: their first argument is a kind, the others are figures."""
    found, before = {"because", "Refused"}, set()
    while found != before:
        before = set(found)
        for _, node in NODES:
            if isinstance(node, ast.ClassDef) and found & {ast.unparse(base) for base in node.bases}:
                found.add(node.name)
    return found


MAKERS = makers()


def constants(node):
    """Texts that an expression may be: a text, or one of two."""
    if isinstance(node, ast.IfExp):
        return [*constants(node.body), *constants(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def handed_on():
    """Functions that make a reason of the kind that they are given: name, and the argument's place and name."""
    found = {}
    for _, node in NODES:
        if not isinstance(node, ast.FunctionDef):
            continue
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args) if argument.arg != "self"]
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and called(call) in MAKERS and call.args:
                kind = getattr(call.args[0], "id", "")
                if kind in names:
                    found[node.name] = names.index(kind), kind
    return found


def made():
    """(where, kind, the call if its figures are in it) of every reason that the code makes."""
    through = handed_on()
    for path, node in NODES:
        if not isinstance(node, ast.Call):
            continue
        where, name = f"{path.relative_to(ROOT)}:{node.lineno}", called(node)
        if name in MAKERS and node.args:
            yield from ((where, kind, node) for kind in constants(node.args[0]))
        elif name in through:
            place, keyword = through[name]
            given = [one.value for one in node.keywords if one.arg == keyword] or node.args[place : place + 1]
            yield from ((where, kind, None) for one in given for kind in constants(one))


MADE = list(made())


def places(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_reasons_are_found_in_the_code():
    assert len(MADE) > 100 and {"PlanError", "DeviceRefused"} <= MAKERS


def test_every_kind_has_a_sentence():
    assert [f"{where} {kind}" for where, kind, _ in MADE if kind not in TEMPLATES and kind not in NAMES] == []


def test_every_sentence_is_used():
    """By a call, or by a table that is looked into for the kind."""
    written = {node.value for _, node in NODES if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert sorted({*TEMPLATES, *NAMES} - written) == []


def test_no_kind_stands_in_two_tables():
    tables = [path for path in TREES if "reasons" in path.parts and path.name != "__init__.py"]
    kinds = [
        key.value
        for path in tables
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    ]
    assert sorted({kind for kind in kinds if kinds.count(kind) > 1}) == []
    assert set(kinds) == set(TEMPLATES) - {"text"}


def test_every_place_of_a_sentence_has_its_figure():
    """Figures beyond those of the sentence are for whoever reads the file."""
    lacking = []
    for where, kind, call in MADE:
        if call is None or any(keyword.arg is None for keyword in call.keywords):
            continue
        missing = places(TEMPLATES.get(kind, "")) - {keyword.arg for keyword in call.keywords}
        if missing:
            lacking.append(f"{where} {kind} lacks {sorted(missing)}")
    assert lacking == []


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_sentence_is_filled_in_ways_that_there_are(kind):
    for _, name, form, conversion in string.Formatter().parse(TEMPLATES[kind]):
        assert name is None or (name.isidentifier() and name != "kind" and not conversion and form in WRITER.FORMS)


ESTIMATE = Estimate(3.9, 3.7, 4.1)
RUN = Run("sweep", ENVIRONMENT)


@pytest.mark.parametrize(
    ("figure", "english", "indonesian"),
    [
        (Quantity(1.234e-3, "s"), "1.23 ms", "1,23 ms"),
        (Quantity(0.025, "%"), "2.5 %", "2,5 %"),
        (Quantity(3.14159, ""), "3.14", "3,14"),
        (16384, "16\u202f384", "16.384"),
        (0.5, "0.500", "0,500"),
        (ESTIMATE, "3.90 times (3.70 to 4.10)", "3,90 kali (3,70 sampai 4,10)"),
        ("a{name}", "a{name}", "a{name}"),
        ((1000, "b"), "1\u202f000, b", "1.000, b"),
        (quoted("{x}"), "{x}", "{x}"),
        (
            because("case", workload="convnet/train", size=128, several=1),
            "Training ConvNet, batch 128",
            "Pelatihan ConvNet, batch 128",
        ),
        (because("workload", key="matvec"), "Matrix × vector", "Matriks × vektor"),
        (
            because("variant", **Variant("mps", "float16", 2)._asdict(), emulated=1),
            "MPS (emulated) · float16 · 2 threads",
            "MPS (emulated) · float16 · 2 threads",
        ),
        (because("the_variant", **Variant("cpu")._asdict(), emulated=0), "the CPU", "CPU"),
    ],
)
def test_figures_are_written_for_the_reader(figure, english, indonesian):
    said = Reason("text", (("text", figure),))
    assert tell(said) == english
    with language.speaking("id"):
        assert tell(said) == indonesian


@pytest.mark.parametrize(
    ("template", "figure", "text"),
    [
        ("{x:duration}", 80.0, "1 min 20 s"),
        ("{x:duration}", Quantity(80, "s"), "1 min 20 s"),
        ("{x:duration}", math.inf, "–"),
        ("{x:duration}", "soon", "soon"),
        ("{x:duration}", (1,), "1"),
        ("{x:span}", ESTIMATE, "3.70 to 4.10"),
        ("{x:span}", 3, "3"),
        ("{x:plain}", 16384, "16384"),
        ("{y}", 3, "–"),
    ],
)
def test_a_place_may_ask_for_a_form_of_its_own(monkeypatch, template, figure, text):
    monkeypatch.setitem(TEMPLATES, "asked", template)
    assert tell(because("asked", x=figure)) == text


def test_no_reason_is_no_text_and_one_of_a_newer_version_is_shown():
    assert tell(None) == ""
    assert tell(because("of_tomorrow", size=3)) == "of_tomorrow(size=3)"


ANYTHING = (
    True,
    10**30,
    math.nan,
    -math.inf,
    "<b>",
    [[1], "x"],
    {"kind": "case"},
    {"value": "nan", "unit": "%"},
    {"value": 1, "low": 0, "high": "inf"},
)


@pytest.mark.parametrize("kind", [*TEMPLATES, *NAMES])
def test_whatever_a_file_holds_is_told(kind):
    """A reason without figures, and one whose every figure is of a type that nobody expects."""
    names = [*places(TEMPLATES.get(kind, "")), *Case.__slots__, "emulated", "several", "key", "parts", "rest", "state"]
    for plain in ({}, *(dict.fromkeys(names, value) for value in ANYTHING)):
        assert isinstance(tell(Reason.from_plain({"kind": kind} | plain)), str)


@pytest.mark.parametrize("case", [Case("matvec", 1500, "cpu"), Case("mlp/infer", 1, "mps", "float16")])
def test_what_a_run_says_of_its_cases_is_told_after_a_file_too(case):
    for figure in (RUN.case_figure(case), because("variant", emulated=0, **case.variant._asdict())):
        assert tell(Reason.from_plain(figure.plain())) == tell(figure) != ""
