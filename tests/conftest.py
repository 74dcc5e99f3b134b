"""What every test needs."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _not_at_home(tmp_path_factory):
    """Nothing that a test starts writes into the home of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of its own for what the program writes, and a page whose runner and store begin anew."""
    from bench.ui import session

    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    session.runner.clear()
    session.kept.clear()
    return tmp_path / "home"
