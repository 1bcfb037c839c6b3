"""Refuses code nested so deep that the parser would overflow the stack, before it is parsed.

The native parser recurses, and a recursion too deep ends the process; long chains of operators also
cost it quadratic time. CPython itself allows 200 open brackets and 100 levels of indentation, so the
limits here refuse next to nothing that runs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from torchlint.text.lines import STRINGS

BRACKETS = 200
CHAIN = 500

# Whatever cannot nest is one token, so that the loop below sees few of them.
_TOKEN = (
    rf"(?s:(?P<skip>#[^\r\n]*|{STRINGS})|(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<end>(?<!\\)(?<!\\\r)\n|[,;])"
    r"|(?P<link>[-+*/%@&|^<>=~.]|\b(?:not|lambda|if|await|and|or|in|is|elif)\b)|(?P<define>\bdef\b))"
)


class TooDeep(NamedTuple):
    """Where the nesting became too deep, and what to do."""

    line: int
    message: str


def problem(text: str) -> TooDeep | None:
    """The first place nested too deep, or None."""
    level = chain = elifs = 0
    for match in _token().finditer(text):
        kind = match.lastgroup
        if kind in ("link", "open"):
            chain += 1
            level += kind == "open"
            elifs += match.group() == "elif"
            if level > BRACKETS:
                return _at(text, match.start(), f"brackets nested more than {BRACKETS} deep")
            if chain > CHAIN or elifs > CHAIN:
                return _at(text, match.start(), f"more than {CHAIN} operators or branches in one chain")
        elif kind == "close":
            level = max(0, level - 1)
        elif kind == "define":
            elifs = 0
        elif kind == "end" and (level == 0 or match.group() == ","):
            chain = 0
    return None


@cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN)


def _at(text: str, offset: int, message: str) -> TooDeep:
    return TooDeep(text.count("\n", 0, offset) + 1, f"{message}: split the expression")
