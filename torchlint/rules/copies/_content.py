"""The text predicate of TL103: regular content that is converted.

Constructors and lists stand in most files that name torch. With this predicate, some ten of timm's 304 files are parsed
for TL103, and 92 without it.
"""

from __future__ import annotations

from torchlint.knowledge.factories import ARRAYS
from torchlint.prefilter.needs import all_of, any_of, identifiers, imported, of_library, parts, text

_CONSTRUCTOR = r"(?:tensor|as_tensor|asarray|[A-Z]\w*Tensor|Tensor)"
_NAMED = parts("tensor", "asarray")
_COMMENT = r"#[^\n]{0,160}\n"
_GAP = rf"(?:[\s\\(]|{_COMMENT}){{0,80}}"
_CLOSE = rf"(?:[\s\\,)]|{_COMMENT}){{0,80}}"
_NUMBER = rf"[+-]?{_GAP}(?:\.?\d[\w.+-]*|True|False)"
# `[0] * n`, `[0 for _ in range(n)]`, `[i for i in range(n)]`, in other brackets as well.
_DISPLAY = (
    rf"\[(?:[\s\[(]|{_COMMENT}){{0,80}}(?:{_NUMBER}{_CLOSE}(?:\]{_CLOSE}\*|for\b)|(\w{{1,80}}){_CLOSE}for{_GAP}\1\b)"
)
_TIMES = rf"[^\[\],]{{1,200}}\*{_GAP}\["  # `n * [0]`
_LIST = rf"(?:(?:[\w.]{{0,40}}list{_GAP})?[\w.]{{0,40}}range\s{{0,40}}\(|{_DISPLAY}|{_TIMES})"
REGULAR_CONTENT = any_of(
    all_of(
        identifiers("numpy"),
        of_library(ARRAYS),
        text(r"(?:ensor|asarray|from_numpy)[\s\\)]*\(", parts("tensor", "asarray", "from_numpy")),
    ),
    *(text(rf"{name}[\s\\)]*\({_GAP}(?:data\s*={_GAP})?{_LIST}", parts(name)) for name in ("ensor", "asarray")),
    all_of(
        text(r"Tensor[\s\\)]*\(", _NAMED),
        text(rf"\){_CLOSE}\.\s*(?:fill|zero|uniform|normal)_\s*\(", identifiers("fill_ zero_ uniform_ normal_")),
    ),
    # Other names of constructors.
    text(rf"\.{_CONSTRUCTOR}[ \t]*(?:[\r\n#;]|if\b|\Z)", _NAMED),
    all_of(
        imported(
            ["tensor", "as_tensor", "asarray", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor", "IntTensor"]
        ),
        any_of(
            text(rf"=[ \t(]*{_CONSTRUCTOR}[ \t)]*(?:[\r\n#;]|if\b|\Z)", _NAMED),
            text(rf"{_CONSTRUCTOR}[ \t\\]+as[ \t]+\w+[ \t]*(?:[,;#)\r\n]|\Z)", _NAMED),
        ),
    ),
)
