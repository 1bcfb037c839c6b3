"""The light tree of a text: everything outside functions at once, each function when somebody looks."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from torchlint.analysis.syntax.light.expressions import Unsupported
from torchlint.analysis.syntax.light.make import Node
from torchlint.analysis.syntax.light.source import Source
from torchlint.analysis.syntax.light.statements import Lines, Statements, first_line
from torchlint.analysis.syntax.tree import Block, Unit
from torchlint.text.lines import line_starts


def parse(text: str, *, at_once: bool = False) -> tuple[cst.Module, list[Unit], Lines]:
    """The tree, the units in it, and the lines of its statements; see :class:`Statements`. ``at_once`` makes no units.

    Raises :class:`Unsupported` for whatever CPython's parser does not read: LibCST's own parser may, or can
    say what is wrong.
    """
    try:
        return _parse(text, at_once=at_once)
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise Unsupported("CPython does not read the file") from error


def _parse(text: str, *, at_once: bool) -> tuple[cst.Module, list[Unit], Lines]:
    plain = ast.parse(text)
    starts = line_starts(text)
    units: list[Unit] = []

    def defer(maker: Statements, statements: Sequence[ast.stmt]) -> Block:
        last = statements[-1].end_lineno or 0
        start = starts[_start_line(statements) - 1]
        end = starts[last] if last < len(starts) else len(text)
        unit = Unit(lambda: _made(maker, statements), text, start, end)
        units.append(unit)
        return unit.block

    maker = Statements(Source(text), None if at_once else defer)
    tree = maker.module(plain)
    return tree, units, maker.lines


def _start_line(statements: Sequence[ast.stmt]) -> int:
    """The first line of a body that holds code; a docstring is none."""
    first = statements[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(statements) > 1:
        return max(first_line(statements[1]), first.lineno)
    return first_line(first)


def _made(maker: Statements, statements: Sequence[ast.stmt]) -> list[Node]:
    try:
        return maker.body(statements)
    except KeyError as error:  # a kind of node that this version of torchlint does not know
        raise Unsupported(str(error)) from error
