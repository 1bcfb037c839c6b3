"""Whether names in a text may be spelled so that no search of the text finds them.

``torch . tensor`` is ``torch.tensor``, and since Python takes identifiers by their NFKC form, a name in full-width
letters is the one in plain letters. No formatter leaves either; such files are read without shortcuts. What costs
little is asked first, and ends the matter for nearly all files. What is unclear counts as odd, which costs time alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from torchlint.patterns import STRINGS, compiled

# Without any of these there is nothing to find, nor to know for other files.
_SIGNS = (b"torch", b"cuda", b"oader", b"Trainer", b"Fabric", b"cudnn", b"deterministic")
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_WORDS = rb"(?:if|for|in|is|and|or|not|else|as|async)\b"
# A name on the other side of blanks, with something behind it that does not follow words of prose.
_AFTER = (
    rb"\.(?:(?:[ \t\f]|\\?\r?\n)+(?!import\b)"
    + _NAME
    + rb"[ \t\f]*(?:[^\w\s'\"`\x80-\xff]|\\?[\r\n]|\Z|"
    + _WORDS
    + rb")"
    rb"|[ \t\f]*#)"
)
_BEFORE = rb" \.(?<!from \.)(?:[ \t\f]|\\?\r?\n)*" + _NAME
_CONTINUED = rb"\\\r?\n[ \t\f]*\.[ \t\f]*" + _NAME
_NOT_ASCII = r"\w*[^\W\x00-\x7f]\w*"
_UNCLEAR = rb"[#'\"]|[fFtT][rR]?\Z"  # before quotes: a comment or another string, or the prefix of one that holds code
_NUMBER = rb"(?<![\w.])[0-9][0-9_]*\Z"


def is_odd(data: bytes, decoded: Callable[[], str | None]) -> bool:
    """A name may be spelled as no search expects it. ``decoded`` gives the text, if there is one."""
    if not data.isascii() and (text := decoded()) is not None and _has_other_forms(text):
        return True
    if not any(sign in data for sign in _SIGNS):
        return False
    code = _without_docstrings(data)
    places = sorted({*_gaps(code)})
    return bool(places) and _any_outside(code.decode("latin-1"), places)


def _has_other_forms(text: str) -> bool:
    """Some identifier is not what Python takes it for."""
    from unicodedata import is_normalized

    if is_normalized("NFKC", text):
        return False
    words = (word for word in compiled(_NOT_ASCII).finditer(text) if not is_normalized("NFKC", word[0]))
    places = [word.start() for word in words if word[0].isidentifier()]
    return bool(places) and _any_outside(text, places)


def _gaps(data: bytes) -> Iterator[int]:
    """Points with blanks before or after them that may be those of attributes."""
    for found in compiled(_AFTER).finditer(data):
        place = found.start()
        before = data[max(0, place - 40) : place]
        if before[-1:] != b"." and not compiled(_NUMBER).search(before) and not _line(data, place).startswith(b"#"):
            yield place
    for found in compiled(_BEFORE).finditer(data.replace(b"\t", b" ")):
        place = found.start() + 1
        if (line := _line(data, place)) and not line.startswith(b"#"):
            yield place
    for found in compiled(_CONTINUED).finditer(data):
        yield found.start()


def _line(data: bytes, place: int) -> bytes:
    """The line before a place, without what it is indented by; a continued line goes on."""
    start = max(data.rfind(b"\n", 0, place), data.rfind(b"\r", 0, place)) + 1
    return data[start:place].strip(b" \t\f")


def _without_docstrings(data: bytes) -> bytes:
    """The bytes with empty strings for those in three double quotes, as far as it is plain to see which they are."""
    pieces = data.split(b'"""')
    if len(pieces) % 2 == 0 or b"'''" in data:
        return data
    if any(piece.endswith(b"\\") for piece in pieces):
        return data
    for code in pieces[:-1:2]:
        start = code.rfind(b"\n") + 1
        line, before = code[start:], code[max(0, start - 3) : start].rstrip(b"\r\n")
        if before.endswith(b"\\") or (line and not line.isspace() and compiled(_UNCLEAR).search(line)):
            return data
    return b'""'.join(pieces[::2])


@cache
def _token() -> re.Pattern[str]:
    """A comment, or a string with its prefix."""
    return re.compile(rf"(?s:#[^\r\n]*|(?<!\w)[A-Za-z]{{0,2}}(?:{STRINGS}))")


def _any_outside(text: str, places: list[int]) -> bool:
    """One of these places is outside all strings and comments, or in a field of a formatted string."""
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
