"""Where the time of a run goes, by phase and by rule; nothing is measured unless somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

_spent: dict[str, float] | None = None


def start() -> None:
    """Measure from now on, in this process."""
    global _spent  # noqa: PLW0603 - one run, one table
    _spent = {}


def taken() -> dict[str, float]:
    """The seconds spent in each phase and rule since the start, the largest first; phases may hold one another."""
    return dict(sorted((_spent or {}).items(), key=lambda item: (-item[1], item[0])))


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Count what happens inside."""
    if _spent is None:
        yield
        return
    begun = perf_counter()
    try:
        yield
    finally:
        _spent[name] = _spent.get(name, 0.0) + perf_counter() - begun
