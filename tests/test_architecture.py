"""The layers drawn in ``bench/__init__.py`` hold, and the rules that keep them so."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
DRAWING = ast.get_docstring(ast.parse((BENCH / "__init__.py").read_text()))
FLOORS = re.findall(r"^    (\w+)  ", DRAWING, re.MULTILINE)
MODULES = sorted(BENCH.rglob("*.py"))
HEAVY = {  # what a function may import for itself: it costs a first page, or a machine that only measures, too much
    "torch",
    "torchvision",
    "pandas",
    "plotly",
    "scipy",
    "pydantic",
    "pydantic_core",
    "babel",
    "tqdm",
    "psutil",
    "filelock",
    "platformdirs",
    "pynvml",
    "zeus_apple_silicon",
}
every_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))


def imports(tree):
    """(full name, is it at the top of the module or only for types?) of everything imported."""
    top = {id(node) for node in tree.body}
    blocks = [n for n in tree.body if isinstance(n, ast.If | ast.Try)]  # for types, or where a system has it
    top |= {id(node) for block in blocks for node in block.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name their floor"
            yield from ((f"{node.module}.{alias.name}", id(node) in top) for alias in node.names)


def floor(path):
    return path.relative_to(BENCH).parts[0]


def test_floors_are_the_folders_and_nothing_lies_loose():
    folders = {p.name for p in BENCH.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert set(FLOORS) == folders
    assert {p.name for p in BENCH.iterdir() if p.is_file()} == {"__init__.py", "__main__.py"}
    assert all((BENCH / name / "__init__.py").is_file() for name in FLOORS)


@every_module
def test_a_module_imports_only_from_floors_below(path):
    if path.parent == BENCH:
        return
    here = floor(path)
    for name, _ in imports(ast.parse(path.read_text())):
        package, _, rest = name.partition(".")
        assert package not in {"streamlit", "plotly"} or here == "ui", f"{path.name} imports {package}: only ui may"
        if package == "bench" and rest:
            there = rest.partition(".")[0]
            assert FLOORS.index(there) <= FLOORS.index(here), f"{path} imports {name}"
            assert (here, there) != ("ui", "cli"), "the page and the terminal know nothing of each other"


@every_module
def test_an_import_inside_a_function_is_for_its_cost(path):
    """Of a package that takes long to load, or of a room of ours that loads one."""
    text = path.read_text()
    assert "import_module" not in text and "__import__" not in text
    for name, top in imports(ast.parse(text)):
        package = name.partition(".")[0]
        assert top or package in HEAVY or (package == "bench" and loads_torch(name)), f"{path} imports {name} inside"


def loads_torch(name):
    """Does this room of ours import torch, or belong to a page, when it is imported?"""
    module = name if module_file(name) else name.rpartition(".")[0]
    return module.startswith("bench.ui.") or bool(
        HEAVY & {one.partition(".")[0] for one, top in imports(ast.parse(module_file(module).read_text())) if top}
        or any(
            loads_torch(one)
            for one, top in imports(ast.parse(module_file(module).read_text()))
            if (top and one.startswith("bench.measure.discovery")) or one.startswith("bench.machine.devices")
        )
    )


def module_file(name):
    path = ROOT / (name.replace(".", "/") + ".py")
    return path if path.is_file() else None


@every_module
def test_only_the_clock_reads_a_clock(path):
    names = {name for name, _ in imports(ast.parse(path.read_text()))}
    clocks = {n for n in names if n == "time" or n.startswith("time.") or n == "timeit"}
    assert not clocks or path == BENCH / "measure/clock.py"
    if path != BENCH / "measure/clock.py":
        assert "perf_counter" not in path.read_text()


@every_module
def test_only_the_clock_and_what_it_serves_waits_for_a_device(path):
    """Others hand ``synchronize`` on to the clock; a trainer waits between phases it takes apart, memory untimed."""
    if path.name not in ("clock.py", "devices.py", "trainer.py", "memory.py", "device_checks.py"):
        assert "synchronize(" not in path.read_text()


@every_module
def test_the_core_holds_no_sentences(path):
    """A reason is a value below ``text``: nothing there knows the reader's language, nor joins words and figures."""
    if path.parent == BENCH or FLOORS.index(floor(path)) >= FLOORS.index("text"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("because", "quoted") and node.args:
            assert not isinstance(node.args[0], ast.JoinedStr), f"{path}:{node.lineno}: a kind with figures in it"
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "reason"
            and isinstance(node.args[0], ast.Constant)
        ):
            assert re.fullmatch(r"[a-z][a-z0-9_]*", node.args[0].value), f"{path}:{node.lineno}"


@every_module
def test_classes_and_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            most = 150 if isinstance(node, ast.ClassDef) else 55
            assert lines <= most, f"{path.name}:{node.lineno} {node.name} has {lines} lines"


@every_module
def test_a_module_says_what_it_is_for_and_stays_small(path):
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 300


@every_module
def test_nothing_is_swallowed_and_no_raw_html_is_drawn(path):
    text = path.read_text()
    assert "unsafe_allow_html" not in text
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert not all(isinstance(statement, ast.Pass) for statement in node.body), f"{path.name}:{node.lineno}"


def test_app_reads_like_a_table_of_contents():
    tree = ast.parse((ROOT / "app.py").read_text())
    assert not any(isinstance(n, ast.FunctionDef | ast.For | ast.If | ast.Try) for n in ast.walk(tree))


def in_a_fresh_process(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_does_not_import_torch():
    """Importing it first made the first visit six times as slow."""
    code = "import sys, bench.ui.pages.operations, bench.ui.pages.training, bench.ui.pages.machine"
    in_a_fresh_process(code + "; assert 'torch' not in sys.modules and 'scipy' not in sys.modules")


def test_the_command_line_needs_no_streamlit_no_plotly_and_no_compiler():
    code = (
        "import sys; sys.modules.update(streamlit=None, plotly=None); import bench.cli.main as m;"
        "code = m.main(['sweep', '--sizes', '16,32', '--devices', 'cpu', '--effort', 'quick']);"
        "sys.exit(code or 'torch._dynamo' in sys.modules)"  # PyTorch's compiler, over a second, where nothing compiles
    )
    in_a_fresh_process(code)


def test_the_top_level_holds_what_belongs_there():
    wanted = {"app.py", "bench", "tests", "requirements.txt", "README.md", "LICENSE", "pyproject.toml"}
    listed = subprocess.run(["git", "ls-tree", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    found = {name for name in listed.stdout.split() if not name.startswith(".")}
    assert found <= wanted


def test_a_heading_needs_nothing_large():
    """It is drawn before the page's parts are imported: the first visit would wait for them otherwise."""
    code = (
        "import sys, streamlit, streamlit.runtime.scriptrunner; its = set(sys.modules);"
        "import bench.ui.parts.entry, bench.ui.parts.language;"
        "heavy = {'torch', 'pandas', 'plotly', 'scipy', 'numpy', 'bench.records.measurement'};"
        "print(*heavy & (set(sys.modules) - its))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
