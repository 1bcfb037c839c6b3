"""A sample of a stream of numbers, in bounded memory."""

from __future__ import annotations


class Reservoir:
    """Keeps up to ``size`` numbers, evenly spread: when it is full, every other one is dropped."""

    __slots__ = ("_high", "_kept", "_low", "_number", "_size", "_stride")

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[int] = []
        self._number = 0
        self._stride = 1
        self._low = self._high = 0

    def add(self, value: int) -> None:
        """Add a number."""
        if not self._number or value < self._low:
            self._low = value
        self._high = max(self._high, value)
        if self._number % self._stride == 0:
            if len(self._kept) == self._size:
                self._kept = self._kept[::2]
                self._stride *= 2
            if self._number % self._stride == 0:
                self._kept.append(value)
        self._number += 1

    @property
    def median(self) -> int | None:
        """The median of those that are kept; None without any."""
        kept = sorted(self._kept)
        return kept[len(kept) // 2] if kept else None

    @property
    def range(self) -> list[int] | None:
        """The smallest of all numbers, the median, and the largest; None without any."""
        median = self.median
        return None if median is None else [self._low, median, self._high]
