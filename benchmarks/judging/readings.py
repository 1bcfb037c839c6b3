"""Readings: what people said about single findings of torchlint, after reading the code around them.

``benchmarks/evaluation/readings.jsonl`` holds them. Where only totals were written down, one row stands for ``times``
findings in at least ``repositories`` repositories, and ``why`` says what was written down.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

VERDICTS = {
    "right": "the message is true, and it is worth acting on",
    "pointless": "the message is true, but following it would gain little, or there are good reasons for the code",
    "wrong": "the message is not true: a false alarm",
}
SIGHTS = {
    "fresh": "the first run in a repository that had never been linted",
    "first": "the first run of a rule in code that it was not written on, in repositories that had been linted before",
    "seen": "after such code had been used to improve the rule",
}


class Reading(NamedTuple):
    """One verdict about a finding, or about several of which only the number is known.

    ``rule`` is None for a total of several rules. ``verdict`` is None for findings that are not right and of which
    nobody wrote down whether they are pointless or wrong. ``run`` names the occasion. ``partial`` is set where only
    some findings of a rule were written down apart, such as a group of wrong ones, and the others are in a total:
    such rows say nothing about the share of that rule.
    """

    rule: str | None
    repository: str | None
    commit: str | None
    place: str | None
    day: str
    severity: str | None
    verdict: str | None
    why: str
    sight: str
    run: str
    times: int = 1
    repositories: int = 1
    partial: bool = False

    @property
    def key(self) -> tuple[str | None, ...]:
        """What tells findings apart."""
        return (self.rule, self.repository, self.commit, self.place)

    @property
    def loud(self) -> bool:
        """Whether it is about warnings or errors."""
        return self.severity != "info"


class Tally(NamedTuple):
    """Counts of readings; ``untold`` are those that are pointless or wrong."""

    right: int = 0
    pointless: int = 0
    wrong: int = 0
    untold: int = 0
    repositories: int = 0

    @property
    def read(self) -> int:
        """All readings."""
        return self.right + self.pointless + self.wrong + self.untold

    @property
    def share(self) -> float:
        """The part that is right; 0 if nothing was read."""
        return self.right / self.read if self.read else 0.0


class Unreadable(ValueError):
    """A line of the data that is no reading, and why."""


def read(path: Path) -> list[Reading]:
    """The readings in a file. Raises :class:`Unreadable`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_read(json.loads(line), f"{path.name}:{number}") for number, line in enumerate(lines, 1)]


def _read(row: Mapping[str, object], where: str) -> Reading:
    try:
        reading = Reading(**row)  # type: ignore[arg-type]
    except TypeError as error:
        raise Unreadable(f"{where}: {error}") from None
    if reading.verdict is not None and reading.verdict not in VERDICTS:
        raise Unreadable(f"{where}: the verdict {reading.verdict!r} is none of {', '.join(VERDICTS)}")
    if reading.sight not in SIGHTS:
        raise Unreadable(f"{where}: {reading.sight!r} is none of {', '.join(SIGHTS)}")
    if reading.place is None and reading.times == 1 and reading.repository is not None:
        raise Unreadable(f"{where}: a single reading needs its place")
    return reading


def line(reading: Reading) -> str:
    """The line of a file that holds a reading; what has its default is left out."""
    defaults = Reading._field_defaults
    row = {key: value for key, value in reading._asdict().items() if key not in defaults or value != defaults[key]}
    return json.dumps(row) + "\n"


def add(readings: Iterable[Reading], path: Path) -> None:
    """Append readings to a file."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(line(reading) for reading in readings)


def tally(readings: Sequence[Reading]) -> Tally:
    """Count readings. Of a run that only has totals, the largest number of repositories counts."""
    counts: Counter[str | None] = Counter()
    totals: Counter[str] = Counter()
    named: set[str] = set()
    for reading in readings:
        counts[reading.verdict] += reading.times
        if reading.repository is not None:
            named.add(reading.repository)
        else:
            totals[reading.run] = max(totals[reading.run], reading.repositories)
    return Tally(counts["right"], counts["pointless"], counts["wrong"], counts[None], len(named) + sum(totals.values()))
