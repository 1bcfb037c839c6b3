"""Whether names in a text are spelled so that no search finds them.

Python takes identifiers by their NFKC form, so a name in full-width letters is the one in plain letters. Such files are
read without shortcuts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import islice

from torchlint.text.lines import STRINGS

_MANY = 2000  # places beyond which nobody looks on


def is_odd(data: bytes, decoded: Callable[[], str | None]) -> bool:
    """Some identifier is written in another form than Python takes it by. ``decoded`` gives the text, if any."""
    return not data.isascii() and (text := decoded()) is not None and _has_other_forms(text)


def _has_other_forms(text: str) -> bool:
    """Some identifier is not what Python takes it for."""
    from unicodedata import is_normalized

    if is_normalized("NFKC", text):
        return False
    runs = (run.start() for run in _not_ascii().finditer(text) if _is_other(text, *run.span()))
    places = list(islice(runs, _MANY))
    return bool(places) and _any_outside(text, places)


def _is_other(text: str, start: int, end: int) -> bool:
    """An identifier with some of these letters is not in normal form; a mark joins the letter before it."""
    from unicodedata import is_normalized

    letters = text[max(0, start - 1) : end]
    if is_normalized("NFKC", letters):
        return False
    names = "".join(letter if f"a{letter}".isidentifier() else " " for letter in letters).split()
    return not all(is_normalized("NFKC", name) for name in names)


@cache
def _not_ascii() -> re.Pattern[str]:
    return re.compile(r"[^\x00-\x7f]+")


@cache
def _token() -> re.Pattern[str]:
    """A comment, or a string with its prefix."""
    return re.compile(rf"(?s:#[^\r\n]*|(?<!\w)[A-Za-z]{{0,2}}(?:{STRINGS}))")


def _any_outside(text: str, places: list[int]) -> bool:
    """One of these places is outside all strings and comments, or in a field of a formatted string; or many are."""
    if len(places) >= _MANY:
        return True
    waiting = iter(places)
    place = next(waiting, None)
    for token in _token().finditer(text):
        while place is not None and place < token.end():
            if place < token.start() or _in_field(token[0][: place - token.start()]):
                return True
            place = next(waiting, None)
        if place is None:
            return False
    return place is not None


def _in_field(string: str) -> bool:
    """What has been seen of a string is one with fields, of which one is open."""
    prefix = string[: min((string.find(quote) for quote in "\"'" if quote in string), default=0)].lower()
    return ("f" in prefix or "t" in prefix) and string.count("{") > string.count("}")
