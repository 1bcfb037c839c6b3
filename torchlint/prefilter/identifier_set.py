"""The set of identifiers in a text, collected once, so that looking up an identifier costs almost nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cached_property

_WORD = rb"[0-9A-Za-z_\x80-\xff]+"
_SPACED = bytes(code if re.fullmatch(_WORD, bytes([code])) else 32 for code in range(256))
_LIST = re.compile(rb"import\b((?:[^\r\n(\\;#]|\\\r?\n)*(?:\([^)]*)?)")


class IdentifierSet:
    """The identifiers of a text, including the words in comments and strings; non-ASCII bytes count as letters."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.words = frozenset(data.translate(_SPACED).split())

    @cached_property
    def joined(self) -> bytes:
        """All identifiers, each once, separated by spaces."""
        return b" ".join((b"", *self.words, b""))

    @cached_property
    def _lowered(self) -> bytes:
        return self.joined.lower()

    def any(self, names: Set[bytes]) -> bool:
        """Whether one of the names occurs in the text."""
        return not self.words.isdisjoint(names)

    def any_containing(self, part: bytes) -> bool:
        """Whether some identifier contains a lowercase part; a space in the part matches the start or end of a name."""
        return part in self._lowered

    def any_of_library(self, names: Set[bytes]) -> bool:
        """Whether one of the names is used as an attribute, as in ``torch.zeros``, or is imported."""
        return any(self._is_attribute(name) for name in self.words & names) or self.any_imported(names)

    def any_imported(self, names: Set[bytes]) -> bool:
        """Whether one of the names occurs in an import statement."""
        return b"import" in self.words and not self.words.isdisjoint(names) and not self._imported.isdisjoint(names)

    def _is_attribute(self, name: bytes) -> bool:
        if b"." + name in self._data:
            return True
        return re.search(rb"\.(?:\s|\\|#[^\n]*\n)+" + name, self._data) is not None

    @cached_property
    def _imported(self) -> frozenset[bytes]:
        return frozenset(self._listed())

    def _listed(self) -> Iterator[bytes]:
        for found in _LIST.finditer(self._data):
            start = max(self._data.rfind(b"\n", 0, found.start()), self._data.rfind(b"\r", 0, found.start()))
            yield from self._data[start + 1 : found.end()].translate(_SPACED).split()
