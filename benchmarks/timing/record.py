"""Measurements as records, and the file that keeps them so that tables can be written again."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

SCHEMA = 2
RESULTS = Path(__file__).resolve().parent.parent / "results.json"


class BenchmarkError(Exception):
    """Something that did not do its work, so that its time would mean nothing."""


@dataclass
class Row:
    """All runs of one contestant: seconds of wall and processor time, and the megabytes of its largest process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The wall time that the ratios are taken of."""
        return statistics.median(self.wall)


@dataclass(frozen=True)
class Suite:
    """Contestants that were measured side by side, and on what; ratios are only taken within one suite."""

    name: str
    label: str
    files: int
    size: int
    date: str
    commit: str  # of torchlint
    machine: str
    cores: int
    versions: dict[str, str]
    rows: dict[str, Row]


def load(path: Path = RESULTS) -> dict[str, Suite]:
    """The suites that the file keeps, by name; none where there is no file."""
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']} instead of {SCHEMA}")
        return {name: _suite(given) for name, given in document["suites"].items()}
    except (ValueError, KeyError, TypeError) as problem:
        raise BenchmarkError(f"{path.name} cannot be read: {problem!r}") from problem


def save(suites: Mapping[str, Suite], path: Path = RESULTS) -> None:
    """Write the file anew."""
    document = {"schema": SCHEMA, "suites": {name: asdict(suite) for name, suite in suites.items()}}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _suite(given: dict[str, object]) -> Suite:
    rows = given.pop("rows")
    if not isinstance(rows, dict):
        raise TypeError("a suite without rows")
    return Suite(**given, rows={name: Row(**row) for name, row in rows.items()})  # type: ignore[arg-type]
