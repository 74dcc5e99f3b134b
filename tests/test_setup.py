"""A fresh machine: what it installs, the commands it copies, the settings it starts with, and tidy code."""

import ast
import colorsys
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import browser
import pytest
import uv
from ci import skip_or_fail
from packaging.requirements import Requirement
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
APP_NEEDS = ROOT / "requirements.txt"
TEST_NEEDS = ROOT / "tests" / "requirements.txt"

linux = pytest.mark.skipif(sys.platform != "linux", reason="CI's script is for Linux")


# ------------------------------------------------------------ requirements


def resolve_for_mac(python: str) -> dict[str, Version]:
    """The newest releases that both requirement files allow on Apple Silicon, as uv finds them in the index."""
    command = [uv.find_uv_bin(), "pip", "compile", str(APP_NEEDS), str(TEST_NEEDS)]
    command += ["--python-platform", "aarch64-apple-darwin", "--python-version", python, "--only-binary", ":all:"]
    command += ["--python", sys.executable, "--no-python-downloads"]
    command += ["--system-certs"]  # certificates of the machine's own, as pip may have been given
    command += ["--quiet", "--no-header", "--no-annotate"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"},  # the oldest macOS that PyTorch's MPS wheels are for
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "error sending request" in done.stderr:
        skip_or_fail("the package index cannot be reached: " + done.stderr.strip().splitlines()[-1].strip())
    assert done.returncode == 0, done.stderr
    pins = (line.partition("==") for line in done.stdout.split() if "==" in line)
    return {name: Version(version) for name, _, version in pins}


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_everything_installs_from_wheels_on_apple_silicon(python):
    found = resolve_for_mac(python)
    assert found["torch"] >= Version("2.9")
    assert found["torchvision"] >= Version("0.24")
    # 1.65 is the last Streamlit for Python 3.10
    assert found["streamlit"] >= Version("1.65" if python == "3.10" else "1.67")
    assert {"pytest", "playwright", "uv"} <= set(found)


def required(file: Path) -> set[str]:
    """The names of the packages that a requirements file asks for."""
    lines = (line.partition(" #")[0].strip() for line in file.read_text().splitlines())
    return {Requirement(line).name for line in lines if line and not line.startswith(("#", "-"))}


def imported(files) -> dict[str, Path]:
    """Each package imported anywhere in these files that is neither Python's nor the project's, and where."""
    found = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules.append(node.module)
            found.update(dict.fromkeys((module.partition(".")[0] for module in modules), file))
    own = {"bench", "emulated_mps", *(path.stem for path in (ROOT / "tests").rglob("*.py"))}
    return {name: file for name, file in found.items() if name not in own | sys.stdlib_module_names}


PARTS = {"pydantic_core": "pydantic"}  # installed with another package, which pins the version of it
OPTIONAL = {"zeus_apple_silicon": "zeus-apple-silicon", "pynvml": "nvidia-ml-py"}  # energy: absent with the reason


def test_what_the_app_imports_is_required_or_optional_and_named():
    files = [*ROOT.glob("*.py"), *(ROOT / "bench").rglob("*.py")]
    needs = required(APP_NEEDS)
    missing = {name: str(file) for name, file in imported(files).items() if PARTS.get(name, name) not in needs}
    assert set(missing) == set(OPTIONAL)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(package in readme for package in OPTIONAL.values())


def test_what_the_tests_import_is_required():
    files = [file for file in (ROOT / "tests").rglob("*.py") if "emulated_mps" not in file.parts]
    needs = required(APP_NEEDS) | required(TEST_NEEDS)
    missing = {name: str(file) for name, file in imported(files).items() if name not in needs}
    assert not missing


# ------------------------------------------------------------ README and CI


def readme_blocks() -> dict[str, str]:
    """The README's shell blocks that set a machine up, by the heading they stand under."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert text.count("-m venv") == len(blocks), "a set-up command outside a section's first block"
    return dict(blocks)


def test_the_readme_has_two_commands_each_complete():
    blocks = readme_blocks()
    assert list(blocks) == ["Start", "Test"]
    ends = {
        "Start": ["-m streamlit run app.py"],
        "Test": ['-m pytest -m "not alone" -n 2 --dist worksteal &&', "-m pytest -m alone"],
    }
    needs = {"Start": "requirements.txt", "Test": "tests/requirements.txt"}
    for heading, block in blocks.items():
        make, install, *go = block.splitlines()
        assert make == "python3 -m venv .venv &&"
        assert install == f".venv/bin/python -m pip install -r {needs[heading]} &&"
        assert go == [f".venv/bin/python {end}" for end in ends[heading]]
    assert (ROOT / "app.py").is_file()


def run_ci(folder: Path, lacks: tuple[str, ...], test_command: str) -> tuple[subprocess.CompletedProcess, str]:
    """Runs CI's script beside a README with this test command, on a machine without these programs.

    Also gives what was asked of apt-get.
    """
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(readme_blocks()["Test"]) == 1
    (folder / "README.md").write_text(readme.replace(readme_blocks()["Test"], test_command), encoding="utf-8")

    tools = folder / "tools"
    tools.mkdir()
    asked = folder / "asked"
    asked.touch()
    programs = {"c++": "", "chromium": "", "python3": "", "sudo": 'exec "$@"', "apt-get": f'echo "$*" >> "{asked}"'}
    for name, does in programs.items():
        if name == "python3" and name in lacks:
            does = "exit 1"  # there, but with neither headers nor venv
        elif name in lacks:
            continue
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    for name in ("awk", "bash", "dirname", "env", "id", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        ["bash", str(folder / ".ci" / "run")], env={"PATH": str(tools)}, capture_output=True, text=True, timeout=60
    )
    return done, asked.read_text()


@linux
def test_ci_runs_the_readmes_test_command(tmp_path):
    done, asked = run_ci(tmp_path, (), 'echo "it ran in CI=$CI" &&\nfalse && true\n')
    assert done.stdout.splitlines()[-1] == "it ran in CI=true", done.stderr
    assert done.returncode == 1, "its exit code is not that of the README's command"
    assert asked == "", "installs what is there"


@linux
@pytest.mark.parametrize(
    ("program", "packages"),
    [
        ("chromium", "chromium fonts-dejavu-core"),
        ("c++", "g++"),
        ("python3", "python3-dev python3-venv"),
    ],
)
def test_ci_installs_what_is_missing_before_the_tests(tmp_path, program, packages):
    done, asked = run_ci(tmp_path, (program,), "echo it ran\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "it ran"
    assert asked.splitlines() == ["update", f"install -y --no-install-recommends {packages}"]


# ------------------------------------------------------------ settings


def shipped() -> dict:
    return tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def flat(table: dict, before: str = "") -> dict:
    """The settings of nested tables by their dotted names."""
    found = {}
    for name, value in table.items():
        found.update(flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value})
    return found


def test_the_page_is_for_this_machine_alone():
    settings = shipped()
    server = settings["server"]
    assert server["address"] == "127.0.0.1"
    assert set(server["allowedHosts"]) == {"127.0.0.1", "localhost"}
    assert server["enableXsrfProtection"] is True
    assert 0 < server["maxUploadSize"] <= 20
    assert server["fileWatcherType"] == "none"
    assert settings["browser"]["gatherUsageStats"] is False
    # left to Streamlit, which opens a browser where there is a screen
    assert "headless" not in server


def test_nothing_holds_the_interpreter_after_a_click():
    """Streamlit's own choice is a full garbage collection after every run of a page; PyTorch makes it 0.1 s long."""
    assert shipped()["runner"]["postScriptGC"] is False


def test_streamlit_knows_every_shipped_setting():
    """It ignores a misspelt one in silence."""
    expected = flat(shipped())
    code = (
        "import json, sys\n"
        "from streamlit import config\n"
        "print(json.dumps({name: config.get_option(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *expected],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def contrast(first: str, second: str) -> float:
    """WCAG's contrast of two colours, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def darker(colour: str) -> str:
    """As Streamlit draws a button under the pointer: 0.15 less lightness."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)))
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness - 0.15, saturation))


