"""Where the nodes of a light tree stand: LibCST parses the statements that somebody asks about, and no others.

A piece is a line of small statements, wherever it stands, or a statement of the module or of a class body, such as the
function around an ``if``. Its nodes and those that LibCST's parser makes of its text correspond one to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.light.exact import exact
from torchlint.analysis.light.expressions import Unsupported
from torchlint.analysis.light.statements import Lines
from torchlint.analysis.positions import Layout, Positions
from torchlint.analysis.walk import descendants

if TYPE_CHECKING:
    from torchlint.analysis.index import Index


class _Piece:
    """One statement, its exact tree, and the nodes of it by those of the light tree."""

    def __init__(self, statement: cst.CSTNode, lines: str, start: int) -> None:
        found = exact(lines)
        self.positions = Positions(found.tree)
        if self.positions.whole != found.text:
            raise Unsupported("places in the tree would not be places in the text")
        self.shift = start - found.shift
        self._exact = dict(zip(descendants(statement), descendants(found.statement), strict=True))

    def exact(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node of the exact tree."""
        return self._exact[node]


class Pieces(Layout):
    """Spans of the nodes of one light tree; the same questions as :class:`Positions` answers."""

    def __init__(self, text: str, index: Index, lines: Lines) -> None:
        super().__init__(text)
        self._index = index
        self._lines = lines
        self._pieces: dict[cst.CSTNode, _Piece] = {}

    def _piece(self, node: cst.CSTNode) -> _Piece:
        statement: cst.CSTNode | None = node
        while statement is not None and statement not in self._lines:
            statement = self._index.parents.get(statement)
        if statement is None:
            raise Unsupported("the module as a whole")
        found = self._pieces.get(statement)
        if found is None:
            start, end = self._places.of_lines(*self._lines[statement])
            found = self._pieces[statement] = _Piece(statement, self.whole[start:end], start)
        return found

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression with the parentheses around it."""
        piece = self._piece(node)
        start, end = piece.positions.outer(piece.exact(node))
        return start + piece.shift, end + piece.shift

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets; a node without a place of its own (``Arg``, ``Index``) spans its children."""
        piece = self._piece(node)
        start, end = piece.positions.extent(piece.exact(node))
        return start + piece.shift, end + piece.shift

    def is_bracketed(self, node: cst.CSTNode) -> bool:
        """Parentheses stand around the expression."""
        piece = self._piece(node)
        return piece.positions.is_bracketed(piece.exact(node))
