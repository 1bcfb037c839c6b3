"""Words of source text: which functions hold them, and what else is called so, told without parsing.

Everything here errs on one side: a function that holds what is asked for is always found, and perhaps some others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

_NAMES = 3  # names of names of names


_NAMED_BEFORE = re.compile(r"(?:=|\bVariable\()[ \t\r\n\\(]*[\w.]{0,80}\Z")
_PARENTHESIS = re.compile(r"[()]")
_AFTER = re.compile(r"(?:[ \t\r\n\\)]|#[^\r\n]*)*\.")
_FAR = 400


@dataclass(frozen=True)
class Calls:
    """Calls of functions by the last part of their names, without certain keywords among the arguments.

    ``used``: only those whose result is given a name, or has a method called on it at once.
    """

    names: tuple[str, ...]
    without: tuple[str, ...]
    used: bool = False

    def search(self, text: str, start: int, end: int) -> bool:
        """Some such call, or another name for one, may stand between the offsets."""
        if not self.used:
            return self.pattern.search(text, start, end) is not None
        return any(_is_used(text, found) for found in self.pattern.finditer(text, start, end))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds calls by attribute, functions that are only named, and imports, which may give names."""
        names, without = "|".join(self.names), "|".join(self.without)
        arguments = r"[^()]*(?:\([^()]*\)[^()]*)*"
        return re.compile(rf"\.(?:{names})(?!\w)(?!\s*\({arguments}\b(?:{without})\s*=)|\bimport\b")


def _is_used(text: str, found: re.Match[str]) -> bool:
    """A method is called on the result of a call, or it gets a name; also true where that cannot be told."""
    if found.group() == "import":
        return True
    if _NAMED_BEFORE.search(text, max(0, found.start() - _FAR), found.start()):
        return True
    depth = 0
    for mark in _PARENTHESIS.finditer(text, found.end(), found.end() + _FAR):
        depth += 1 if mark.group() == "(" else -1
        if depth <= 0:
            return depth < 0 or _AFTER.match(text, mark.end()) is not None
    return True


Word = str | re.Pattern[str] | Calls
Words = Sequence[Word]


def holds(text: str, start: int, end: int, word: Word) -> bool:
    """A word stands between two offsets; one that ends with ``(`` is a name that is called, or given another name."""
    if not isinstance(word, str):
        return bool(word.search(text, start, end))
    if text.find(word, start, end) >= 0:
        return True
    if not word.endswith("(") or text.find(word[:-1], start, end) < 0:
        return False
    return called_otherwise(word[:-1]).search(text, start, end) is not None


@cache
def called_otherwise(name: str) -> re.Pattern[str]:
    """A function called with a space before the parenthesis, or given another name."""
    plain = re.escape(name)
    return re.compile(rf"{plain}[\s\\]+\(|(?:=[ \t\\\n(]*|\bimport\b[\w\s.,(]{{0,400}}?)[\w.]*{plain}(?![\w(])")


# -- other names ---------------------------------------------------------------------------------

# Patterns that begin with a plain text are found fastest; none of these needs to be exact.
_IMPORTED_AS = re.compile(r"[ \t]as[ \t]+(\w+)")
_IMPORTED_FROM = re.compile(r"from[ \t]+([\w.]+)[ \t]+import\b[ \t]*(\([^()]*\)|[^\n(]*)")
_ASSIGNED = re.compile(
    r"\n(?: {1,4}|\t)?(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*([\w.]+)[ \t]*(?:if\b[^\n]*\belse[ \t]+([\w.]+)[ \t]*)?"
    r"(?:#[^\n]*)?\r?(?=\n|\Z)"
)
_DERIVED = re.compile(r"class[ \t]+(\w+)[ \t]*\(([^()]*)\)")


class Names:
    """What names of one text may stand for: imports, plain assignments and classes with bases give them."""

    def __init__(self, text: str) -> None:
        self._pairs = sorted(set(_pairs(text)))
        self._meanings = "\n".join(meant for _, meant in self._pairs)

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
        yield found[1], text[max(0, found.start() - 100) : found.start()].replace("\n", " ").rpartition(" ")[2]
    for found in _IMPORTED_FROM.finditer(text):
        for part in found[2].strip("()").split(","):
            name, _, other = part.partition("#")[0].strip().partition(" as ")
            if name.isidentifier():
                yield other.strip() or name, f"{found[1]}.{name}"
    for found in _ASSIGNED.finditer(text):
        yield found[1], found[2]
        if found[3]:
            yield found[1], found[3]
    for found in _DERIVED.finditer(text):
        yield found[1], found[2]
