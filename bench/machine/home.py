"""Where everything the program writes lies: one folder, ``BENCH_HOME``."""

import os
from pathlib import Path

VARIABLE = "BENCH_HOME"


def bench_home() -> Path:
    """The folder named by the environment variable ``BENCH_HOME``, else the platform's user data folder.

    The folder is not created here: whoever writes into it makes it, and says so when that fails.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    import platformdirs  # a machine that only measures may lack it

    return Path(platformdirs.user_data_dir("cpu-vs-mps", appauthor=False))
