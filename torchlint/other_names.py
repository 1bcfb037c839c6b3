"""What else is called so: names that imports, assignments and classes give, told from the text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.words import Calls, Word, Words, listed

_NAMES = 3  # names of names of names
_MANY = 500  # pairs, beyond which it takes long to ask
# Patterns that begin with a plain text are found fastest; none of these needs to be exact.
_IMPORTED_AS = re.compile(r"as[ \t]+(?=(\w+))")
_IMPORTED_FROM = re.compile(r"from[ \t]+([\w.]+)[ \t\\\r\n]+import\b")
_REST = r"\s*(?:#[^\n]*\n\s*){0,6}"
_ASSIGNED = re.compile(
    r"\n(?: {1,4}|\t)?(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*(?:"
    r"([\w.]+)[ \t]*(?:if\b[^\n]*\belse[ \t]+([\w.]+)[ \t]*)?(?:#[^\n]*)?\r?(?=[\n;]|\Z)"
    # The same in parentheses, on lines of its own.
    rf"|\({_REST}([\w.]+){_REST}(?:if\b[^\n]*\n\s*else\s+([\w.]+){_REST})?\))"
)
_DERIVED = re.compile(r"class[ \t]+(\w+)[ \t]*\(([^()]*)")


class Names:
    """What names of one text may stand for: imports, plain assignments and classes with bases give them."""

    def __init__(self, text: str) -> None:
        self._pairs = sorted(set(_pairs(text)))
        self._meanings = "\n".join(meant for _, meant in self._pairs)
        self.many = len(self._pairs) > _MANY

    def spelled(self, words: Words) -> tuple[Word, ...]:
        """The words, and the other names of what is called so."""
        known = list(words)
        called = {name for word in words if isinstance(word, Calls) for name in word.names}
        if called:
            known += sorted({f"{name}(" for name, meant in self._pairs if meant.rpartition(".")[2] in called})
        for _ in range(_NAMES):
            added = self._others([word for word in known if isinstance(word, str)])
            if not added:
                break
            known += sorted(added)
        return tuple(known)

    def _others(self, texts: list[str]) -> set[str]:
        found: set[str] = set()
        for text in texts:
            plain = text.strip("(.")
            if plain and text[0] != "." and plain in self._meanings:  # what begins with a point is a method
                end = text[-1] if text[-1] in "(." else ""
                found |= {name + end for name, meant in self._pairs if plain in meant}
        return {name for name in found if not any(text in name for text in texts)}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for found in _IMPORTED_AS.finditer(text):
        if text[found.start() - 1 : found.start()] in (" ", "\t"):
            before = text[max(0, found.start() - 101) : found.start() - 1]
            yield found[1], before.replace("\n", " ").rpartition(" ")[2]
    for found in _IMPORTED_FROM.finditer(text):
        for part in listed(text, found.end()).split(","):
            name, _, other = " ".join(part.partition("#")[0].split()).partition(" as ")
            if name.isidentifier():
                yield other or name, f"{found[1]}.{name}"
    for found in _ASSIGNED.finditer(text):
        for meant in found.groups()[1:]:
            if meant:
                yield found[1], meant
    for found in _DERIVED.finditer(text):
        yield found[1], found[2]
