"""What stands in one file, told from its bytes and its text alone; everything is searched for at most once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.knowledge.screening import Keyed, Whole
from torchlint.vocabulary import Vocabulary, is_word
from torchlint.words import Calls, holds, signs_of

if TYPE_CHECKING:
    from torchlint.knowledge.screening import Among, Trigger
    from torchlint.other_names import Names
    from torchlint.words import Word, Words

Ask = Callable[[str], tuple["Words", ...]]


class Contents:
    """The bytes of one file, and what is asked of them; who knows the text already may give it."""

    def __init__(self, data: bytes, text: str | None = None) -> None:
        self._data = data
        self._known: dict[Trigger, bool] = {}
        self._held: dict[Word, bool] = {}
        self._near: dict[Ask, tuple[Words, ...]] = {}
        if text is not None:
            self.text = text

    @classmethod
    def of_text(cls, text: str) -> Contents:
        """The contents of a text, whatever bytes it stands for."""
        return cls(text.encode("utf-8", "surrogatepass"), text)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the bytes."""
        return Vocabulary(self._data)

    @cached_property
    def text(self) -> str | None:
        """The text, if the bytes are UTF-8."""
        try:
            return self._data.decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def names(self) -> Names:
        """What names of the text may stand for."""
        from torchlint.other_names import Names

        return Names(self.text or "")

    # -- triggers --------------------------------------------------------------------------------

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
        if isinstance(trigger, Whole):
            return self.vocabulary.has_one(trigger.words)
        if isinstance(trigger, Keyed):
            return any(self.any(trigger.triggers[word]) for word in self.vocabulary.shared(trigger.words))
        if isinstance(trigger, re.Pattern):
            return trigger.search(self._data) is not None
        return (not trigger.words or self.any(trigger.words)) and trigger.search(self._among(trigger.among))

    def _among(self, among: Among) -> bytes:
        if among == "text":
            return self._data
        return self.vocabulary.joined if among == "words" else self.vocabulary.functions

    # -- words -----------------------------------------------------------------------------------

    def near(self, ask: Ask) -> tuple[Words, ...]:
        """What somebody says of the text, which is asked once."""
        found = self._near.get(ask)
        if found is None:
            found = self._near[ask] = ask(self.text or "")
        return found

    def may_hold(self, words: Words) -> bool:
        """One of the words may stand in the text, or another name of what is called so."""
        if any(map(self._holds, words)):
            return True
        # A search for calls finds most of what gives a function another name itself; classes have bases.
        called = [word for word in words if isinstance(word, str) and word.endswith("(") and self._has_sign(word)]
        if not called:
            return False
        return self.names.many or any(map(self._holds, self.names.spelled(called)[len(called) :]))

    def _holds(self, word: Word) -> bool:
        found = self._held.get(word)
        if found is None:
            text = self.text or ""
            found = self._held[word] = self._has_sign(word) and holds(text, 0, len(text), self._narrowed(word))
        return found

    def _narrowed(self, word: Word) -> Word:
        return word.standing_in(self.vocabulary) if isinstance(word, Calls) else word

    def _has_sign(self, word: Word) -> bool:
        return any(self.vocabulary.may_hold(sign.encode()) for sign in signs_of(word))
