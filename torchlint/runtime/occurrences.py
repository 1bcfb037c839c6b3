"""The steps in which something happened, as a short list of runs."""

from __future__ import annotations

_MOST = 64


class Occurrences:
    """Runs of step numbers: first, last, and in how many steps between them it happened.

    When there are too many runs, those that are close to each other are joined.
    """

    __slots__ = ("_gap", "runs")

    def __init__(self) -> None:
        self.runs: list[list[int]] = []
        self._gap = 1

    def add(self, step: int) -> None:
        """It happened in a step; numbers never become smaller."""
        last = self.runs[-1] if self.runs else None
        if last is not None and step - last[1] <= self._gap:
            last[2] += step > last[1]
            last[1] = step
            return
        self.runs.append([step, step, 1])
        while len(self.runs) > _MOST:
            self._gap *= 2
            self._join()

    def _join(self) -> None:
        joined = self.runs[:1]
        for first, last, count in self.runs[1:]:
            if first - joined[-1][1] <= self._gap:
                joined[-1][1] = last
                joined[-1][2] += count
            else:
                joined.append([first, last, count])
        self.runs = joined
