"""Causes, written by hand after reading the code: why torchlint is silent at a line, why a run refutes a warning."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from truth.programs import FOLDER

Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class Reason:
    """The cause at a place; ``kind`` is that of the line, or the rule of a refuted warning.

    ``rule`` would be about the line. ``intent`` says that it is silent on purpose, and the cause is the exemption.
    """

    repository: str
    path: str
    line: int
    kind: str
    rule: str
    cause: str
    intent: bool = False


def read(path: Path = FOLDER / "reasons.jsonl") -> dict[Key, Reason]:
    """The reasons by place."""
    rows = (Reason(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    return {(row.repository, row.path, row.line, row.kind): row for row in rows}
