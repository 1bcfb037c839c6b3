"""Screening: which rules could fire on these bytes at all, decided without parsing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.vocabulary import Vocabulary, is_word
from torchlint.words import holds, signs_of

if TYPE_CHECKING:
    from torchlint.knowledge.screening import Trigger
    from torchlint.other_names import Names
    from torchlint.rule import Rule
    from torchlint.words import Word, Words


class Screen:
    """What stands in the bytes of one file; everything is searched for at most once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[Trigger, bool] = {}
        self._held: dict[Word, bool] = {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the bytes."""
        return Vocabulary(self._data)

    def survivors(self, rules: Iterable[type[Rule]]) -> tuple[type[Rule], ...]:
        """The rules of which every group of triggers has one in the bytes, and every group of words one in the text.

        What is no UTF-8 is searched for triggers alone.
        """
        triggered = [rule for rule in rules if all(map(self.any, rule.triggers))]
        if not triggered or self._text is None:
            return tuple(triggered)
        text = self._text
        return tuple(rule for rule in triggered if _asks_all(rule) or all(map(self._near, rule.near_in(text))))

    def _near(self, words: Words) -> bool:
        """One of the words may stand in the text, or another name of what is called so."""
        if any(map(self._holds, words)):
            return True
        # A search for calls finds most of what gives a function another name itself; classes have bases.
        called = [word for word in words if isinstance(word, str) and word.endswith("(") and self._may_hold(word)]
        if not called:
            return False
        return self._names.many or any(map(self._holds, self._names.spelled(called)[len(called) :]))

    def _holds(self, word: Word) -> bool:
        found = self._held.get(word)
        if found is None:
            text = self._text or ""
            found = self._held[word] = self._may_hold(word) and holds(text, 0, len(text), word)
        return found

    def _may_hold(self, word: Word) -> bool:
        return any(self.vocabulary.may_hold(sign.encode()) for sign in signs_of(word))

    @cached_property
    def _text(self) -> str | None:
        try:
            return self._data.decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def _names(self) -> Names:
        from torchlint.other_names import Names

        return Names(self._text or "")

    def any(self, triggers: Sequence[Trigger]) -> bool:
        """One of them stands in the bytes."""
        known = self._known
        for trigger in triggers:
            found = known.get(trigger)
            if found is None:
                found = known[trigger] = self._search(trigger)
            if found:
                return True
        return False

    def has(self, trigger: Trigger) -> bool:
        """A byte string or a match of a pattern stands in the bytes."""
        return self.any((trigger,))

    def _search(self, trigger: Trigger) -> bool:
        if isinstance(trigger, bytes):
            return self.vocabulary.may_hold(trigger) and (is_word(trigger) or trigger in self._data)
        if isinstance(trigger, re.Pattern):
            return trigger.search(self._data) is not None
        return (not trigger.words or self.any(trigger.words)) and trigger.search(self._data)


def _asks_all(rule: type[Rule]) -> bool:
    """The rule looks at the module as a whole, whatever words stand in it."""
    return hasattr(rule, "visit_Module")
