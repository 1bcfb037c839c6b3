"""Timings by phase and by rule; nothing is measured unless :func:`start` was called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

_spent: dict[str, float] | None = None


def start() -> None:
    """Start to measure in this process."""
    global _spent  # noqa: PLW0603 - one run, one table
    _spent = {}


def taken() -> dict[str, float]:
    """The seconds spent in each phase and rule, largest first; phases may be nested."""
    return dict(sorted((_spent or {}).items(), key=lambda item: (-item[1], item[0])))


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure the time spent in this context."""
    if _spent is None:
        yield
        return
    begun = perf_counter()
    try:
        yield
    finally:
        _spent[name] = _spent.get(name, 0.0) + perf_counter() - begun
