"""The reader's language: every sentence passes through ``say``, every number asks here for its separators.

English stands in the code and is the key; another language is a catalog in ``bench/translations``, in gettext's format,
with all its texts in one place. What a run keeps (reasons, flags) and what the doctor finds is kept in English, so that
files read the same anywhere, and retold where it is shown.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "id": "Bahasa Indonesia"}
THIN = "\u202f"  # narrow no-break space, between groups of three digits
FOLDER = Path(__file__).parent / "translations"
KEPT = "kept"  # the comment in a catalog
WITHIN_A_SENTENCE, ANYTHING = r"(?:(?!\. [A-Z]).)*", ".*"
LIST = " · "  # between the parts of a line that are each noted
LONGEST = 1000  # characters; nothing noted comes near, and a file from elsewhere may hold a text that never ends
FORMAT = re.compile(r":[^{}]*(?=})")  # of a place
NUMERAL = r"[±-]?[\d\u202f]+(?:\.\d+)?(?:\s?[^\W\d]+(?:/s)?|\s?%)?"  # with a unit
NUMBER = re.compile(NUMERAL)
NUMBERS = ("low", "high", "hours", "minutes", "seconds")  # places for nothing else: "to" is in many sentences

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


def noted(text: str, /, **values: object) -> str:
    """``text`` in English, its ``{names}`` filled in: for what a run keeps; ``retold`` says it to the reader."""
    return text.format(**values) if values else text


def retold(text: str) -> str:
    """What was ``noted``, in the reader's language; as it is where the catalog has no such sentence."""
    return _retold(language(), text) if language() != ENGLISH and len(text) <= LONGEST else text


@lru_cache(maxsize=16_384)  # a full history holds 500 verdicts, each with a handful of parts
def _retold(name: str, text: str) -> str:
    if told := catalog(name).get(text):
        return told
    if told := _filled(name, text, WITHIN_A_SENTENCE):
        return told
    if LIST in text:
        return LIST.join(_retold(name, part) for part in text.split(LIST))
    first, _, rest = text.partition(". ")  # several sentences, one after the other
    if rest[:1].isupper() and (told := f"{_retold(name, first + '.')} {_retold(name, rest)}") != text:
        return told
    if told := _filled(name, text, ANYTHING):  # several sentences in a place, such as an error's text
        return told
    if all(map(NUMBER.fullmatch, text.split(", "))):
        return text.translate(str.maketrans(dict(zip((".", THIN), _separators(name), strict=True))))
    return text


def _filled(name: str, text: str, value: str) -> str:
    """The first sentence with places that ``text`` fills, its values retold, too; empty if it fills none."""
    for longest, pattern, told in _patterns(name, value):
        if longest in text and (found := pattern.fullmatch(text)):  # looking for letters is much the quicker
            return told.format(**{key: _retold(name, inner) for key, inner in found.groupdict().items()})
    return ""


@cache
def _patterns(name: str, value: str) -> list[tuple[str, re.Pattern, str]]:
    """Sentences with places that a run keeps: longest piece, pattern, translation; those with most letters first."""
    found = []
    for text in _marked(name):
        parts = list(string.Formatter().parse(text))
        pattern, places = "", set()
        for before, place, *_ in parts:
            pattern += re.escape(before)
            if place in places:
                pattern += f"(?P={place})"
            elif place:
                pattern += f"(?P<{place}>{NUMERAL if place in NUMBERS else value})"
                places.add(place)
        if places:
            pieces = [before for before, *_ in parts]
            told = FORMAT.sub("", catalog(name)[text])  # values are texts already
            found.append((len("".join(pieces)), text, max(pieces, key=len), re.compile(pattern, re.DOTALL), told))
    return [tuple(rest) for _, _, *rest in sorted(found, key=lambda one: (-one[0], one[1]))]


def separators() -> tuple[str, str]:
    """Decimal mark, and what stands between groups of three digits."""
    return _separators(language())


@cache
def catalog(name: str) -> Mapping[str, str]:
    """English to the language of this name; empty for English."""
    return {} if name == ENGLISH else {message.id: message.string for message in _messages(name)}


@cache
def _marked(name: str) -> frozenset[str]:
    """What a run keeps: marked by a comment, since any text at all may look like "{this} of {that}"."""
    return frozenset(message.id for message in _messages(name) if KEPT in message.auto_comments)


@cache
def _messages(name: str) -> list:
    from babel.messages.pofile import read_po

    with (FOLDER / f"{name}.po").open("rb") as file:
        return [message for message in read_po(file, name) if message.id]


@cache
def _separators(name: str) -> tuple[str, str]:
    if name == ENGLISH:
        return ".", THIN
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return get_decimal_symbol(name), get_group_symbol(name)
