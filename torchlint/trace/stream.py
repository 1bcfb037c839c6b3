"""Reads the events of a trace in Chrome's format one by one, in memory that does not grow with the file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from torchlint.trace.problem import Unreadable

_CHUNK = 1 << 20  # characters that are read at once
_LARGEST = 1 << 26  # characters of a single value; an event has a few hundred
_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n,]*")
EVENTS = "traceEvents"


def events(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The events of a trace: the objects in ``traceEvents``, or in an array that is the whole document.

    ``stream`` is at the beginning of the text. Raises :class:`Unreadable` if it is not JSON, or ends too early.
    """
    text = _Text(io.TextIOWrapper(stream, "utf-8-sig", errors="replace"))
    first = text.next(_SPACE)
    if first == "[":
        yield from text.array()
        return
    if first != "{":
        raise Unreadable("is not a trace: it does not begin with { or [")
    text.skip()
    found = False
    while (character := text.next(_COMMA)) != "}":
        key = text.value() if character == '"' else None
        if not isinstance(key, str) or text.next(_SPACE) != ":":
            raise text.damaged()
        text.skip()
        if key == EVENTS and text.next(_SPACE) == "[":
            found = True
            yield from text.array()
        else:
            text.next(_SPACE)
            text.value()
    if not found:
        raise Unreadable(f"is JSON without {EVENTS}: it is not a trace")


class _Text:
    """A window of a text that moves forward."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._decode = json.JSONDecoder(strict=False).raw_decode
        self._window, self._at, self._before = "", 0, 0

    def next(self, space: re.Pattern[str]) -> str:
        """The next character that is not space. Raises :class:`Unreadable` at the end."""
        while True:
            found = space.match(self._window, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._window):
                return self._window[self._at]
            if not self._more(_CHUNK):
                raise self.damaged("ends too early")

    def skip(self) -> None:
        """Go past one character."""
        self._at += 1

    def value(self) -> Any:
        """The JSON value that begins here."""
        size = _CHUNK
        while True:
            try:
                found, end = self._decode(self._window, self._at)
            except (ValueError, RecursionError):
                end = -1
            # A number that ends with the window may go on behind it.
            if 0 <= end < len(self._window) or (end > 0 and self._window[end - 1] in '}]"'):
                self._at = end
                return found
            if len(self._window) - self._at > _LARGEST:
                raise self.damaged()
            if not self._more(size):
                raise self.damaged("ends too early" if end < 0 else "is damaged")
            size *= 2

    def array(self) -> Iterator[dict[str, Any]]:
        """The objects in the array that begins here."""
        self.skip()
        while self.next(_COMMA) != "]":
            value = self.value()
            if isinstance(value, dict):
                yield value
        self.skip()

    def damaged(self, what: str = "is damaged") -> Unreadable:
        """The error that says where the text cannot be read on."""
        where = self._before + self._at
        return Unreadable(f"{what}: the JSON is incomplete or wrong after character {where:,}; copy or record it again")

    def _more(self, size: int) -> bool:
        """Read on, and forget what has been read."""
        more = self._stream.read(size)
        self._before += self._at
        self._window, self._at = self._window[self._at :] + more, 0
        return bool(more)
