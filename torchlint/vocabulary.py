"""The words of a text, gathered once, so that whoever asks for one that it lacks need not search the text.

Most of what a file is screened for stands nowhere in it, and a fruitless search reads the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache, cached_property

_WORD = rb"[0-9A-Za-z_\x80-\xff]+"
_SPACED = bytes(code if re.fullmatch(_WORD, bytes([code])) else 32 for code in range(256))


class Vocabulary:
    """The maximal runs of letters, digits, underscores and bytes beyond ASCII in a text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._words = frozenset(data.translate(_SPACED).split())
        self.joined = b" ".join((b"", *self._words))

    @cached_property
    def functions(self) -> bytes:
        """The names of functions that are defined, with blanks between them."""
        return b" ".join(_defined().findall(self._data))

    def has_one(self, words: frozenset[bytes]) -> bool:
        """One of the words stands by itself."""
        return not self._words.isdisjoint(words)

    def shared(self, words: frozenset[bytes]) -> Set[bytes]:
        """Those of the words that stand by themselves."""
        return self._words & words

    def may_hold(self, text: bytes) -> bool:
        """False if the text certainly does not stand there. A text of letters alone that may, does."""
        whole, parts = _runs(text)
        for run in parts:
            if run not in self.joined:
                return False
        return self._words.issuperset(whole)


@cache
def _defined() -> re.Pattern[bytes]:
    return re.compile(rb"def[\s\\]+(" + _WORD + rb")")


@cache
def is_word(text: bytes) -> bool:
    """The text is part of one word, so that :meth:`Vocabulary.may_hold` knows for certain."""
    return re.fullmatch(_WORD, text) is not None


@cache
def _runs(text: bytes) -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """The runs that stand in a text from end to end, and those that may go on beyond it."""
    runs = list(re.finditer(_WORD, text))
    whole = frozenset(run[0] for run in runs if run.start() > 0 and run.end() < len(text))
    return whole, tuple(run[0] for run in runs if run[0] not in whole)
