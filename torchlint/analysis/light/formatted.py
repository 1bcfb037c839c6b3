"""Plain f-strings as nodes of LibCST: names, attributes and calls between braces, and nothing odd.

LibCST's parser takes longer over a single f-string than everything else here over a whole function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import libcst as cst

from torchlint.analysis.light.make import Node, maker

_string = maker(cst.FormattedString, "start", "parts", "end")
_text = maker(cst.FormattedStringText, "value")
_expression = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec", "equal")
_WHOLE = re.compile(r"([fF])(\"(?!\")|')([^\"'\\\n]*)\2")
_PART = re.compile(r"((?:[^{}]|\{\{|\}\})+)|\{([^{}\[\]!:=#]+)(?:!([rsa]))?(?::([^{}]*))?\}")

Parse = Callable[[ast.expr, str], Node]


def formatted(text: str, convert: Parse) -> Node | None:
    """The node of an f-string of one part without quotes, escapes and nested braces; None for any other.

    ``convert`` makes the node of an expression from its tree and the text it was parsed from.
    """
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
        try:
            tree = ast.parse(f"({found[2]})", mode="eval").body
        except SyntaxError:
            return None
        spec = [_text(found[4])] if found[4] else [] if found[4] is not None else None
        parts.append(_expression(convert(tree, f"({found[2]})"), found[3], spec, None))
    return _string(whole[1] + whole[2], parts, whole[2])
