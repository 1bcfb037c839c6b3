"""Decodes source files by PEP 263 and byte order mark, and encodes changed text.

Newlines and form feeds are kept. A file that Python would not read, or only through a codec that does more than map
characters, raises :class:`DecodeProblem` with advice.
"""

from __future__ import annotations

import codecs
import re

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$", re.DOTALL)
_UTF8_NAMES = ("utf-8", "utf8", "u8", "utf", "cp65001")
_LATIN1_NAMES = ("latin-1", "iso-8859-1", "iso-latin-1")
# An encoding in which these ASCII characters do not represent themselves is not accepted for Python source: EBCDIC,
# UTF-16, UTF-7, unicode_escape, IDNA and the like.
_PROBE = "import x as y; z = '\\x41' + \"\\u0041\" # +AEE- A-1.xn--mnchen-3ya."
_AS_UTF8 = "save the file as UTF-8"
_NAME_IT = "or name its encoding in the first line, such as `# -*- coding: latin-1 -*-`"


class DecodeProblem(Exception):
    """Why a file is not readable Python source, in which line, and what to do about it."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def decode(data: bytes) -> str:
    """The text of a source file, without its byte order mark."""
    _refuse_wide(data)
    marked, body = _unmarked(data)
    if (nul := body.find(b"\0")) >= 0:
        raise DecodeProblem(f"contains a NUL byte; remove it, or {_AS_UTF8}", _line(body, nul))
    declared, line = _cookie(body)
    name = _normal(declared)
    if marked and name != "utf-8":
        both = f"starts with a UTF-8 byte order mark but declares the encoding {declared!r}"
        raise DecodeProblem(f"{both}; remove one of the two", line)
    if name != "utf-8":
        _refuse_strange(name, line)
    return _decoded(body, name)


def encode(text: str, like: bytes) -> bytes:
    """Encode a changed text in the encoding and with the byte order mark of the original file.

    Raises :class:`DecodeProblem` if that encoding would not even reproduce the original bytes.
    """
    marked, body = _unmarked(like)
    name = _normal(_cookie(body)[0])
    mark = codecs.BOM_UTF8 if marked else b""
    try:
        if mark + decode(like).encode(name) == like:
            return mark + text.encode(name)
    except UnicodeEncodeError:
        pass
    raise DecodeProblem(f"its encoding {name!r} writes the same text in other bytes; save the file as UTF-8", 1)


def encode_declared(text: str) -> bytes:
    """Encode a text that is not in a file in the encoding that it declares.

    Characters that cannot be encoded become question marks, so that all others keep their places.
    """
    data = text.encode("utf-8", "replace")
    marked, body = _unmarked(data)
    name = _normal(_cookie(body)[0])
    if name == "utf-8" or marked:
        return data
    try:
        _refuse_strange(name, 1)
    except DecodeProblem:  # linting the text reports it
        return data
    return text.encode(name, "replace")


def _unmarked(data: bytes) -> tuple[bool, bytes]:
    marked = data.startswith(codecs.BOM_UTF8)
    return marked, data[3:] if marked else data


def _normal(name: str) -> str:
    """The name of the encoding as Python reads it: editors append newline conventions, as in ``utf-8-unix``."""
    folded = name.lower().replace("_", "-")
    if folded in _UTF8_NAMES or folded.startswith("utf-8-"):
        return "utf-8"
    if any(folded == known or folded.startswith(known + "-") for known in _LATIN1_NAMES):
        return "iso-8859-1"
    return name


def _refuse_wide(data: bytes) -> None:
    # The mark of UTF-32 (little endian) begins with that of UTF-16, so it is tested first.
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF32_BE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if data.startswith(mark):
            raise DecodeProblem(f"is {name}, which Python does not read; {_AS_UTF8}", 1)


def _cookie(body: bytes) -> tuple[str, int]:
    """The declared encoding and its line; UTF-8 if none is declared."""
    start = 0
    for number in (1, 2):
        end = min((i for i in (body.find(b"\n", start), body.find(b"\r", start)) if i >= 0), default=len(body))
        text = body[start:end]
        if found := _COOKIE.match(text):
            return found[1].decode("ascii"), number
        if not _BLANK.match(text):
            break
        start = end + (2 if body[end : end + 2] == b"\r\n" else 1)
    return "utf-8", 1


def _refuse_strange(name: str, line: int) -> None:
    try:
        meant = _PROBE.encode("ascii").decode(name)
    except LookupError as error:
        if "not a text encoding" not in str(error):
            raise DecodeProblem(f"declares the unknown encoding {name!r}; {_AS_UTF8}", line) from None
        meant = None
    except Exception:  # a codec may raise anything; in any case the file cannot be decoded
        meant = None
    if meant != _PROBE:
        raise DecodeProblem(f"declares {name!r}, which is not an encoding for source text; {_AS_UTF8}", line)


def _decoded(body: bytes, name: str) -> str:
    try:
        return body.decode(name)
    except UnicodeDecodeError as error:
        line = _line(body, error.start)
        byte = f"byte 0x{body[error.start]:02x}" if error.start < len(body) else "the end"
        advice = f"{_AS_UTF8}, {_NAME_IT}" if name == "utf-8" else f"correct the declaration, or {_AS_UTF8}"
        raise DecodeProblem(f"{byte} is not valid in {name}; {advice}", line) from None
    except Exception:  # see above
        raise DecodeProblem(f"cannot be decoded as {name}; {_AS_UTF8}", 1) from None


def _line(body: bytes, offset: int) -> int:
    newlines = body.count(b"\n", 0, offset) + body.count(b"\r", 0, offset)
    return newlines - body.count(b"\r\n", 0, offset) + 1
