"""What a file must hold, told from its bytes, for a rule or an analysis to have anything to do there.

A need never decides what is found: it may hold of a file in which nothing is found, and must hold of every other.
Two equal needs are looked for once in a file; ``kind`` keeps needs of different classes apart, which are tuples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class Identifiers(NamedTuple):
    """One of these stands in the file as an identifier, or as a word of a comment or a string."""

    names: frozenset[bytes]
    kind: str = "identifiers"


class OfLibrary(NamedTuple):
    """One of these is an attribute of something, as in ``torch.zeros``, or is imported."""

    names: frozenset[bytes]
    kind: str = "oflibrary"


class Imported(NamedTuple):
    """One of these stands in an import."""

    names: frozenset[bytes]
    kind: str = "imported"


class Parts(NamedTuple):
    """One of these, in small letters, is part of an identifier; a blank at either end stands for the end of it."""

    parts: tuple[bytes, ...]
    kind: str = "parts"


class Spelled(NamedTuple):
    """A regular expression matches an identifier; a blank stands before and after each of them."""

    source: bytes
    kind: str = "spelled"


class Text(NamedTuple):
    """A regular expression matches somewhere in a file that also fulfils ``guard``, which costs less to find out.

    The last resort: identifiers are found at once, a pattern reads the file. ``guard`` None searches always.
    """

    source: bytes
    guard: Need | None
    kind: str = "text"


class Any(NamedTuple):
    """One of several needs."""

    needs: tuple[Need, ...]
    kind: str = "any"


class All(NamedTuple):
    """All of several needs."""

    needs: tuple[Need, ...]
    kind: str = "all"


Need = Identifiers | OfLibrary | Imported | Parts | Spelled | Text | Any | All


@cache
def compiled(source: bytes) -> re.Pattern[bytes]:
    """A regular expression, compiled when it is first used."""
    return re.compile(source)


def _encoded(names: Iterable[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def identifiers(*names: str) -> Identifiers:
    """One of these identifiers; each argument may hold several, with blanks between them."""
    return Identifiers(_encoded(name for several in names for name in several.split()))


def of_library(names: Iterable[str]) -> OfLibrary:
    """One of these functions or classes of a library, by the last parts of their dotted names."""
    return OfLibrary(_encoded(name.rpartition(".")[2] for name in names))


def imported(names: Iterable[str]) -> Imported:
    """One of these names in an import."""
    return Imported(_encoded(names))


def parts(*found: str) -> Parts:
    """One of these parts of identifiers, whatever their case."""
    return Parts(tuple(part.lower().encode() for part in found))


def spelled(source: str) -> Spelled:
    """An identifier that a pattern matches."""
    return Spelled(source.encode())


def text(source: str, guard: Need | None = None) -> Text:
    """A pattern, which needs ``guard``."""
    return Text(source.encode(), guard)


def any_of(*needs: Need) -> Any:
    """One of these needs."""
    return Any(needs)


def all_of(*needs: Need) -> All:
    """All of these needs."""
    return All(needs)
