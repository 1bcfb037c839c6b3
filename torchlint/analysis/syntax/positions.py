"""Positions of nodes in the text.

LibCST does not store positions, and its own metadata provider costs several times the parse. Here the tree is written
out once, only in files with something to report, while token counts are recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from itertools import accumulate
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.analysis.syntax.walk import descendants
from torchlint.model import Span
from torchlint.project.followed import Range
from torchlint.text.lines import Places


class _Mark:
    """Records the token range of one node while it is written out."""

    __slots__ = ("end_node", "node", "start", "start_node", "state")

    def __init__(
        self,
        state: _Recorder,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self.state, self.node, self.start_node, self.end_node = state, node, start_node, end_node
        self.start = 0

    def __enter__(self) -> None:
        self.start = len(self.state.tokens)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ranges = self.state.ranges
        start, end = self.start, len(self.state.tokens)
        if self.start_node is not None and self.start_node in ranges:
            start = ranges[self.start_node][0]
        if self.end_node is not None and self.end_node in ranges:
            end = ranges[self.end_node][1]
        ranges[self.node] = (start, end)


class _Recorder(CodegenState):
    """Collects the tokens of the module, and the token range of every node."""

    ranges: dict[cst.CSTNode, tuple[int, int]]
    opened: dict[cst.CSTNode, int]
    closed: dict[cst.CSTNode, int]

    def before_codegen(self, node: cst.CSTNode) -> None:
        if node.__class__ is cst.LeftParen:
            self.opened[node] = len(self.tokens)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if node.__class__ is cst.RightParen:
            self.closed[node] = len(self.tokens)

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Mark:
        return _Mark(self, node, start_node, end_node)


class Layout(ABC):
    """Positions of the nodes of one text: character offsets, spans and source text."""

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self._places = Places(whole)

    def span(self, node: cst.CSTNode) -> Span:
        """The span of a node, without surrounding whitespace and parentheses."""
        return self.between(*self.extent(node))

    def lines_of(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The first and last line of a statement; of a compound statement, those before its body."""
        span = self.span(statement)
        body = getattr(statement, "body", None)
        if not isinstance(body, cst.BaseSuite) or not body.body:
            return span.line, span.end_line
        first = self.span(body.body[0]).line
        return span.line, max(span.line, first - 1) if isinstance(body, cst.IndentedBlock) else first

    def between(self, start: int, end: int) -> Span:
        """The span of a range of character offsets."""
        return self._places.span(start, end)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of the node."""
        start, end = self.extent(node)
        return self.whole[start:end]

    def range(self, node: cst.CSTNode) -> Range:
        """The range of a node as :mod:`ast` gives it."""
        span = self.span(node)
        start, end = self._column(span.line, span.column), self._column(span.end_line, span.end_column)
        return span.line, start, span.end_line, end

    def expressions(self, tree: cst.Module, places: Collection[Range]) -> dict[Range, cst.BaseExpression]:
        """The outermost expressions with these ranges."""
        found: dict[Range, cst.BaseExpression] = {}
        for node in descendants(tree):
            if isinstance(node, cst.BaseExpression) and (place := self.range(node)) in places:
                found.setdefault(place, node)
        return found

    def _column(self, line: int, column: int) -> int:
        """The column, from 0 and in UTF-8 bytes, of one that counts characters from 1."""
        start, _ = self._places.of_lines(line, line)
        return len(self.whole[start : start + column - 1].encode())

    @abstractmethod
    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression including the parentheses around it."""

    @abstractmethod
    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of a node; ``Arg`` and ``Index`` nodes, which have no position, span their children."""

    @abstractmethod
    def is_parenthesized(self, node: cst.CSTNode) -> bool:
        """Whether the expression is parenthesized."""


class Positions(Layout):
    """The spans of all nodes of a tree that LibCST has parsed."""

    def __init__(self, tree: cst.Module) -> None:
        recorder = _Recorder(tree.default_indent, tree.default_newline)
        recorder.ranges, recorder.opened, recorder.closed = {}, {}, {}
        tree._codegen(recorder)
        self._ranges, self._opened, self._closed = recorder.ranges, recorder.opened, recorder.closed
        self._offsets = [0, *accumulate(map(len, recorder.tokens))]
        super().__init__("".join(recorder.tokens))

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression including the parentheses around it."""
        start, end = self.extent(node)
        left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
        if left:
            start = self._offsets[self._opened[left[0]]]
        if right:
            end = self._offsets[self._closed[right[-1]]]
        return start, end

    def is_parenthesized(self, node: cst.CSTNode) -> bool:
        """Whether the expression is parenthesized."""
        return bool(getattr(node, "lpar", ()))

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of a node; ``Arg`` and ``Index`` nodes, which have no position, span their children."""
        found = self._ranges.get(node)
        if found is None:
            below = [self._ranges[child] for child in descendants(node) if child in self._ranges]
            if not below:
                return (0, 0)
            found = (min(start for start, _ in below), max(end for _, end in below))
        return self._offsets[found[0]], self._offsets[found[1]]
