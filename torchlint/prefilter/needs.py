"""Needs: conditions on the bytes of a file that are necessary for a rule to find anything in it.

A prefilter may let a file through in which nothing is found; it must never reject a file in which something is. Equal
needs are evaluated once per file. Needs are tuples, and ``kind`` keeps needs of different classes from being equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class Identifiers(NamedTuple):
    """One of these names occurs in the file as an identifier, or as a word in a comment or a string."""

    names: frozenset[bytes]
    kind: str = "identifiers"


class OfLibrary(NamedTuple):
    """One of these names is used as an attribute, as in ``torch.zeros``, or is imported."""

    names: frozenset[bytes]
    kind: str = "oflibrary"


class Imported(NamedTuple):
    """One of these names occurs in an import statement."""

    names: frozenset[bytes]
    kind: str = "imported"


class IdentifierParts(NamedTuple):
    """Some identifier contains one of these lowercase parts; a space matches the start or end of an identifier."""

    parts: tuple[bytes, ...]
    kind: str = "parts"


class TextPattern(NamedTuple):
    """A regular expression matches the text of a file that also satisfies ``guard``, which is cheaper to evaluate.

    A last resort, since a pattern reads the whole file. Without a guard, the pattern is always searched.
    """

    source: bytes
    guard: Need | None
    kind: str = "text"


class Any(NamedTuple):
    """At least one of several needs."""

    needs: tuple[Need, ...]
    kind: str = "any"


class All(NamedTuple):
    """All of several needs."""

    needs: tuple[Need, ...]
    kind: str = "all"


Need = Identifiers | OfLibrary | Imported | IdentifierParts | TextPattern | Any | All


@cache
def compiled(source: bytes) -> re.Pattern[bytes]:
    """A regular expression, compiled on first use."""
    return re.compile(source)


def _encoded(names: Iterable[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def identifiers(*names: str) -> Identifiers:
    """One of these identifiers; an argument may list several, separated by spaces."""
    return Identifiers(_encoded(name for several in names for name in several.split()))


def of_library(names: Iterable[str]) -> OfLibrary:
    """One of these library functions or classes, by the last part of its dotted name."""
    return OfLibrary(_encoded(name.rpartition(".")[2] for name in names))


def imported(names: Iterable[str]) -> Imported:
    """One of these names in an import statement."""
    return Imported(_encoded(names))


def identifier_parts(*found: str) -> IdentifierParts:
    """An identifier that contains one of these parts, ignoring case."""
    return IdentifierParts(tuple(part.lower().encode() for part in found))


def text_pattern(source: str, guard: Need | None = None) -> TextPattern:
    """Text that matches a regular expression, in a file that satisfies ``guard``."""
    return TextPattern(source.encode(), guard)


def any_of(*needs: Need) -> Any:
    """At least one of these needs."""
    return Any(needs)


def all_of(*needs: Need) -> All:
    """All of these needs."""
    return All(needs)
