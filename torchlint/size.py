"""How much memory the tree of a text will take, told from its bytes: the parser cannot be stopped half-way.

The weights are upper bounds, measured with the densest code there is for each (docs/reliability.md).
"""

from __future__ import annotations

import re

from torchlint.limits import MEMORY

# Even the densest text of this size stays below the limit.
_SMALL = 200_000
_LINE, _WORD, _OPENING, _MARK = 5_000, 3_200, 9_000, 2_400
_WORDS = bytes(97 if chr(code).isalnum() or code > 127 or code == 95 else 32 for code in range(256))
_MARKS = b":;,.@=<>+-*/%&|^~\\'\""
_INERT = re.compile(
    rb"#[^\r\n]*"
    rb'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    rb"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''",
    re.DOTALL,
)


def problem(data: bytes) -> str | None:
    """Why a file is too large to be parsed; None when it is not."""
    if len(data) <= _SMALL or _weight(data) <= MEMORY:
        return None
    weight = _weight(_INERT.sub(b'""', data))
    if weight <= MEMORY:
        return None
    return f"the file is too large to lint (it would take about {weight / 1000:.1f} GB; the limit is 1 GB): exclude it"


def _weight(data: bytes) -> float:
    """Megabytes that the tree takes at most."""
    words = (data.translate(_WORDS) + b" ").count(b"a ")
    openings, marks = _count(data, b"([{"), _count(data, _MARKS)
    return (data.count(b"\n") * _LINE + words * _WORD + openings * _OPENING + marks * _MARK) / 1_000_000


def _count(data: bytes, characters: bytes) -> int:
    return len(data) - len(data.translate(None, characters))
