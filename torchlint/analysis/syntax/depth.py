"""Limits on nesting: refuses code that would overflow the stack of the native parser.

The native parser is recursive, and a stack overflow ends the process; long operator chains also take quadratic time.
CPython itself allows 200 open brackets and 100 levels of indentation, so these limits refuse almost no program that
runs. Code within the limits is parsed in a thread with a larger stack if it needs one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

from torchlint.text.lines import STRINGS

BRACKETS = 200
CHAIN = 500
BRANCHES = 2500  # CPython compiles hardly more
_PLAIN_BRANCHES = 500  # any stack is large enough for this many
_STACK = 64 * 1024 * 1024
T = TypeVar("T")

# Whatever cannot nest is matched as one token, so that the loop below has few iterations.
_TOKEN = (
    rf"(?s:(?P<skip>#[^\r\n]*|{STRINGS})|(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<end>(?<!\\)(?<!\\\r)\n|[,;])"
    r"|(?P<link>[-+*/%@&|^<>=~.]|\b(?:not|lambda|if|await|and|or|in|is|elif)\b)|(?P<define>\bdef\b))"
)


class TooDeep(NamedTuple):
    """Where the nesting became too deep, and what to do about it."""

    line: int
    message: str


def problem(text: str) -> TooDeep | None:
    """The first place that is nested too deeply, or None."""
    level = chain = elifs = 0
    for match in _token().finditer(text):
        kind = match.lastgroup
        if kind in ("link", "open"):
            chain += 1
            level += kind == "open"
            elifs += match.group() == "elif"
            if level > BRACKETS:
                return _at(text, match.start(), f"brackets nested more than {BRACKETS} deep")
            if chain > CHAIN:
                return _at(text, match.start(), f"more than {CHAIN} operators in one chain")
            if elifs > BRANCHES:
                return _branches(text, match.start())
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


def with_room(text: str, parse: Callable[[], T]) -> T:
    """Run the native parser, on a larger stack if many branches are nested: each level takes more than a kilobyte."""
    if text.count("elif") <= _PLAIN_BRANCHES:
        return parse()
    import threading

    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(parse())
        except BaseException as error:
            failed.append(error)

    before = threading.stack_size(_STACK)
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _branches(text: str, offset: int) -> TooDeep:
    line = text.count("\n", 0, offset) + 1
    advice = "look the cases up in a dictionary, split the function, or exclude the file"
    return TooDeep(line, f"more than {BRANCHES} `elif` in one function are nested too deeply to be analyzed: {advice}")


def _at(text: str, offset: int, message: str) -> TooDeep:
    return TooDeep(text.count("\n", 0, offset) + 1, f"{message}: split the expression")
