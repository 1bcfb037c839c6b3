"""Positions of the protocol: lines count from 0, and columns in the code units of a negotiated encoding.

torchlint counts both from 1, and columns in characters.
"""

from __future__ import annotations

from lsprotocol import types

from torchlint.model import Span
from torchlint.text.lines import line_starts

_MARK = "\ufeff"  # a byte order mark, which some clients send, and torchlint does not count


class Lines:
    """The lines of a text, which convert positions in both directions; what is outside becomes the nearest end."""

    def __init__(self, text: str, encoding: str) -> None:
        self._text, self._encoding = text, encoding
        self._starts = line_starts(text)

    def position(self, line: int, column: int) -> types.Position:
        """The position of a line and column of torchlint."""
        number = min(max(line, 1), len(self._starts)) - 1
        content = self._line(number)
        if line > len(self._starts):
            column = len(content) + 1
        if number == 0 and content.startswith(_MARK):
            column += 1
        return types.Position(number, self._units(content[: max(column - 1, 0)]))

    def end(self, line: int) -> types.Position:
        """The end of a line of torchlint."""
        number = min(max(line, 1), len(self._starts)) - 1
        return types.Position(number, self._units(self._line(number)))

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def offset(self, position: types.Position) -> int:
        """The number of characters before a position."""
        if position.line >= len(self._starts):
            return len(self._text)
        content = self._line(position.line)
        return self._starts[position.line] + self._characters(content, position.character)

    def position_at(self, offset: int) -> types.Position:
        """The position after so many characters."""
        from bisect import bisect_right

        number = bisect_right(self._starts, offset) - 1
        return types.Position(number, self._units(self._text[self._starts[number] : offset]))

    def _line(self, number: int) -> str:
        """A line without its newline."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self._text)
        return self._text[self._starts[number] : end].rstrip("\r\n")

    def _units(self, text: str) -> int:
        if self._encoding == types.PositionEncodingKind.Utf32 or text.isascii():
            return len(text)
        if self._encoding == types.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def _characters(self, text: str, units: int) -> int:
        """How many characters of a line lie before a column; a column inside a character is before it."""
        if self._encoding == types.PositionEncodingKind.Utf32 or text.isascii():
            return min(max(units, 0), len(text))
        passed = 0
        for count, character in enumerate(text):
            passed += self._units(character)
            if passed > units:
                return count
        return len(text)


def touch(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges have a place in common; an end counts."""
    return _place(one.start) <= _place(other.end) and _place(other.start) <= _place(one.end)


def _place(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
