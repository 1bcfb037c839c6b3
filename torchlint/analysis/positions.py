"""Where nodes stand in the text.

LibCST keeps no positions; its own provider costs several times the parse. Here the tree is written
out once, only in files with something to report, and only token counts are noted on the way.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.analysis.walk import descendants
from torchlint.model import Span


class _Mark:
    """Notes the token range of one node while it is written out."""

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
    """Collects the tokens of the module, and which of them belong to which node."""

    ranges: dict[cst.CSTNode, tuple[int, int]]

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Mark:
        return _Mark(self, node, start_node, end_node)


class Positions:
    """Spans of all nodes of one module."""

    def __init__(self, tree: cst.Module) -> None:
        recorder = _Recorder(tree.default_indent, tree.default_newline)
        recorder.ranges = {}
        tree._codegen(recorder)
        self._ranges = recorder.ranges
        self._offsets = [0, *accumulate(map(len, recorder.tokens))]
        self._text = "".join(recorder.tokens)
        self._starts = line_starts(self._text)

    def span(self, node: cst.CSTNode) -> Span:
        """Where the node starts and ends, without surrounding whitespace and parentheses."""
        start, end = self._range(node)
        line, column = self._place(start)
        end_line, end_column = self._place(end)
        return Span(line, column, end_line, end_column)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of the node."""
        start, end = self._range(node)
        return self._text[start:end]

    def _range(self, node: cst.CSTNode) -> tuple[int, int]:
        """Character offsets; a node without a place of its own (``Arg``, ``Index``) spans its children."""
        found = self._ranges.get(node)
        if found is None:
            below = [self._ranges[child] for child in descendants(node) if child in self._ranges]
            if not below:
                return (0, 0)
            found = (min(start for start, _ in below), max(end for _, end in below))
        return self._offsets[found[0]], self._offsets[found[1]]

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin; a line ends with LF, CRLF or CR, as in Python's own tokenizer."""
    starts = [0]
    starts += [i + 1 for i, char in enumerate(text) if char == "\n" or (char == "\r" and text[i + 1 : i + 2] != "\n")]
    return starts
