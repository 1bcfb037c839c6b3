"""Where a body words its errors: nothing that is read there is read while all goes well."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def failures(statements: Sequence[ast.stmt], text: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """The ranges of characters of ``raise`` statements and of the messages of ``assert`` statements, in order.

    ``starts`` are the offsets at which the lines of the text begin.
    """
    spans = []
    for node in _failing(statements):
        first = starts[node.lineno - 1]
        last = starts[(node.end_lineno or 1) - 1]
        line_end = starts[node.end_lineno or 0] if (node.end_lineno or 0) < len(starts) else len(text)
        if text[first:line_end].isascii():  # columns count bytes
            spans.append((first + node.col_offset, last + (node.end_col_offset or 0)))
    return sorted(spans)


def _failing(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt | ast.expr]:
    stack = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Raise):
            yield node
        elif isinstance(node, ast.Assert):
            if node.msg is not None:
                yield node.msg
        else:
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                stack += getattr(node, name, ())
