"""Reads the part of YAML that option files use: mappings, lists and plain values, as data.

Anything else (tags, aliases, merge keys, interpolations) is :data:`NOT_READ`, and so is a file with another structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NOT_READ: Any = object()
_KEY = re.compile(r"""("[^"\\]*"|'[^']*'|[^\s#&*!|>%@`'"\[\]{},-][^#:]*|-?[\w.]+)\s*:(?:\s+|$)""")
_COMMENT = re.compile(r"""((?:[^"'#]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'|["']|(?<=\S)#)*?)\s*(?:(?:^|(?<=\s))#.*)?$""")
_FLOW = re.compile(r"""("[^"]*"|'[^']*'|[\[\]{},:]|[^\[\]{},:\s'"](?:[^\[\]{},:]|:(?=\S))*)""")
_INT, _OTHER_BASE = re.compile(r"[-+]?(?:0|[1-9][\d_]*)"), re.compile(r"[-+]?0[xob\d_][\da-fA-F_:]*")
_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", ""), None),
}
_DEEP = 40  # nested collections


class Unreadable(ValueError):
    """The structure of a text is not one that is read."""


def loads(text: str) -> Any:
    """The content of a document. Raises :class:`Unreadable`."""
    lines = [line for line in _Lines(text) if line[1] != "---"]
    reader = _Reader(lines)
    found = reader.block(-1, 0) if lines else None
    if reader.place < len(lines):
        raise Unreadable
    return found


class _Lines:
    """The lines of a text with their indentations, without comments, empty lines and the text of block scalars."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        skipped: int | None = None
        for line in self._lines:
            content = line.lstrip(" ")
            indent = len(line) - len(content)
            if skipped is not None and (not content.strip() or indent > skipped):
                continue
            skipped = None
            code = _COMMENT.match(content.rstrip())
            found = code.group(1) if code is not None else content
            if found.startswith(("\t", "%", "...")):
                raise Unreadable
            if found:
                skipped = indent if re.search(r"(?:^|[:\-] )[|>][-+\d]*$", found) else None
                yield indent, found


class _Reader:
    """Reads lines one after another."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self._lines, self.place = lines, 0

    def block(self, outer: int, depth: int) -> Any:
        """What is indented more than ``outer``."""
        if depth > _DEEP:
            raise Unreadable
        if self.place >= len(self._lines) or self._lines[self.place][0] <= outer:
            return None
        indent, text = self._lines[self.place]
        if text == "-" or text.startswith("- "):
            return self._list(indent, depth)
        if _KEY.match(text) is not None:
            return self._mapping(indent, depth)
        self.place += 1
        return _plain(text)

    def _list(self, indent: int, depth: int) -> list[Any]:
        items = []
        while self.place < len(self._lines):
            at, text = self._lines[self.place]
            if at != indent or not (text == "-" or text.startswith("- ")):
                break
            inner = text[1:].lstrip()
            if _KEY.match(inner) is not None or inner.startswith("- "):
                self._lines[self.place] = indent + len(text) - len(inner), inner
                items.append(self.block(indent, depth + 1))
            else:
                self.place += 1
                items.append(self._value(inner, indent, depth))
        return items

    def _mapping(self, indent: int, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        while self.place < len(self._lines) and self._lines[self.place][0] == indent:
            text = self._lines[self.place][1]
            key = _KEY.match(text)
            if key is None:
                break
            self.place += 1
            name = _plain(key.group(1).strip())
            if name is NOT_READ or isinstance(name, (list, dict)):
                raise Unreadable
            found[name] = self._value(text[key.end() :], indent, depth, mapped=True)
        if self.place < len(self._lines) and self._lines[self.place][0] > indent:
            raise Unreadable
        return found

    def _value(self, text: str, indent: int, depth: int, *, mapped: bool = False) -> Any:
        """The value behind a key or a dash, on its line or indented below it."""
        anchor = re.match(r"&\S+\s*", text)
        text = text[anchor.end() :] if anchor is not None else text
        if not text:
            listed = mapped and self.place < len(self._lines) and self._lines[self.place][1][:2] in ("-", "- ")
            return self.block(indent - listed, depth + 1)
        while text[0] in "[{" and text.count(text[0]) > text.count("]" if text[0] == "[" else "}"):
            if self.place >= len(self._lines):
                raise Unreadable
            text += f" {self._lines[self.place][1]}"
            self.place += 1
        found = _plain(text)
        if self.place < len(self._lines) and self._lines[self.place][0] > indent:
            if text[0] not in "!*|>":
                raise Unreadable  # a value of several lines
            self.block(indent, depth + 1)
        return found


def _plain(text: str) -> Any:
    """A value on one line."""
    if text[:1] in ("[", "{"):
        tokens = [match.group(1) for match in _FLOW.finditer(text)]
        if _FLOW.sub("", text).strip():
            raise Unreadable
        found, end = _flow(tokens, 0, 0)
        if end != len(tokens):
            raise Unreadable
        return found
    if text[:1] in ("'", '"'):
        whole = len(text) > 1 and text[-1] == text[0] and "\\" not in text
        return text[1:-1] if whole and "${" not in text else NOT_READ
    if text[:1] in ("!", "*", "&", "|", ">", "%", "@", "`") or "${" in text or "{{" in text:
        return NOT_READ
    if _OTHER_BASE.fullmatch(text):
        return NOT_READ
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.fullmatch(text):
        return int(text.replace("_", "")) if len(text) < _DEEP else NOT_READ
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


def _flow(tokens: list[str], at: int, depth: int) -> tuple[Any, int]:
    """The value at a token of ``[a, {b: c}]``, and the place behind it."""
    if at >= len(tokens) or depth > _DEEP or tokens[at] in ("]", "}", ",", ":"):
        raise Unreadable
    opened = tokens[at]
    if opened not in ("[", "{"):
        return _plain(opened.strip()), at + 1
    items: list[Any] = []
    found: dict[Any, Any] = {}
    at += 1
    while at < len(tokens) and tokens[at] != ("]" if opened == "[" else "}"):
        item, at = _flow(tokens, at, depth + 1)
        if opened == "{":
            value = None
            if at < len(tokens) and tokens[at] == ":":
                value, at = _flow(tokens, at + 1, depth + 1)
            if item is NOT_READ or isinstance(item, (list, dict)):
                raise Unreadable
            found[item] = value
        items.append(item)
        at += at < len(tokens) and tokens[at] == ","
    if at >= len(tokens):
        raise Unreadable
    return (items if opened == "[" else found), at + 1
