"""Finds comments in source text, without parsing.

The scanner knows only strings, f-strings and line continuations, so it also works on text that does not parse. It takes
linear time. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

_OPENERS = "([{"


class _Patterns(NamedTuple):
    """The patterns of the scanner: for code, for replacement fields of f-strings, and for the ends of strings."""

    code: re.Pattern[str]
    field: re.Pattern[str]
    string: Mapping[str, re.Pattern[str]]
    literal: Mapping[str, re.Pattern[str]]


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    # Compiled on first use: most runs meet no suppression.
    string = {
        '"': r'[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"?',
        "'": r"[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'?",
        '"""': r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:""")?',
        "'''": r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:''')?",
    }
    newline = {quote: r"|[\r\n]" if len(quote) == 1 else "" for quote in string}
    literal = r"\\N\{[^{}\r\n]*\}|\\(?:\r\n|[^{}])|\{\{|[{}]|"
    return _Patterns(
        code=re.compile(r"""#[^\r\n]*|\"{3}|'{3}|["']"""),
        field=re.compile(r"""#[^\r\n]*|\"{3}|'{3}|["'(){}\[\]:]"""),
        string={quote: re.compile(rest, re.DOTALL) for quote, rest in string.items()},
        literal={quote: re.compile(literal + quote + newline[quote], re.DOTALL) for quote in string},
    )


def comments(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of every comment, in order. Text that does not parse gives a best effort and no error."""
    patterns, position = _patterns(), 0
    # A stack: the quotes of open f-strings, ":" for their format specifications, and brackets in their fields. Brackets
    # outside f-strings do not matter and are not tracked.
    opened: list[str] = []
    quotes: list[str] = []
    while True:
        in_literal = bool(opened) and opened[-1] not in _OPENERS
        pattern = patterns.literal[quotes[-1]] if in_literal else patterns.field if opened else patterns.code
        found = pattern.search(text, position)
        if found is None:
            return
        position, token = found.end(), found[0]
        if in_literal:
            _in_literal(token, opened, quotes)
        elif token[0] == "#":
            yield found.span()
        elif token[0] in "\"'" and _is_formatted(text, found.start()):
            opened.append(token)
            quotes.append(token)
        elif token[0] in "\"'":
            string = patterns.string[token].match(text, position)
            position = string.end() if string else position
        else:
            _in_field(token, opened)


def _is_formatted(text: str, quote: int) -> bool:
    """Whether the string that begins at ``quote`` has the prefix of an f-string or a t-string."""
    start = quote
    while start and quote - start < 3 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:quote].lower() in ("f", "t", "rf", "fr", "rt", "tr")


def _in_literal(token: str, opened: list[str], quotes: list[str]) -> None:
    if token == "{":
        opened.append("{")
    elif token == "}":
        if opened[-1] == ":":
            del opened[-2:]
    elif token in ("\r", "\n", quotes[-1]):
        # The end of the string, or of the line in which it was not closed.
        while opened.pop() != quotes[-1]:
            pass
        quotes.pop()


def _in_field(token: str, opened: list[str]) -> None:
    if token in _OPENERS:
        opened.append(token)
    elif token == ":":
        if opened[-1] == "{" and opened[-2] not in _OPENERS:
            opened.append(":")
    elif token == "}" or opened[-1] != "{":
        opened.pop()
