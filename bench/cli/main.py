"""The same jobs without a page: ``python -m bench sweep | train | replay | aa | compare | fresh | sustain | doctor``.

Exit code 0: done. 1: something failed. 2: bad usage, said in one sentence.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from bench.cli.parser import make_parser
from bench.cli.usage import USAGE, UsageError
from bench.records.refusal import PlanError
from bench.text.tell import tell


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what was typed (``sys.argv`` if left out); the exit code."""
    try:
        options = make_parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.run
        return command(options)
    except UsageError as error:
        print(error, file=sys.stderr)
    except PlanError as error:
        print(tell(error.reason), file=sys.stderr)
    return USAGE
