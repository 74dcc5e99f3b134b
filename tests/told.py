"""Reasons in words, for tests that look at what a person reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.records.reason import Refused, reason_of
from bench.text.tell import tell


@contextmanager
def raises(kind: type[Exception], match: str = "") -> Iterator[pytest.ExceptionInfo]:
    """As ``pytest.raises``, where ``match`` is searched in the exception's reason as a reader of English gets it."""
    with pytest.raises(kind) as raised:
        yield raised
    told = tell(reason_of(raised.value)) if isinstance(raised.value, Refused) else str(raised.value)
    assert re.search(match, told), f"{match!r} is not in {told!r}"
