"""Where the nodes of a light tree stand: LibCST parses the statements that somebody asks about, and no others.

A piece is a line of small statements or the header of a compound one, wherever it stands, one parameter of a long
header, or a statement of the module or of a class body, such as the function around an ``elif``. Its nodes and those
that LibCST's parser makes of its text correspond one to one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.light.exact import exact
from torchlint.analysis.syntax.light.expressions import Unsupported
from torchlint.analysis.syntax.light.statements import Header, Lines
from torchlint.analysis.syntax.positions import Layout, Positions
from torchlint.analysis.syntax.walk import children, descendants

if TYPE_CHECKING:
    from torchlint.analysis.syntax.tree import Index


class _Piece:
    """One statement or a part of it, its exact tree, and the nodes of it by those of the light tree."""

    def __init__(self, lines: str, start: int, nodes: Iterable[cst.CSTNode], parts: _Parts) -> None:
        found = exact(lines)
        self.positions = Positions(found.tree)
        if self.positions.whole != found.text:
            raise Unsupported("places in the tree would not be places in the text")
        self._shift = start - found.shift
        ours, theirs = list(nodes), list(parts(found.statement))
        if len(ours) != len(theirs):
            raise Unsupported("the lines hold a part of it")
        self._exact = dict(zip(ours, theirs, strict=True))

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


def _ordered(parameters: cst.Parameters) -> list[cst.Param]:
    """Parameters as they stand in the text."""
    star, rest = parameters.star_arg, parameters.star_kwarg
    every = (*parameters.posonly_params, *parameters.params, star, *parameters.kwonly_params, rest)
    return [one for one in every if isinstance(one, cst.Param)]


def _of_parameter(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of the one parameter that a function has."""
    every = _ordered(statement.params) if isinstance(statement, cst.FunctionDef) else []
    if len(every) != 1:
        raise Unsupported("not one parameter")
    return descendants(every[0])


class Pieces(Layout):
    """Spans of the nodes of one light tree; the same questions as :class:`Positions` answers."""

    def __init__(self, text: str, index: Index, lines: Lines) -> None:
        super().__init__(text)
        self._index = index
        self._lines = lines
        self._pieces: dict[cst.CSTNode, _Piece] = {}
        self._headers: dict[cst.CSTNode, _Piece] = {}
        self._parameters: dict[cst.Param, _Piece | None] = {}

    def lines_of(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The lines of a statement, of a compound one only those of its header."""
        header = self._lines.headers.get(statement)
        return (header.keyword, header.body - 1) if header is not None else super().lines_of(statement)

    def _piece(self, node: cst.CSTNode) -> _Piece:
        if node in self._lines.whole:
            return self._whole(node)
        below, current = node, self._index.parents.get(node)
        parameter = None
        while current is not None:
            parameter = below if isinstance(below, cst.Param) else parameter
            header = self._lines.headers.get(current)
            if header is not None and not isinstance(below, _BODIES):
                alone = self._parameter(current, header, parameter) if parameter and header.parameters else None
                return alone or self._header(current, header)
            if current in self._lines.whole:
                return self._whole(current)
            below, current = current, self._index.parents.get(current)
        raise Unsupported("the module as a whole")

    def _whole(self, statement: cst.CSTNode) -> _Piece:
        found = self._pieces.get(statement)
        if found is None:
            start, end = self._places.of_lines(*self._lines.whole[statement])
            found = self._pieces[statement] = _Piece(self.whole[start:end], start, descendants(statement), descendants)
        return found

    def _header(self, statement: cst.CSTNode, header: Header) -> _Piece:
        """The piece of a header, which gets a body of no account."""
        found = self._headers.get(statement)
        if found is None:
            start, end = self._places.of_lines(header.first, header.last)
            inside, _ = self._places.of_lines(header.body, header.body)
            indentation = _INDENTATION.match(self.whole, inside)
            body = f"{indentation[0] if indentation is not None else ' '}pass{self._newline(end)}"
            lines = self.whole[start:end] + body
            found = self._headers[statement] = _Piece(lines, start, _of_header(statement), _of_header)
        return found

    def _newline(self, end: int) -> str:
        """What ends the line that ends at an offset."""
        return "\r\n" if self.whole.endswith("\r\n", 0, end) else self.whole[end - 1]

    def _parameter(self, statement: cst.CSTNode, header: Header, node: cst.Param) -> _Piece | None:
        """The piece of one parameter, if that has lines to itself."""
        if node not in self._parameters:
            try:
                self._parameters[node] = self._alone(statement, header, node)
            except Unsupported:
                self._parameters[node] = None
        return self._parameters[node]

    def _alone(self, statement: cst.CSTNode, header: Header, node: cst.Param) -> _Piece | None:
        assert isinstance(statement, cst.FunctionDef)
        every = _ordered(statement.params)
        if node not in every:  # one of a lambda in a decorator
            return None
        number = every.index(node)
        first, *after = header.parameters[number : number + 2]
        if not after or first == after[0]:
            return None
        start, end = self._places.of_lines(first, after[0] - 1)
        newline = self._newline(end)
        head = f"def _({newline}"
        lines = f"{head}{self.whole[start:end]}): pass{newline}"
        found = _Piece(lines, start - len(head), descendants(node), _of_parameter)
        parsed = found.exact(node)
        return found if isinstance(parsed, cst.Param) and parsed.name.value == node.name.value else None

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
