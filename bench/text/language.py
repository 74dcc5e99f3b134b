"""The reader's language: every sentence passes through ``translate``, every number asks here for its separators.

English stands in the code and is the key; another language is a catalog in ``text/translations``, in gettext's format,
with all its texts in one place. Runs keep reasons as values, so that nothing that was written in one language has to be
read in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "id": "Bahasa Indonesia"}
THIN = "\u202f"  # narrow no-break space, between groups of three digits
FOLDER = Path(__file__).parent / "translations"

_speaking: ContextVar[str] = ContextVar("speaking", default="")


class _Reader:
    """Tells the language of whoever is looking; the page sets it, a command has none."""

    language: Callable[[], str] = staticmethod(lambda: ENGLISH)


def listen(ask: Callable[[], str]) -> None:
    """Ask this function for the reader's language from now on; called for each text, in the thread that draws it."""
    _Reader.language = staticmethod(ask)


def language() -> str:
    """The reader's, one of LANGUAGES."""
    return _speaking.get() or _Reader.language()


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """In this language whoever reads: for a file that is made later, in a thread that draws for nobody."""
    before = _speaking.set(name)
    try:
        yield
    finally:
        _speaking.reset(before)


def translate(text: str, /, **values: object) -> str:
    """``text`` in the reader's language, its ``{names}`` filled in; in English where there is no translation."""
    told = catalog(language()).get(text) or text
    return told.format(**values) if values else told


def translatable(text: str) -> str:
    """The same text: marks for the catalog what only later is said."""
    return text


def separators() -> tuple[str, str]:
    """Decimal mark, and what stands between groups of three digits."""
    return _separators(language())


@cache
def catalog(name: str) -> Mapping[str, str]:
    """English to the language of this name; empty for English."""
    if name == ENGLISH:
        return {}
    from babel.messages.pofile import read_po  # here, since a reader of English need not wait for it

    with (FOLDER / f"{name}.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file, name) if message.id}


@cache
def _separators(name: str) -> tuple[str, str]:
    if name == ENGLISH:
        return ".", THIN
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return get_decimal_symbol(name), get_group_symbol(name)
