"""The light tree of a text: code outside functions at once, function bodies lazily."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import NamedTuple

import libcst as cst

from torchlint.analysis.syntax.light.expressions import Unsupported
from torchlint.analysis.syntax.light.make import Node
from torchlint.analysis.syntax.light.source import Source
from torchlint.analysis.syntax.light.statements import Lines, Statements, first_line
from torchlint.analysis.syntax.tree import LazyBlock, LazyBody
from torchlint.project.followed import Range
from torchlint.text.lines import line_starts


class Light(NamedTuple):
    """A light tree: its lazy bodies, the lines of its statements (see :class:`Statements`), and the ranges of nodes.

    There are ranges of the wanted expressions alone, and of those in lazy bodies only once these have been parsed.
    """

    tree: cst.Module
    bodies: list[LazyBody]
    lines: Lines
    ranges: dict[cst.CSTNode, Range]


def parse(text: str, *, at_once: bool = False, wanted: Collection[Range] = ()) -> Light:
    """Parse a text. ``wanted`` are the ranges of expressions whose nodes are looked for.

    With ``at_once`` every function body is parsed at once, and there are no lazy bodies. Raises :class:`Unsupported` if
    CPython's parser refuses the text: LibCST's parser may accept it, or has a better error message.
    """
    try:
        return _parse(text, wanted, at_once=at_once)
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise Unsupported("CPython does not read the file") from error


def _parse(text: str, wanted: Collection[Range], *, at_once: bool) -> Light:
    plain = ast.parse(text)
    starts = line_starts(text)
    bodies: list[LazyBody] = []

    def defer(maker: Statements, statements: Sequence[ast.stmt]) -> LazyBlock:
        last = statements[-1].end_lineno or 0
        start = starts[_start_line(statements) - 1]
        end = starts[last] if last < len(starts) else len(text)
        lazy_body = LazyBody(lambda: _made(maker, statements), text, start, end)
        bodies.append(lazy_body)
        return lazy_body.block

    maker = Statements(Source(text), None if at_once else defer, wanted)
    tree = maker.module(plain)
    return Light(tree, bodies, maker.lines, maker.ranges)


def _start_line(statements: Sequence[ast.stmt]) -> int:
    """The first line of a body that contains code, after the docstring."""
    first = statements[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(statements) > 1:
        return max(first_line(statements[1]), first.lineno)
    return first_line(first)


def _made(maker: Statements, statements: Sequence[ast.stmt]) -> list[Node]:
    try:
        return maker.body(statements)
    except KeyError as error:  # a kind of node that this version of torchlint does not know
        raise Unsupported(str(error)) from error
