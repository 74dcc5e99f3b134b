"""Where everything the program writes lies: one folder, ``BENCH_HOME``."""

import os
from pathlib import Path

import platformdirs

VARIABLE = "BENCH_HOME"


def bench_home() -> Path:
    """The folder named by the environment variable ``BENCH_HOME``, else the platform's user data folder.

    The folder is not created here: whoever writes into it makes it, and says so when that fails.
    """
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("cpu-vs-mps", appauthor=False))
