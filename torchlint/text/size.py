"""Estimates how much memory parsing a text will take, since the parser cannot be interrupted.

The weights are upper bounds, measured with the densest code of each kind (docs/reliability.md).
"""

from __future__ import annotations

import re

from torchlint.base.limits import LIGHT_BYTES, MEMORY

# Bytes of memory per line with code, and per line, word, opening bracket and other mark.
_LINE, _EMPTY, _WORD, _OPENING, _MARK = 6_100, 350, 2_200, 10_600, 2_450
_WORDS = bytes(97 if chr(code).isalnum() or code > 127 or code == 95 else 32 for code in range(256))
_MARKS = b":;,.@=<>+-*/%&|^~\\'\""
_FORMATTED = re.compile(rb"(?:[ft]r?|r[ft])['\"]", re.IGNORECASE)
# Unclosed strings end with the line or the text, so that no text is scanned repeatedly.
_STRING = (
    rb'(")""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|"{0,2}\\?\Z)',
    rb"(')''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|'{0,2}\\?\Z)",
    rb'(")[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?',
    rb"(')[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'?",
)
_INERT = re.compile(rb"#[^\r\n]*|" + rb"|".join(_STRING), re.DOTALL)
_BLANK_LINES = re.compile(rb"\n[\s\\]+")


def problem(data: bytes) -> str | None:
    """Why a file is too large to be parsed; None if it is not."""
    if len(data) <= LIGHT_BYTES or _weight(data) <= MEMORY:
        return None
    weight = _weight(_BLANK_LINES.sub(b"\n", _code(data))) + data.count(b"\n") * _EMPTY / 1_000_000
    if weight <= MEMORY:
        return None
    return f"the file is too large to lint (it would take about {weight / 1000:.1f} GB; the limit is 1 GB): exclude it"


def _code(data: bytes) -> bytes:
    """The text without comments and strings, unless f-strings make it hard to find them."""
    return data if _FORMATTED.search(data) else _INERT.sub(rb"\1\1\2\2\3\3\4\4", data)


def _weight(data: bytes) -> float:
    """An upper bound for the memory of the tree, in megabytes."""
    words = (data.translate(_WORDS) + b" ").count(b"a ")
    openings, marks = _count(data, b"([{"), _count(data, _MARKS)
    return (data.count(b"\n") * _LINE + words * _WORD + openings * _OPENING + marks * _MARK) / 1_000_000


def _count(data: bytes, characters: bytes) -> int:
    return len(data) - len(data.translate(None, characters))
