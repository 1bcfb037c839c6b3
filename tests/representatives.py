"""Which tests run by default, and which only with ``--exhaustive``.

Where a test runs for very many values, most of them show what another one shows already. A rule says which kinds of
things a value shows; a value with a kind that no earlier one shows runs always, the others are marked ``exhaustive``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests import harness

T = TypeVar("T")


def first_of_each_kind(values: Iterable[T], kinds: Callable[[T], Iterable[Hashable]]) -> list[T]:
    """The values with a kind that no earlier one shows."""
    seen: set[Hashable] = set()
    chosen = []
    for value in values:
        shown = set(kinds(value))
        if shown - seen:
            chosen.append(value)
            seen |= shown
    return chosen


def parameters(values: Iterable[T], chosen: Collection[T]) -> list[Any]:
    """Parameters of a test, all but the chosen ones marked ``exhaustive``."""
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.exhaustive) for value in values]


def shortest_files() -> frozenset[Path]:
    """The shortest marked file of each rule."""
    by_length = sorted(harness.HERE.files, key=lambda file: (len(file.text), file.path))
    return frozenset(file.path for file in first_of_each_kind(by_length, lambda file: (file.rule.id,)))
