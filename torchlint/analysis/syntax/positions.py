"""Positions of nodes in the text.

:mod:`ast` knows where expressions and statements are. It does not know the parentheses around an expression: these are
found in the text.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping
from functools import cached_property

import libcst as cst

from torchlint.analysis.syntax.from_ast.parse import Made
from torchlint.analysis.syntax.tree import LazyBlock
from torchlint.analysis.syntax.walk import children
from torchlint.model import Span
from torchlint.project.followed import Place, Range, range_of
from torchlint.text.comments import comments
from torchlint.text.lines import Places

_TRIVIA = re.compile(r"(?:[ \t\f\r\n]|\\\r?\n|#[^\r\n]*)*")
_SPACE = " \t\f\r\n\\"
_WORD = re.compile(r"\w+")
_HEAD = re.compile(r"(?:async(?:\s|\\\r?\n)+)?(?:def|class)(?:\s|\\\r?\n)+(\w+)")


class Positions:
    """Character offsets, spans and source text of the nodes of one tree; ``parents`` are those of its nodes."""

    def __init__(self, text: str, made: Made, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> None:
        self.whole = text
        self._places = Places(text)
        self._made, self._bodies, self._parents = made.places, made.bodies, parents
        self._source = made.source
        self._plain = text.isascii()

    def span(self, node: cst.CSTNode) -> Span:
        """The span of a node, without surrounding whitespace and parentheses."""
        return self.between(*self.extent(node))

    def between(self, start: int, end: int) -> Span:
        """The span of a range of character offsets."""
        return self._places.span(start, end)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of the node."""
        start, end = self.extent(node)
        return self.whole[start:end]

    # -- offsets ---------------------------------------------------------------------------------

    def _offset(self, line: int, column: int) -> int:
        start = self._places.start(line)
        if self._plain:
            return start + column
        data = self.whole[start : start + column].encode("utf-8", "surrogatepass")
        return start + len(data[:column].decode("utf-8", "surrogatepass"))

    def _placed(self, place: Place) -> tuple[int, int]:
        end = self._offset(place.end_lineno or place.lineno, place.end_col_offset or 0)
        return self._offset(place.lineno, place.col_offset), end

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of a node; one that :mod:`ast` has no place for spans what is below it."""
        place = self._made.get(node)
        if isinstance(node, cst.Name):
            return self._of_name(node, place)
        if place is None:
            below = [found for child in children(node) if (found := self.outer(child)) != (0, 0)]
            return (below[0][0], max(end for _, end in below)) if below else (0, 0)
        start, end = self._placed(place)
        closed = isinstance(place, ast.Tuple) and self._source.is_parenthesized(place)
        if closed or isinstance(place, ast.GeneratorExp):
            start = self._after_trivia(start + 1)
            end = max(start, self._before_trivia(end - 1))
        return start, end

    def range(self, node: cst.CSTNode) -> Range:
        """The range of a node as :mod:`ast` gives it."""
        place = self._made.get(node)
        if place is None or isinstance(node, cst.Name):
            span = self.span(node)
            start, end = self._column(span.line, span.column), self._column(span.end_line, span.end_column)
            return span.line, start, span.end_line, end
        return range_of(place)

    def _column(self, line: int, column: int) -> int:
        """The column, from 0 and in UTF-8 bytes, of one that counts characters from 1."""
        start = self._places.start(line)
        return len(self.whole[start : start + column - 1].encode())

    def _of_name(self, name: cst.Name, place: Place | None) -> tuple[int, int]:
        if place is not None:
            found = _WORD.match(self.whole, self._offset(place.lineno, place.col_offset))
            return found.span() if found is not None else (0, 0)
        owner = self._owner(name)
        start, end = self.extent(owner) if owner is not None else (0, len(self.whole))
        if isinstance(owner, cst.Attribute):
            return self._word_start(end), end
        if isinstance(owner, (cst.FunctionDef, cst.ClassDef)) and owner.name is name:
            found = _HEAD.match(self.whole, start, end)
            return found.span(1) if found is not None else (start, end)
        found = re.compile(rf"\b{re.escape(name.value)}\b").search(self.whole, start, end)
        return found.span() if found is not None else (start, end)

    def _owner(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The nearest node above that has a place."""
        above = self._parents.get(node)
        while above is not None and above not in self._made:
            above = self._parents.get(above)
        return above

    def expressions(self, places: Collection[Range]) -> dict[Range, cst.BaseExpression]:
        """The outermost expressions with these ranges; only the function bodies around them are made."""
        starts = [self._offset(line, column) for line, column, *_ in places]
        for body in self._bodies:
            if any(body.start <= start < body.end for start in starts):
                body.statements()
        found: dict[Range, cst.BaseExpression] = {}
        for node, place in self._made.items():
            if isinstance(place, ast.expr) and (here := range_of(place)) in places:
                found[here] = node  # type: ignore[assignment]  # the outermost one, as parts are made before it
        return found

    # -- parentheses -----------------------------------------------------------------------------

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression including the parentheses around it."""
        start, end = self.extent(node)
        if not isinstance(self._made.get(node), ast.expr):
            return start, end
        while (around := self._parenthesized(node, start, end)) is not None:
            start, end = around
        return start, end

    def is_parenthesized(self, node: cst.CSTNode) -> bool:
        """Whether the expression is parenthesized."""
        return self.outer(node) != self.extent(node)

    def _parenthesized(self, node: cst.CSTNode, start: int, end: int) -> tuple[int, int] | None:
        """The offsets of the parentheses right around a part of the text, if they belong to a node."""
        opened, closed = self._before_trivia(start) - 1, self._after_trivia(end)
        if opened < 0 or self.whole[opened] != "(" or not self.whole.startswith(")", closed):
            return None
        owner = self._owner(node)
        if isinstance(owner, cst.Call) and closed + 1 == self.extent(owner)[1]:
            return None
        before = self._before_trivia(opened)
        if isinstance(owner, cst.ClassDef) and self._word_start(before) < before:
            return None
        if isinstance(owner, cst.With) and self.whole[self._word_start(before) : before] == "with":
            return None if self.whole.startswith(":", self._after_trivia(closed + 1)) else (opened, closed + 1)
        return opened, closed + 1

    def _word_start(self, end: int) -> int:
        """Where the word begins that ends at an offset."""
        start = end
        while start and (self.whole[start - 1].isalnum() or self.whole[start - 1] == "_"):
            start -= 1
        return start

    def _after_trivia(self, offset: int) -> int:
        found = _TRIVIA.match(self.whole, offset)
        return found.end() if found is not None else offset

    def _before_trivia(self, offset: int) -> int:
        """The end of the code before an offset."""
        while True:
            while offset and self.whole[offset - 1] in _SPACE:
                offset -= 1
            place = bisect_right(self._comments, (offset, 0)) - 1
            if place < 0 or self._comments[place][1] < offset:
                return offset
            offset = self._comments[place][0]

    @cached_property
    def _comments(self) -> list[tuple[int, int]]:
        return list(comments(self.whole))

    # -- statements ------------------------------------------------------------------------------

    def lines_of(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The first and last line of a statement; of a compound statement, those before its body."""
        place = self._made.get(statement)
        body = getattr(place, "body", None)
        if place is None or not isinstance(body, list):
            span = self.span(statement)
            return span.line, span.end_line
        indented = statement.body.__class__ in (cst.IndentedBlock, LazyBlock)  # type: ignore[attr-defined]
        first = body[0].lineno
        return place.lineno, max(place.lineno, first - 1) if indented else first
