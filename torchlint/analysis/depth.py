"""Refuses code nested so deep that the parser would overflow the stack, before it is parsed.

The native parser recurses, and a recursion too deep ends the process. CPython's own limits are 200
open brackets and 100 indentation levels, so the limits here refuse next to nothing that runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BRACKETS = 200
_CHAIN = 1_000
_ELIFS = 1_000
_TOKEN = re.compile(
    r"#[^\r\n]*|'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\"|[\[\](){}]",
    re.DOTALL,
)
_OPERATOR = re.compile(r"\bnot\b|\blambda\b|\bif\b|\bawait\b|[-+~*/%@|&^<>.=]|\band\b|\bor\b")


@dataclass(frozen=True)
class TooDeep:
    """Where the nesting became too deep, and what to do."""

    line: int
    message: str


def problem(text: str) -> TooDeep | None:
    """The first place nested too deep, or None. Costs two passes of a regular expression at most."""
    return _brackets(text) or _chains(text) or _elifs(text)


def _brackets(text: str) -> TooDeep | None:
    if text.count("(") + text.count("[") + text.count("{") <= _BRACKETS:
        return None
    level = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "([{":
            level += 1
            if level > _BRACKETS:
                line = text.count("\n", 0, match.start()) + 1
                return TooDeep(line, f"brackets nested more than {_BRACKETS} deep; split the expression")
        elif token in ")]}":
            level = max(0, level - 1)
    return None


def _chains(text: str) -> TooDeep | None:
    """A line long enough to hold a chain of a thousand operators is counted."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 2 * _CHAIN and len(_OPERATOR.findall(_TOKEN.sub("", line))) > _CHAIN:
            return TooDeep(number, f"more than {_CHAIN:,} operators on one line; split the expression")
    return None


def _elifs(text: str) -> TooDeep | None:
    if text.count("elif") <= _ELIFS:
        return None
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("elif") and text.count("\nelif") > _ELIFS:
            return TooDeep(number, f"more than {_ELIFS:,} elif branches; use a table")
    return None
