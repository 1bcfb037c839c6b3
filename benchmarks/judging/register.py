"""The register of every repository that torchlint was ever run on.

``benchmarks/evaluation/register.jsonl`` names each with the day of its first run and for what it was. What is in it is
never called fresh again: code that somebody has seen torchlint fail on is no measure of what it does on other code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A repository, as ``owner/name``, or a package of the package index; the day of its first run, and its purpose.

    ``half`` is for the measurement of what the analysis resolves: ``open`` for repositories that its builders may read,
    ``validating`` for those of which they see only totals; empty for all others.
    """

    repository: str
    day: str
    purpose: str
    half: str = ""


class Register:
    """The register in a file. Names are compared without regard to case, as their host does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._entries = {entry.repository.lower(): entry for entry in (Entry(**json.loads(row)) for row in rows)}

    def entries(self) -> list[Entry]:
        """All entries, by name."""
        return [self._entries[name] for name in sorted(self._entries)]

    def is_fresh(self, repository: str, day: str, purpose: str) -> bool:
        """Whether a repository was never linted before, or only on this occasion."""
        known = self._entries.get(repository.lower())
        return known is None or (known.day, known.purpose) == (day, purpose)

    def add(self, repositories: Iterable[str], day: str, purpose: str) -> None:
        """Register repositories; those that are there already keep the day of their first run."""
        for repository in repositories:
            self._entries.setdefault(repository.lower(), Entry(repository, day, purpose))
        rows = (json.dumps({k: v for k, v in entry._asdict().items() if v}) + "\n" for entry in self.entries())
        self._path.write_text("".join(rows), encoding="utf-8", newline="\n")
