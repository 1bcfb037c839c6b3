"""Converts strings to LibCST nodes: simple and concatenated ones, and f-strings with simple replacement fields.

LibCST's parser takes longer for a single f-string than the code here takes for a whole function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from torchlint.analysis.syntax.light.make import Node, maker

_simple = maker(cst.SimpleString, "value")
_concatenated = maker(cst.ConcatenatedString, "left", "right")
_string = maker(cst.FormattedString, "start", "parts", "end")
_text = maker(cst.FormattedStringText, "value")
_expression = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec", "equal")
_LITERAL = re.compile(
    r"([a-zA-Z]{0,2})(?:"
    r"\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r"|\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|'(?!'')(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
_BETWEEN = re.compile(r"(?:[ \t\f\n]|\\\n|#[^\n]*\n)*")
_WHOLE = re.compile(r"([fF])(\"\"\"|\'\'\'|\"|\')(.*)\2", re.DOTALL)
_QUOTED = r"'[^'\\\n{}]*'|\"[^\"\\\n{}]*\""
# The text between replacement fields, and a field with its conversion and format specification.
_PART = re.compile(
    r"((?:[^{}\\]|\{\{|\}\}|\\[^N\r\n{}])+)"
    rf"|\{{((?:[^{{}}\[\]!:=#'\"\\]|{_QUOTED}|\[(?:[^{{}}\[\]!=#'\"\\]|{_QUOTED})*\])+)(?:!([rsa]))?(?::([^{{}}\\]*))?\}}"
)

Convert = Callable[[ast.expr, str], Node]


def string_of(text: str, values: Iterator[ast.expr], convert: Convert) -> Node | None:
    """The node for a string, given its text, its expressions, and a function that converts these.

    None for f-strings that LibCST must parse: raw ones, nested braces, and comparisons, comments, backslashes or named
    characters in fields. ``convert`` also receives the text of an expression.
    """
    if _is_plain(text):
        return _simple(text)
    nodes: list[Node] = []
    place = 0
    while place < len(text):
        literal = _LITERAL.match(text, place)
        if literal is None:
            return None
        node = _formatted(literal[0], values, convert) if "f" in literal[1].lower() else _simple(literal[0])
        if node is None:
            return None
        nodes.append(node)
        between = _BETWEEN.match(text, literal.end())
        place = between.end() if between is not None else literal.end()
    found = nodes.pop() if nodes else None
    while nodes:
        found = _concatenated(nodes.pop(), found)
    return found


def _is_plain(text: str) -> bool:
    """Whether the text is a single literal without a prefix whose quotes do not occur inside it."""
    quote = text[0]
    if quote not in "\"'":
        return False
    if text[1:3] == quote * 2:
        return text.find(quote * 3, 3) == len(text) - 3
    return text.find(quote, 1) == len(text) - 1


def _formatted(text: str, values: Iterator[ast.expr], convert: Convert) -> Node | None:
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return None
    body, place = whole[3], 0
    parts: list[Any] = []
    while place < len(body):
        found = _PART.match(body, place)
        if found is None:
            return None
        place = found.end()
        if found[1]:
            parts.append(_text(found[1]))
            continue
        value = next(values, None)
        if value is None or found[2].count("(") != found[2].count(")"):
            return None  # the colon of a walrus or a lambda does not end the expression
        spec = [_text(found[4])] if found[4] else [] if found[4] is not None else None
        parts.append(_expression(convert(value, found[2]), found[3], spec, None))
    return _string(whole[1] + whole[2], parts, whole[2])
