"""The task that reads a piece of the input and writes its rows as runs."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from torchlint.scan import groups
from torchlint.scan.archives import rows_of_archive
from torchlint.scan.columns import Columns
from torchlint.scan.inputs import ARCHIVES, REPOSITORIES, Piece
from torchlint.scan.problems import reason
from torchlint.scan.rows import Reader, Row
from torchlint.scan.sources import rows_of_folder
from torchlint.scan.store import Store
from torchlint.scan.tables import rows as rows_of_table


class Reading(NamedTuple):
    """What the tasks for pieces need to know."""

    source: Store
    output: Store
    columns: Columns
    config: bytes
    groups: int
    run_bytes: int


class _Rows:
    """The rows of a piece. What cannot be read is noted, and does not end the rows of other files."""

    def __init__(self, reading: Reading, piece: Piece) -> None:
        self._reading, self._piece = reading, piece
        self.failed: list[str] = []

    def __iter__(self) -> Iterator[Row]:
        reader = Reader.of(pickle.loads(self._reading.config))
        for name in self._piece.files:
            piece = self._piece._replace(files=(name,))
            try:
                yield from _rows(self._reading, piece, reader)
            except Exception as error:  # whatever reads the format may raise; errors of writing do not come here
                self.failed.append(f"{name or self._reading.source.root}: {reason(error)}")


def _rows(reading: Reading, piece: Piece, reader: Reader) -> Iterator[Row]:
    if piece.kind == ARCHIVES:
        return rows_of_archive(reading.source, piece.files[0], reader)
    if piece.kind == REPOSITORIES:
        return rows_of_folder(reading.source, piece.files[0], reader)
    return rows_of_table(reading.source, piece, reading.columns, reader)


def mark(number: int) -> str:
    """The name of the file that says that a piece has been read."""
    return f"piece-{number:05}.json"


def read_piece(reading: Reading, fields: list[Any]) -> dict[str, Any]:
    """Write the rows of a piece, and then what was written. Raises ``OSError`` if that is impossible."""
    piece = Piece(*fields)._replace(files=tuple(fields[2]))
    rows, counts = _Rows(reading, piece), Counter[str]()
    store = reading.output.below("work")

    def count(row: Row) -> None:
        counts[row.status or "python"] += 1

    name = f"run-{piece.number:05}"
    names, seen = groups.write_runs(rows, store, name, reading.groups, reading.run_bytes, count)
    done = {"runs": names, "groups": sorted(seen), "failed": rows.failed, "rows": counts}
    store.write(mark(piece.number), json.dumps(done).encode())
    return done
