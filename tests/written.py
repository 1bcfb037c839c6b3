"""Where LibCST says that nodes are: its tree is written out, while token counts are recorded.

Torchlint takes positions from :mod:`ast`; tests compare them with these.
"""

from __future__ import annotations

from itertools import accumulate
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.analysis.syntax.walk import descendants


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


class Written:
    """Where the nodes of a tree that LibCST has parsed are in its text."""

    def __init__(self, tree: cst.Module) -> None:
        recorder = _Recorder(tree.default_indent, tree.default_newline)
        recorder.ranges, recorder.opened, recorder.closed = {}, {}, {}
        tree._codegen(recorder)
        self._ranges, self._opened, self._closed = recorder.ranges, recorder.opened, recorder.closed
        self._offsets = [0, *accumulate(map(len, recorder.tokens))]

    def outer(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of an expression including the parentheses around it."""
        start, end = self.extent(node)
        left, right = getattr(node, "lpar", ()), getattr(node, "rpar", ())
        if left:
            start = self._offsets[self._opened[left[0]]]
        if right:
            end = self._offsets[self._closed[right[-1]]]
        return start, end

    def extent(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets of a node; ``Arg`` and ``Index`` nodes, which have no position, span their children."""
        found = self._ranges.get(node)
        if found is None:
            below = [self._ranges[child] for child in descendants(node) if child in self._ranges]
            if not below:
                return (0, 0)
            found = (min(start for start, _ in below), max(end for _, end in below))
        return self._offsets[found[0]], self._offsets[found[1]]
