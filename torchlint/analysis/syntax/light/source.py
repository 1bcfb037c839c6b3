"""The text of :mod:`ast` nodes, whose columns count UTF-8 bytes."""

from __future__ import annotations

import ast
import re

_QUOTED = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")
_LINE_END = re.compile(r"\r\n|\r|\n")


class Source:
    """The lines of a text as CPython's parser counts them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n") if "\r" not in text else _LINE_END.split(text)
        self._plain = text.isascii()
        self.paged = "\f" in text  # then single lines cannot be parsed by themselves
        found = _LINE_END.search(text)
        self.newline = found.group() if found is not None else "\n"

    def segment(self, node: ast.expr) -> str:
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

    def says(self, node: ast.stmt, word: str) -> bool:
        """Whether a statement that is the first on its line begins with this keyword."""
        return self.lines[node.lineno - 1].startswith(word, node.col_offset)
