"""The source text of one file, indexed for prefilters. Each need is evaluated at most once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.prefilter.identifier_set import IdentifierSet
from torchlint.prefilter.needs import (
    All,
    Any,
    IdentifierParts,
    Identifiers,
    Imported,
    OfLibrary,
    compiled,
)

if TYPE_CHECKING:
    from torchlint.prefilter.needs import Need


class TextIndex:
    """The bytes of one file and the needs that have been evaluated on them."""

    def __init__(self, data: bytes, text: str | None = None) -> None:
        self._data = data
        self._known: dict[Need, bool] = {}
        if text is not None:
            self.text = text

    @classmethod
    def of_text(cls, text: str) -> TextIndex:
        """An index of decoded text."""
        return cls(text.encode("utf-8", "surrogatepass"), text)

    @cached_property
    def identifier_set(self) -> IdentifierSet:
        """The identifiers in the file."""
        return IdentifierSet(self._data)

    @cached_property
    def text(self) -> str | None:
        """The text, if the bytes are UTF-8."""
        try:
            return self._data.decode()
        except UnicodeDecodeError:
            return None

    def assume(self, need: Need) -> None:
        """Take a need as satisfied: other files of the project tell so."""
        self._known[need] = True

    def all(self, needs: Iterable[Need]) -> bool:
        """Whether the file satisfies every need."""
        return all(map(self.has, needs))

    def has(self, need: Need) -> bool:
        """Whether the file satisfies a need."""
        found = self._known.get(need)
        if found is None:
            found = self._known[need] = self._search(need)
        return found

    def _search(self, need: Need) -> bool:
        if isinstance(need, Identifiers):
            return self.identifier_set.any(need.names)
        if isinstance(need, OfLibrary):
            return self.identifier_set.any_of_library(need.names)
        if isinstance(need, Imported):
            return self.identifier_set.any_imported(need.names)
        if isinstance(need, IdentifierParts):
            return any(map(self.identifier_set.any_containing, need.parts))
        if isinstance(need, Any):
            return any(map(self.has, need.needs))
        if isinstance(need, All):
            return all(map(self.has, need.needs))
        return (need.guard is None or self.has(need.guard)) and compiled(need.source).search(self._data) is not None
