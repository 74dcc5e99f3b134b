"""The layers drawn in ``bench/__init__.py`` hold, and the rules that keep them so."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "bench").rglob("*.py"))
DRAWING = re.search(r"::\n\n(.*?)\n\n", (ROOT / "bench/__init__.py").read_text(), re.DOTALL)[1]
LAYERS = [line.split("  ui ")[0].split() + ["ui"] * ("  ui " in line) for line in DRAWING.splitlines()]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
every_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))


def imports(tree):
    """(name, is it at the top of the module?) of everything imported."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", id(node) in top) for alias in node.names)


def layer(path):
    return path.relative_to(ROOT / "bench").parts[0].removesuffix(".py")


def test_every_module_is_in_the_drawing():
    assert {layer(p) for p in MODULES} - {"__init__"} == set(RANK)


@every_module
def test_a_module_imports_only_from_the_rows_above(path):
    if layer(path) == "ui":
        return
    for name, top in imports(ast.parse(path.read_text())):
        package, _, rest = name.partition(".")
        assert package not in {"streamlit", "plotly"}, f"{path.name} imports {package}: only bench/ui may"
        if package == "bench" and top:
            below = [part for part in rest.split(".") if part in RANK][0]  # noqa: RUF015
            assert RANK[below] < RANK[layer(path)], f"{path.name} imports {name}"


@every_module
def test_only_timing_reads_a_clock(path):
    names = {name for name, _ in imports(ast.parse(path.read_text()))}
    clocks = {n for n in names if n == "time" or n.startswith("time.") or n == "timeit"}
    assert not clocks or path.name == "timing.py"
    if path.name != "timing.py":
        assert "perf_counter" not in path.read_text()


@every_module
def test_only_timing_and_what_it_serves_waits_for_a_device(path):
    """Others hand ``synchronize`` on to timing; trainer waits between phases that it takes apart, memory untimed."""
    if path.name not in ("timing.py", "devices.py", "learner.py", "memory.py", "checkup.py"):
        assert "synchronize(" not in path.read_text()


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
        "print(*{'torch', 'pandas', 'plotly', 'scipy', 'numpy', 'bench.records.measurement'} & (set(sys.modules) - its))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
