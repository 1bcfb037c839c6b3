"""The tree of a text: code outside functions is made at once, function bodies are made lazily."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from torchlint.analysis.syntax import depth
from torchlint.analysis.syntax.errors import SyntaxProblem, syntax_problem
from torchlint.analysis.syntax.from_ast.make import Node
from torchlint.analysis.syntax.from_ast.source import Source
from torchlint.analysis.syntax.from_ast.statements import Statements, first_line
from torchlint.analysis.syntax.identifiers import normalize
from torchlint.analysis.syntax.tree import LazyBlock, LazyBody
from torchlint.analysis.syntax.walk import descendants
from torchlint.project.followed import Place
from torchlint.text.lines import line_starts
from torchlint.text.trees import TREES


class Made(NamedTuple):
    """A tree made from one of :mod:`ast`: its lazy bodies, and where the nodes made so far are (see `Expressions`)."""

    tree: cst.Module
    bodies: list[LazyBody]
    places: Mapping[cst.CSTNode, Place]
    source: Source


def parse(text: str, content: bytes | None = None, *, at_once: bool = False) -> Made:
    """Parse a text; ``content`` is that of the file, unless the text is in none.

    With ``at_once`` every function body is made at once, and there are no lazy bodies. Raises :class:`SyntaxProblem`,
    ``RecursionError`` and ``MemoryError``.
    """
    try:
        plain = TREES.of(content) if content is not None else ast.parse(text)
        return _made_of(plain, text, at_once=at_once)
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError) as error:
        if isinstance(error, (RecursionError, MemoryError)) and depth.problem(text) is None:
            raise
        raise syntax_problem(text, error) from None


def exact(text: str, content: bytes | None = None) -> Made:
    """Let LibCST parse a text, so that nodes hold whitespace, commas and parentheses. Raises :class:`SyntaxProblem`."""
    made = parse(text, content, at_once=True)
    too_deep = depth.problem(text)
    if too_deep is not None:
        raise SyntaxProblem(too_deep.message, too_deep.line)
    try:
        tree = depth.with_room(text, lambda: cst.parse_module(text))
        normalize(tree, text)
        pairs = zip(descendants(made.tree), descendants(tree), strict=True)
        places = {theirs: made.places[ours] for ours, theirs in pairs if ours in made.places}
    except Exception as error:  # LibCST's parser raises many kinds of exceptions
        raise SyntaxProblem(f"LibCST refuses this code: {error}") from error
    return Made(tree, [], places, made.source)


def _made_of(plain: ast.Module, text: str, *, at_once: bool) -> Made:
    starts = line_starts(text)
    bodies: list[LazyBody] = []

    def defer(maker: Statements, statements: Sequence[ast.stmt]) -> LazyBlock:
        last = statements[-1].end_lineno or 0
        start = starts[_start_line(statements) - 1]
        end = starts[last] if last < len(starts) else len(text)
        lazy_body = LazyBody(lambda: _statements(maker, statements, text), text, start, end)
        bodies.append(lazy_body)
        return lazy_body.block

    maker = Statements(Source(text), None if at_once else defer)
    tree = maker.module(plain)
    return Made(tree, bodies, maker.places, maker.source)


def _start_line(statements: Sequence[ast.stmt]) -> int:
    """The first line of a body that contains code, after the docstring."""
    first = statements[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(statements) > 1:
        return max(first_line(statements[1]), first.lineno)
    return first_line(first)


def _statements(maker: Statements, statements: Sequence[ast.stmt], text: str) -> list[Node]:
    try:
        return maker.body(statements)
    except (KeyError, SyntaxError, ValueError) as error:
        raise syntax_problem(text, error) from error
