"""Nobody gets in: what the source may not do, what the configuration must say, and words from files that stay words."""

import ast
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import ENVIRONMENT, measurement, sweep
from streamlit.testing.v1 import AppTest

from bench.measure.job import State
from bench.records.measurement import WRONG, Failure
from bench.records.reason import quoted
from bench.records.run import Run
from bench.storage.reading import from_json
from bench.ui.charts import sweep_charts
from bench.ui.parts import session
from bench.ui.parts.plain import escaped, plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "app.py", *sorted((ROOT / "bench").rglob("*.py"))]
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "yaml", "telnetlib", "ftplib"}
UNSAFE_CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "torch.load",
    "pandas.read_pickle",
    "pd.read_pickle",
    "np.load",
    "numpy.load",
}
UNSAFE_KEYWORDS = {"unsafe_allow_html", "allow_pickle", "unsafe_allow_javascript"}
OPENED = {"open", "Path", "os.open", "sqlite3.connect"}  # what takes a path


def dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def faults(source: str, page: bool = False) -> list[str]:
    """What a source may not do; a ``page`` may besides not open a path, for that is where uploads arrive."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [name for name in names if name.partition(".")[0] in UNSAFE_MODULES]
        if isinstance(node, ast.Constant) and node.value == "0.0.0.0":
            found.append("binds to every address")
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if name in UNSAFE_CALLS:
            found.append(name)
        found += [word for word in UNSAFE_KEYWORDS & set(keywords)]
        shell = keywords.get("shell")
        if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
            found.append("shell=True")
        if page and (name in OPENED or name.endswith((".write_text", ".write_bytes", ".open"))):
            found.append(f"{name} in a page")
    return found


@pytest.mark.parametrize(
    "snippet",
    [
        "import pickle",
        "from marshal import loads",
        "eval('1')",
        "exec(text)",
        "import os\nos.system('x')",
        "subprocess.run('x', shell=True)",
        "subprocess.run('x', shell=yes)",
        "torch.load(file)",
        "import yaml",
        "st.markdown(x, unsafe_allow_html=True)",
        "np.load(f, allow_pickle=True)",
        "serve('0.0.0.0')",
    ],
)
def test_the_check_finds_what_it_looks_for(snippet):
    assert faults(snippet)


@pytest.mark.parametrize("snippet", ["open(upload.name)", "Path(name)", "where.write_bytes(x)"])
def test_the_check_finds_paths_in_pages(snippet):
    assert faults(snippet, page=True) and not faults(snippet)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_source_does_nothing_unsafe(path):
    page = "ui" in path.parts and path.name != "training_controls.py"  # there a person types the folder of images
    assert not faults(path.read_text(), page)


def test_the_server_is_closed_to_others():
    server = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["server"]
    assert server["address"] == "127.0.0.1" and server["enableXsrfProtection"] is True
    assert server.get("enableCORS", True) is True and server["fileWatcherType"] == "none"
    assert set(server["allowedHosts"]) == {"127.0.0.1", "localhost"}
    assert 1 <= server["maxUploadSize"] <= 64
    assert not (ROOT / ".streamlit/secrets.toml").exists()


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> ![i](http://evil.example/i.png) [l](http://evil.example) "
    "http://evil.example www.evil.example :red[x] :material/home: $x$ `c` **b** | = \u202e me@evil.example"
)
LIVE = re.compile(r"(?<!\\)[<\[\]`*$!]|:(?=[A-Za-z/])|www\.|@(?!\u2060)|\u202e")


def test_plain_words_are_not_markdown_and_escaped_ones_no_tags():
    assert not LIVE.search(plain(HOSTILE)), LIVE.search(plain(HOSTILE))
    assert "<" not in escaped(HOSTILE) and "\u202e" not in escaped(HOSTILE)
    assert plain("It broke: out of memory (3.5 GB).") == "It broke: out of memory (3.5 GB)."


def hostile_run() -> Run:
    """As it may come from a file: every free text does its worst, and still it is a valid run."""
    environment = replace(
        ENVIRONMENT,
        chip=HOSTILE,
        platform=HOSTILE,
        torch=HOSTILE,
        python=HOSTILE,
        blas=HOSTILE,
        power=HOSTILE,
        devices={"cpu": HOSTILE, "mps": HOSTILE},
        variables={HOSTILE: HOSTILE},
    )
    points = {n: {"cpu": 1e-6 * n, "mps": 1e-4} for n in (64, 128, 256, 512)}
    wrong = replace(measurement("mps", 1024, 1e-4), status=WRONG, reason=quoted(HOSTILE), flags=(quoted(HOSTILE),))
    noisy = replace(measurement("cpu", 1024, 1e-4), status="noisy", reason=quoted(HOSTILE), flags=(quoted(HOSTILE),))
    run = sweep(points, environment=environment).with_outcomes(
        wrong, noisy, Failure(replace(wrong.case, size=2048), quoted(HOSTILE))
    )
    from bench.storage.writing import to_json

    return from_json(to_json(run))


def test_a_hostile_file_writes_no_tag_into_a_figure():
    run = hostile_run()
    for figure in (
        sweep_charts.time_against_size(run, "m", run.settings["sizes"], True),
        sweep_charts.speedup_against_size(run, "m", run.settings["sizes"], True),
        sweep_charts.rate_against_size(run, "m", run.settings["sizes"], True, "B/s"),
    ):
        text = json.dumps(figure.to_plotly_json(), default=str)
        assert "<script" not in text and "<img" not in text and "<a " not in text
        assert "&lt;script" in text


def test_a_hostile_run_on_the_page_stays_words(home):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.run()
    session.runner().join(60)
    runner = session.runner()
    runner._snapshot = replace(
        runner.snapshot,
        state=State.BROKEN,
        kind="sweep",
        run=hostile_run(),
        error=quoted(HOSTILE),
        notice=quoted(HOSTILE),
    )
    app.run()
    assert not app.exception
    drawn = (
        [
            e.value
            for kind in ("warning", "error", "info", "caption", "subheader", "markdown", "title")
            for e in getattr(app, kind)
        ]
        + [m.label for m in app.metric]
        + [m.help for m in app.metric]
    )
    mine = [text for text in drawn if "evil" in text or "script" in text]
    assert len(mine) >= 4, "the words are shown"
    for text in mine:
        words = text.replace(":material/warning: ", "").replace("**", "")
        assert not LIVE.search(words), (LIVE.search(words), text)
