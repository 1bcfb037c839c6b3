"""Whether names in a text may be spelled so that no search of the text finds them.

``torch . tensor`` is ``torch.tensor``, and since Python takes identifiers by their NFKC form, a name in full-width
letters is the one in plain letters. No formatter leaves either; such files are read without shortcuts. What costs
little is asked first, and ends the matter for nearly all files. What is unclear counts as odd, which costs time alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

from torchlint.patterns import FAR, STRINGS, compiled

# Without any of these there is nothing to find, nor to know for other files.
_SIGNS = (b"torch", b"cuda", b"oader", b"Trainer", b"Fabric", b"cudnn", b"deterministic")
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_WORDS = rb"(?:if|for|in|is|and|or|not|else|as|async)\b"
# A name on the other side of blanks, with something behind it that does not follow words of prose.
_AFTER = (
    rb"\.(?:(?:[ \t\f]|\\?\r?\n)+(?!import\b)"
    rb"%(name)s(?![\w\x80-\xff])[ \t\f]*(?:[^\w\s'\"`\x80-\xff]|\\?[\r\n]|\Z|%(words)s)|[ \t\f]*#)"
) % {b"name": _NAME, b"words": _WORDS}
_BEFORE = rb" \.(?<!from \.)(?:[ \t\f]|\\?\r?\n)*" + _NAME
_CONTINUED = rb"\\\r?\n[ \t\f]*\.[ \t\f]*" + _NAME
_BLANKS = bytes.maketrans(b"\t\f", b"  ")
_NOT_ASCII = r"[^\x00-\x7f]+"
_UNCLEAR = rb"[#'\"]|[fFtT][rR]?\Z"  # before quotes: a comment or another string, or the prefix of one that holds code
_MANY = 2000  # places beyond which nobody looks on
_NUMBER = rb"(?<![\w.])[0-9][0-9_]*\Z"


def is_odd(data: bytes, decoded: Callable[[], str | None]) -> bool:
    """A name may be spelled as no search expects it. ``decoded`` gives the text, if there is one."""
    if not data.isascii() and (text := decoded()) is not None and _has_other_forms(text):
        return True
    if not any(sign in data for sign in _SIGNS):
        return False
    code = _without_docstrings(data)
    places = sorted({*islice(_gaps(code), _MANY)})
    return bool(places) and _any_outside(code.decode("latin-1"), places)


def _has_other_forms(text: str) -> bool:
    """Some identifier is not what Python takes it for."""
    from unicodedata import is_normalized

    if is_normalized("NFKC", text):
        return False
    runs = (run.start() for run in compiled(_NOT_ASCII).finditer(text) if _is_other(text, *run.span()))
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


def _gaps(data: bytes) -> Iterator[int]:
    """Points with blanks before or after them that may be those of attributes."""
    for found in compiled(_AFTER).finditer(data):
        place = found.start()
        before = data[max(0, place - 40) : place]
        if not (before.endswith(b".") or compiled(_NUMBER).search(before) or _is_comment(_line(data, place))):
            yield place
    spaced = data.translate(_BLANKS) if b"\t" in data or b"\f" in data else data
    for found in compiled(_BEFORE).finditer(spaced):
        place = found.start() + 1
        if (line := _line(data, place)) and not _is_comment(line):
            yield place
    for found in compiled(_CONTINUED).finditer(data):
        yield found.start()


def _line(data: bytes, place: int) -> bytes:
    """The line before a place, without what it is indented by; of a long one the end, after a sign of a string."""
    far = max(0, place - FAR)
    start = max(data.rfind(b"\n", far, place), data.rfind(b"\r", far, place)) + 1
    return data[start:place].strip(b" \t\f") if start or not far else b'"' + data[far:place]


def _is_comment(line: bytes) -> bool:
    """A line that has begun goes on as a comment, for certain."""
    code, sign, comment = line.partition(b"#")
    if not sign or b'"' in code or b"'" in code:
        return False
    return b'"""' not in comment and b"'''" not in comment  # else a string may have ended


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