def tinted(ground: str, colour: str, part: float = 0.1) -> str:
    """The ground of a selected choice."""
    pairs = [(int(ground[k : k + 2], 16), int(colour[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - part) * below + part * above):02x}" for below, above in pairs)


@pytest.mark.parametrize(
    ("theme", "page", "sidebar"), [("light", "#ffffff", "#f8f8f7"), ("dark", "#171614", "#21201d")]
)
def test_what_stands_in_or_on_the_accent_can_be_read(theme, page, sidebar):
    """Selected choices and tabs are written in it, the label of the one button on it (WCAG's AA)."""
    colours = shipped()["theme"][theme]
    accent, label = colours["primaryColor"], colours["violetTextColor"]
    assert min(contrast(accent, page), *(contrast(accent, tinted(ground, accent)) for ground in (page, sidebar))) >= 4.5
    assert min(contrast(label, accent), contrast(label, darker(accent))) >= 4.5


# ------------------------------------------------------------ tools


TOOLS = (["ruff", "check", "--no-cache", "."], ["ruff", "format", "--check", "--no-cache", "."], ["mypy"])


@pytest.mark.parametrize("command", TOOLS, ids=lambda command: " ".join(command[:2]))
def test_the_code_is_tidy_and_its_types_agree(command):
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_named_browser_decides_alone(monkeypatch):
    monkeypatch.setenv("BENCH_BROWSER", sys.executable)
    assert browser.find_browser() == sys.executable
    monkeypatch.setenv("BENCH_BROWSER", "no-such-browser")
    assert browser.find_browser() is None


def test_a_missing_tool_skips_a_test_and_fails_it_in_ci(monkeypatch):
    monkeypatch.setenv("BENCH_BROWSER", "no-such-browser")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-browser"):
        browser.require_browser()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-browser"):
        browser.require_browser()


def test_the_browser_starts():
    browser.require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = browser.launch(playwright)
        page = started.new_page()
        page.set_content("<title>it</title><p>works")
        assert (page.title(), page.inner_text("p")) == ("it", "works")
        started.close()
