"""Words of source text: which functions hold them, and what else is called so, told without parsing.

Everything here errs on one side: a function that holds what is asked for is always found, and perhaps some others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

_NAMES = 3  # names of names of names


@dataclass(frozen=True)
class Calls:
    """Calls of functions by the last part of their names, without certain keywords among the arguments."""

    names: tuple[str, ...]
    without: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds calls by attribute, functions that are only named, and imports, which may give names."""
        names, without = "|".join(self.names), "|".join(self.without)
        arguments = r"[^()]*(?:\([^()]*\)[^()]*)*"
        return re.compile(rf"\.(?:{names})(?!\w)(?!\s*\({arguments}\b(?:{without})\s*=)|\bimport\b")


Word = str | re.Pattern[str] | Calls
Words = Sequence[Word]


def holds(text: str, start: int, end: int, word: Word) -> bool:
    """A word stands between two offsets; one that ends with ``(`` is a name that is called, or given another name."""
    if not isinstance(word, str):
        pattern = word.pattern if isinstance(word, Calls) else word
        return pattern.search(text, start, end) is not None
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
            if plain and plain in self._meanings:
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


# -- functions -----------------------------------------------------------------------------------

_OUTERMOST = re.compile(r"\n(def|class|async|@)?(?![ \t\r\n\f#)\]}])")
_METHOD = re.compile(r"\n([ \t]+)(?:async[ \t]+)?def[ \t]")


class Functions:
    """The functions of one text by their lines: of the module level, and methods.

    What stands outside, or is not sure to be a function, are ``others``. Decorators count as functions.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.parts: list[tuple[int, int]] = []
        self.others: list[tuple[int, int]] = []
        starts = list(_OUTERMOST.finditer(text))
        self.others.append((0, starts[0].start() if starts else len(text)))
        for i, found in enumerate(starts):
            end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
            self._sort(found[1], found.start(), end)
        if any(text.count(quotes, *part) % 2 for part in (*self.parts, *self.others) for quotes in ('"""', "'''")):
            self.parts, self.others = [(0, len(text))], [(0, len(text))]  # a line in a text looks like code

    def _sort(self, opening: str | None, start: int, end: int) -> None:
        if opening is None:
            self.others.append((start, end))
        elif opening == "class":
            self._methods(start, end)
        else:
            self.parts.append((start, end))

    def _methods(self, start: int, end: int) -> None:
        first = _METHOD.search(self._text, start, end)
        if first is None:
            self.others.append((start, end))
            return
        starts = [m.start() for m in _METHOD.finditer(self._text, start, end) if m[1] == first[1]]
        self.others.append((start, starts[0]))
        self.parts += zip(starts, [*starts[1:], end], strict=True)

    def hold(self, groups: Sequence[Words]) -> bool:
        """Some function holds a word of each group, or something outside functions one of the first group."""
        if not groups:
            return True
        if any(holds(self._text, *part, word) for part in self.others for word in groups[0]):
            return True
        return any(self._holds_all(part, groups) for part in self.parts)

    def _holds_all(self, part: tuple[int, int], groups: Iterable[Words]) -> bool:
        return all(any(holds(self._text, *part, word) for word in words) for words in groups)
