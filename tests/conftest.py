"""What every test needs."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _not_at_home(tmp_path_factory):
    """Nothing that a test starts writes into the home of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_HOME", str(tmp_path_factory.mktemp("home")))
        yield
