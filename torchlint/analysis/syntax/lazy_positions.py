"""Lazy positions for the nodes of a light tree: LibCST parses only the statements whose positions are needed.

A fragment is the text that is parsed at a time: a line of simple statements, the header of a compound statement, or a
whole statement of the module or of a class body (such as the function that contains an ``elif``). The nodes of the
light tree and those that LibCST creates for the fragment correspond one to one.
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
    from torchlint.analysis.syntax.tree import NodeIndex


class _Fragment:
    """The LibCST tree of a fragment, and a map from the nodes of the light tree to its nodes."""

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
        """The node of LibCST's tree for a node of the light tree."""
        return self._exact[node]

    def shifted(self, start: int, end: int) -> tuple[int, int]:
        """Convert offsets in the fragment to offsets in the file; ``(0, 0)`` means no position and stays."""
        return (start + self._shift, end + self._shift) if end else (0, 0)


_Parts = Callable[[cst.CSTNode], Iterator[cst.CSTNode]]
_INDENTATION = re.compile(r"[ \t]*")
_BODIES = (cst.BaseSuite, cst.If, cst.Else)


def _of_header(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes in the header of a compound statement."""
    for child in children(statement):
        if not isinstance(child, _BODIES):
            yield from descendants(child)


class LazyPositions(Layout):
    """Spans of the nodes of one light tree; the lazy counterpart of :class:`Positions`."""

    def __init__(self, text: str, index: NodeIndex, lines: Lines) -> None:
        super().__init__(text)
        self._index = index
        self._lines = lines
        self._fragments: dict[cst.CSTNode, _Fragment] = {}
        self._headers: dict[cst.CSTNode, _Fragment] = {}

    def lines_of(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The first and last line of a statement; of a compound statement, those of its header."""
        header = self._lines.headers.get(statement)
        return (header.keyword, header.body - 1) if header is not None else super().lines_of(statement)

    def _fragment(self, node: cst.CSTNode) -> _Fragment:
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

    def _whole(self, statement: cst.CSTNode) -> _Fragment:
        found = self._fragments.get(statement)
        if found is None:
            start, end = self._places.of_lines(*self._lines.whole[statement])
            found = self._fragments[statement] = _Fragment(
                self.whole[start:end], start, descendants(statement), descendants
            )
        return found

    def _header(self, statement: cst.CSTNode, header: Header) -> _Fragment:
        """The fragment of a header, completed with ``pass`` as its body."""
        found = self._headers.get(statement)
        if found is None:
            start, end = self._places.of_lines(header.first, header.last)
            inside, _ = self._places.of_lines(header.body, header.body)
            indentation = _INDENTATION.match(self.whole, inside)
            newline = "\r\n" if self.whole.endswith("\r\n", 0, end) else self.whole[end - 1]
            body = f"{indentation[0] if indentation is not None else ' '}pass{newline}"
            lines = self.whole[start:end] + body
            found = self._headers[statement] = _Fragment(lines, start, _of_header(statement), _of_header)
        return found

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression including the parentheses around it."""
        fragment = self._fragment(node)
        return fragment.shifted(*fragment.positions.outer(fragment.exact(node)))

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of a node; ``Arg`` and ``Index`` nodes, which have no position, span their children."""
        fragment = self._fragment(node)
        return fragment.shifted(*fragment.positions.extent(fragment.exact(node)))

    def is_parenthesized(self, node: cst.CSTNode) -> bool:
        """Whether the expression is parenthesized."""
        fragment = self._fragment(node)
        return fragment.positions.is_parenthesized(fragment.exact(node))
