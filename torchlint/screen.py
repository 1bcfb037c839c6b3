"""Screening: which rules could fire on these bytes at all, decided without parsing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.vocabulary import Vocabulary, is_word

if TYPE_CHECKING:
    from torchlint.knowledge.screening import Trigger
    from torchlint.rule import Rule


class Screen:
    """What stands in the bytes of one file; everything is searched for at most once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[Trigger, bool] = {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the bytes."""
        return Vocabulary(self._data)

    def survivors(self, rules: Iterable[type[Rule]]) -> tuple[type[Rule], ...]:
        """The rules of which every trigger group has an alternative in the bytes."""
        return tuple(rule for rule in rules if all(map(self.any, rule.triggers)))

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
