"""The text of :mod:`ast` nodes, whose columns count UTF-8 bytes."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from torchlint.project.followed import Place

_QUOTED = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")
_COMMENT = re.compile(r"#[^\n]*")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Part(NamedTuple):
    """A place that no node of :mod:`ast` has, such as that of one of several strings that are concatenated."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


class Source:
    """The lines of a text as CPython's parser counts them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n") if "\r" not in text else _LINE_END.split(text)
        self._plain = text.isascii()
        found = _LINE_END.search(text)
        self.newline = found.group() if found is not None else "\n"

    def segment(self, node: Place) -> str:
        """The text of an expression without parentheses around it; lines end with LF."""
        first, last = node.lineno - 1, (node.end_lineno or 1) - 1
        start, end = node.col_offset, node.end_col_offset or 0
        if first == last:
            line = self.lines[first]
            return line[start:end] if self._plain else line.encode("utf-8", "surrogatepass")[start:end].decode()
        between = self.lines[first + 1 : last]
        return "\n".join((self._from(first, start), *between, self._until(last, end)))

    def _from(self, line: int, column: int) -> str:
        text = self.lines[line]
        return text[column:] if self._plain else text.encode("utf-8", "surrogatepass")[column:].decode()

    def _until(self, line: int, column: int) -> str:
        text = self.lines[line]
        return text[:column] if self._plain else text.encode("utf-8", "surrogatepass")[:column].decode()

    def starts_line(self, node: ast.stmt) -> bool:
        """Whether a statement is the first on its line and the line is not a continuation."""
        number = node.lineno - 1
        if self.lines[number][: node.col_offset].strip():
            return False
        before = self.lines[number - 1] if number else ""
        return not before.endswith("\\") or "#" in _QUOTED.sub("", before)

    def within(self, node: Place, text: str, start: int, end: int) -> Part:
        """The place of a part of the text of a node; the offsets count characters of what :meth:`segment` gives."""
        return Part(*self._place(node, text[:start]), *self._place(node, text[:end]))

    def _place(self, node: Place, before: str) -> tuple[int, int]:
        _, _, last = before.rpartition("\n")
        width = len(last) if self._plain else len(last.encode("utf-8", "surrogatepass"))
        return node.lineno + before.count("\n"), width if before != last else node.col_offset + width

    def is_parenthesized(self, node: ast.Tuple) -> bool:
        """Whether a tuple has parentheses of its own: then more of them open before its first element."""
        if not node.elts:
            return True
        first = node.elts[0]
        rest = node.elts[1] if len(node.elts) > 1 else None
        before = self._between(node.lineno, node.col_offset, first.lineno, first.col_offset)
        end = (rest.lineno, rest.col_offset) if rest is not None else (node.end_lineno or 0, node.end_col_offset or 0)
        after = self._between(first.end_lineno or 0, first.end_col_offset or 0, *end)
        return before.count("(") > after.partition(",")[0].count(")")

    def _between(self, *place: int) -> str:
        """The text of a place, without comments."""
        return _COMMENT.sub("", self.segment(Part(*place)))

    def says(self, node: ast.stmt, word: str) -> bool:
        """Whether a statement that is the first on its line begins with this keyword."""
        return self.lines[node.lineno - 1].startswith(word, node.col_offset)
