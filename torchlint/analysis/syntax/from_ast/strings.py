"""Converts strings to LibCST nodes: simple and concatenated ones, and f-strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import libcst as cst

from torchlint.analysis.syntax.from_ast.make import Node, maker

simple = maker(cst.SimpleString, "value")
_concatenated = maker(cst.ConcatenatedString, "left", "right")
_text = maker(cst.FormattedStringText, "value")
_field = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec", "equal")
_string = maker(cst.FormattedString, "start", "parts", "end")
_EQUAL = maker(cst.AssignEqual)()
_START = re.compile(r"([a-zA-Z]{0,2})(\"\"\"|'''|\"|')")
_BETWEEN = re.compile(r"(?:[ \t\f\n]|\\\n|#[^\n]*\n)*")
_REST = {  # of a literal, behind its opening quote
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:""")?', re.DOTALL),
    "'''": re.compile(r"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:''')?", re.DOTALL),
    '"': re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL),
    "'": re.compile(r"[^'\\]*(?:\\.[^'\\]*)*'?", re.DOTALL),
}
# The text between replacement fields up to a backslash, a brace or a quote; and a backslash with what it escapes.
_RUN = re.compile(r"[^{}\\\"']+")
_ESCAPED = re.compile(r"\\N\{[^}]*\}|\\[^{}]|\\", re.DOTALL)
_ESCAPED_IN_RAW = re.compile(r"\\[^{}]|\\", re.DOTALL)
_IN_FIELD = re.compile(r"[^\"'#()\[\]{}!:=<>]+|[!=<>]=|#[^\n]*|.", re.DOTALL)
_AFTER_EQUAL = re.compile(r"=\s*(?=[!:}])")
_PREFIX = re.compile(r"(?<!\w)[a-zA-Z]{1,2}\Z")

_Match = Callable[[str, int], "re.Match[str] | None"]
Convert = Callable[[int, int], Node]  # of the text between two offsets to the node of an expression
Placed = Callable[[Node, int, int], None]  # a string that has been made, and the offsets of its text


def is_simple(text: str) -> bool:
    """Whether the text is a single literal without a prefix whose quotes do not occur inside it."""
    quote = text[0]
    if quote not in "\"'":
        return False
    if text[1:3] == quote * 2:
        return text.find(quote * 3, 3) == len(text) - 3
    return text.find(quote, 1) == len(text) - 1


class Strings:
    """Reads the text of a string expression from left to right. Raises ``ValueError`` for what is none."""

    def __init__(self, text: str, convert: Convert, placed: Placed) -> None:
        self._given, self._convert, self._placed = text, convert, placed
        self._place = 0

    def whole(self) -> Node:
        """The node for the text, whose literals are concatenated."""
        found: list[tuple[Node, int]] = []
        while self._place < len(self._given):
            start = self._place
            found.append((self._literal(), start))
            end = self._place
            self._placed(found[-1][0], start, end)
            self._place = self._next(_BETWEEN.match).end()
        node, _ = found.pop()
        while found:
            left, start = found.pop()
            node = _concatenated(left, node)
            self._placed(node, start, end)
        return node

    def _here(self) -> str:
        """The next character; empty at the end."""
        return self._given[self._place : self._place + 1]

    def _next(self, match: _Match) -> re.Match[str]:
        found = match(self._given, self._place)
        if found is None:
            raise ValueError(self._given)
        return found

    def _literal(self) -> Node:
        start = self._place
        head = self._next(_START.match)
        self._place = head.end()
        prefix, quote = head[1].lower(), head[2]
        if "f" in prefix:
            parts = self._parts(quote, raw="r" in prefix)
            self._place += len(quote)
            return _string(head[0], parts, quote)
        self._place = self._next(_REST[quote].match).end()
        return simple(self._given[start : self._place])

    # -- f-strings -------------------------------------------------------------------------------

    def _parts(self, quote: str, *, raw: bool) -> list[Any]:
        """Texts and replacement fields up to the closing quote, or to the brace that ends a format specification."""
        parts: list[Any] = []
        begun = self._place
        escaped = _ESCAPED_IN_RAW.match if raw else _ESCAPED.match
        while not self._given.startswith(quote, self._place):
            character = self._here()
            if not character:
                raise ValueError(self._given)
            if character in "{}" and quote != "}" and self._given.startswith(character * 2, self._place):
                self._place += 2
            elif character == "{":
                self._end_text(parts, begun)
                parts.append(self._replaced(raw=raw))
                begun = self._place
            elif character in "\"'":
                self._place += 1
            else:
                self._place = self._next(escaped if character == "\\" else _RUN.match).end()
        self._end_text(parts, begun)
        return parts

    def _end_text(self, parts: list[Any], begun: int) -> None:
        if begun < self._place:
            parts.append(_text(self._given[begun : self._place]))

    def _replaced(self, *, raw: bool) -> Node:
        """The replacement field whose brace is next."""
        start = self._place = self._place + 1
        self._skip_expression()
        expression = self._convert(start, self._place)
        equal = conversion = spec = None
        if self._here() == "=":
            equal = _EQUAL
            self._place = self._next(_AFTER_EQUAL.match).end()
        if self._here() == "!":
            conversion = self._given[self._place + 1 : self._place + 2]
            self._place += 2
        if self._here() == ":":
            self._place += 1
            spec = self._parts("}", raw=raw)
        if self._here() != "}":
            raise ValueError(self._given)
        self._place += 1
        return _field(expression, conversion, spec, equal)

    def _skip_expression(self) -> None:
        """Go to the end of the expression of a replacement field."""
        level = 0
        while True:
            token = self._next(_IN_FIELD.match)[0]
            if token in "\"'":
                self._skip_literal()
                continue
            if level == 0 and (token in "}!:" or (token == "=" and _AFTER_EQUAL.match(self._given, self._place))):
                return
            level += (token in "([{") - (token in ")]}")
            self._place += len(token)

    def _skip_literal(self) -> None:
        """Go to the end of a literal in a replacement field; its quote is next, after its prefix."""
        prefix = _PREFIX.search(self._given, max(0, self._place - 2), self._place)
        inner = Strings(self._given, lambda *_: None, lambda *_: None)
        inner._place = prefix.start() if prefix is not None else self._place
        inner._literal()
        self._place = inner._place
