"""What stands in one file, told from its bytes; every need is looked for at most once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.prefilter.needs import All, Any, Identifiers, Imported, OfLibrary, Parts, Spelled, compiled
from torchlint.prefilter.vocabulary import Vocabulary

if TYPE_CHECKING:
    from torchlint.prefilter.needs import Need


class Contents:
    """The bytes of one file, and what is known of them; the text may be given where it is known already."""

    def __init__(self, data: bytes, text: str | None = None) -> None:
        self._data = data
        self._known: dict[Need, bool] = {}
        if text is not None:
            self.text = text

    @classmethod
    def of_text(cls, text: str) -> Contents:
        """The contents of a text, whatever bytes it stands for."""
        return cls(text.encode("utf-8", "surrogatepass"), text)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The identifiers of the bytes."""
        return Vocabulary(self._data)

    @cached_property
    def text(self) -> str | None:
        """The text, if the bytes are UTF-8."""
        try:
            return self._data.decode()
        except UnicodeDecodeError:
            return None

    def all(self, needs: Iterable[Need]) -> bool:
        """The bytes fulfil every need."""
        return all(map(self.has, needs))

    def has(self, need: Need) -> bool:
        """The bytes fulfil a need."""
        found = self._known.get(need)
        if found is None:
            found = self._known[need] = self._search(need)
        return found

    def _search(self, need: Need) -> bool:
        if isinstance(need, Identifiers):
            return self.vocabulary.any(need.names)
        if isinstance(need, OfLibrary):
            return self.vocabulary.any_of_library(need.names)
        if isinstance(need, Imported):
            return self.vocabulary.any_imported(need.names)
        if isinstance(need, Parts):
            return any(map(self.vocabulary.any_with, need.parts))
        if isinstance(need, Spelled):
            return compiled(need.source).search(self.vocabulary.joined) is not None
        if isinstance(need, Any):
            return any(map(self.has, need.needs))
        if isinstance(need, All):
            return all(map(self.has, need.needs))
        return (need.guard is None or self.has(need.guard)) and compiled(need.source).search(self._data) is not None
