"""Where the nodes of a light tree stand: LibCST parses the statements that somebody asks about, and no others.

A piece is a line of small statements or the header of a compound one, wherever it stands, or a statement of the module
or of a class body, such as the function around an ``elif``. Its nodes and those that LibCST's parser makes of its text
correspond one to one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.light.exact import exact
from torchlint.analysis.light.expressions import Unsupported
from torchlint.analysis.light.statements import Header, Lines
from torchlint.analysis.positions import Layout, Positions
from torchlint.analysis.walk import children, descendants

if TYPE_CHECKING:
    from torchlint.analysis.index import Index


class _Piece:
    """One statement or header, its exact tree, and the nodes of it by those of the light tree."""

    def __init__(self, lines: str, start: int, statement: cst.CSTNode, parts: _Parts) -> None:
        found = exact(lines)
        self.positions = Positions(found.tree)
        if self.positions.whole != found.text:
            raise Unsupported("places in the tree would not be places in the text")
        self._shift = start - found.shift
        self._exact = dict(zip(parts(statement), parts(found.statement), strict=True))

    def exact(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node of the exact tree."""
        return self._exact[node]

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """The offsets in the whole text; what has no place stays without one."""
        return (start + self._shift, end + self._shift) if end else (0, 0)


_Parts = Callable[[cst.CSTNode], Iterator[cst.CSTNode]]
_INDENTATION = re.compile(r"[ \t]*")
_BODIES = (cst.BaseSuite, cst.If, cst.Else)


def _of_header(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below a compound statement that stand in its header."""
    for child in children(statement):
        if not isinstance(child, _BODIES):
            yield from descendants(child)


class Pieces(Layout):
    """Spans of the nodes of one light tree; the same questions as :class:`Positions` answers."""

    def __init__(self, text: str, index: Index, lines: Lines) -> None:
        super().__init__(text)
        self._index = index
        self._lines = lines
        self._pieces: dict[cst.CSTNode, _Piece] = {}
        self._headers: dict[cst.CSTNode, _Piece] = {}

    def lines_of(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The lines of a statement, of a compound one only those of its header."""
        header = self._lines.headers.get(statement)
        return (header.keyword, header.body - 1) if header is not None else super().lines_of(statement)

    def _piece(self, node: cst.CSTNode) -> _Piece:
        if node in self._lines.whole:
            return self._whole(node)
        below, current = node, self._index.parents.get(node)
        while current is not None:
            header = self._lines.headers.get(current)
            if header is not None and not isinstance(below, _BODIES):
                return self._header(current, header)
            if current in self._lines.whole:
                return self._whole(current)
            below, current = current, self._index.parents.get(current)
        raise Unsupported("the module as a whole")

    def _whole(self, statement: cst.CSTNode) -> _Piece:
        found = self._pieces.get(statement)
        if found is None:
            start, end = self._places.of_lines(*self._lines.whole[statement])
            found = self._pieces[statement] = _Piece(self.whole[start:end], start, statement, descendants)
        return found

    def _header(self, statement: cst.CSTNode, header: Header) -> _Piece:
        """The piece of a header, which gets a body of no account."""
        found = self._headers.get(statement)
        if found is None:
            start, end = self._places.of_lines(header.first, header.last)
            inside, _ = self._places.of_lines(header.body, header.body)
            indentation = _INDENTATION.match(self.whole, inside)
            newline = "\r\n" if self.whole.endswith("\r\n", start, end) else self.whole[end - 1]
            body = f"{indentation[0] if indentation is not None else ' '}pass{newline}"
            found = self._headers[statement] = _Piece(self.whole[start:end] + body, start, statement, _of_header)
        return found

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression with the parentheses around it."""
        piece = self._piece(node)
        return piece.moved(*piece.positions.outer(piece.exact(node)))

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets; a node without a place of its own (``Arg``, ``Index``) spans its children."""
        piece = self._piece(node)
        return piece.moved(*piece.positions.extent(piece.exact(node)))

    def is_bracketed(self, node: cst.CSTNode) -> bool:
        """Parentheses stand around the expression."""
        piece = self._piece(node)
        return piece.positions.is_bracketed(piece.exact(node))
