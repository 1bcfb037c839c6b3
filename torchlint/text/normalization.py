"""Identifiers that are not in NFKC form.

Python compares identifiers in NFKC form, so a name in full-width letters equals the one in ASCII letters, but a text
search does not find it. Files with such identifiers are linted without prefilters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import islice

from torchlint.text.lines import STRINGS

_MANY = 2000  # with this many non-ASCII runs, assume that one of them is such an identifier


def has_unnormalized_names(data: bytes, decoded: Callable[[], str | None]) -> bool:
    """Whether some identifier is not in NFKC form. ``decoded`` returns the text, or None if it cannot be decoded."""
    return not data.isascii() and (text := decoded()) is not None and _has_other_forms(text)


def _has_other_forms(text: str) -> bool:
    """Whether some identifier outside comments and strings is not in NFKC form."""
    from unicodedata import is_normalized

    if is_normalized("NFKC", text):
        return False
    runs = (run.start() for run in _not_ascii().finditer(text) if _is_other(text, *run.span()))
    places = list(islice(runs, _MANY))
    return bool(places) and _any_outside(text, places)


def _is_other(text: str, start: int, end: int) -> bool:
    """Whether an identifier with these letters is not in NFKC form; a mark belongs to the letter before it."""
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
    """Whether one of these offsets is in code: outside strings and comments, or in a field of an f-string."""
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
    """Whether this beginning of a string literal ends inside a replacement field."""
    prefix = string[: min((string.find(quote) for quote in "\"'" if quote in string), default=0)].lower()
    return ("f" in prefix or "t" in prefix) and string.count("{") > string.count("}")
