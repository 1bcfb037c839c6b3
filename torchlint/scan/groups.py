"""Rows are put in groups by repository: each task that reads input writes *runs*, files of rows in the order of groups.

A run is an Arrow file with one record batch for each group that it has rows of, and the task for a group reads only
these batches. So nothing is kept in memory or in Ray's object store, and an interrupted scan goes on from there.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc

from torchlint.scan.rows import Row
from torchlint.scan.store import Store

_SCHEMA = pa.schema(
    [
        ("repo", pa.large_string()),
        ("path", pa.large_string()),
        ("size", pa.int64()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("source", pa.string()),
        ("number", pa.int64()),
        ("content", pa.large_binary()),
    ]
)
_CONTENT = _SCHEMA.get_field_index("content")
_KEY = b"torchlint.groups"
_MOST_ROWS = 200_000  # in a run


class Entry(NamedTuple):
    """A row of a group without its content, which is in this batch of a run."""

    repo: str
    path: str
    size: int
    status: str
    reason: str
    source: str
    number: int
    run: int
    row: int


def group_of(repo: str, groups: int) -> int:
    """The number of the group of a repository."""
    return int.from_bytes(blake2b(repo.encode("utf-8"), digest_size=8).digest(), "big") % groups


def write_runs(
    rows: Iterable[Row], store: Store, name: str, groups: int, most: int, count: Callable[[Row], None]
) -> tuple[list[str], set[int]]:
    """Write rows as runs of at most so many bytes of content; returns the names of the runs, and their groups."""
    names: list[str] = []
    seen: set[int] = set()
    kept: list[tuple[int, Row]] = []
    held = 0

    def flush() -> None:
        names.append(f"{name}-{len(names):04}.arrow")
        store.write(names[-1], _run(kept))
        seen.update(group for group, _ in kept)
        kept.clear()

    for row in rows:
        count(row)
        kept.append((group_of(row.repo, groups), row))
        held += len(row.content or b"")
        if held > most or len(kept) >= _MOST_ROWS:
            flush()
            held = 0
    if kept:
        flush()
    return names, seen


def _run(rows: list[tuple[int, Row]]) -> Any:
    """The bytes of a run."""
    rows.sort(key=lambda pair: pair[0])
    numbers = sorted({group for group, _ in rows})
    schema = _SCHEMA.with_metadata({_KEY: json.dumps(numbers).encode()})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, schema, options=options) as writer:
        start = 0
        for number in numbers:
            end = start
            while end < len(rows) and rows[end][0] == number:
                end += 1
            of_group = [row for _, row in rows[start:end]]
            columns = [[getattr(row, field.name) for row in of_group] for field in _SCHEMA]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            start = end
    return sink.getvalue()


def entries(store: Store, runs: list[str], group: int) -> list[Entry]:
    """The rows of a group without their contents."""
    fields = [number for number in range(len(_SCHEMA)) if number != _CONTENT]
    found: list[Entry] = []
    for run, name in enumerate(runs):
        batch = _batch(store, name, group, fields)
        if batch is not None:
            columns = [batch.column(number).to_pylist() for number in range(len(fields))]
            found += [Entry._make((*row, run, at)) for at, row in enumerate(zip(*columns, strict=True))]
    return found


def contents(store: Store, runs: list[str], group: int, wanted: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The contents of some rows of a group."""
    by_run: dict[int, list[Entry]] = {}
    for entry in wanted:
        by_run.setdefault(entry.run, []).append(entry)
    for run, those in sorted(by_run.items()):
        batch = _batch(store, runs[run], group, [_CONTENT])
        for entry in those:
            yield entry, batch.column(0)[entry.row].as_py()


def _batch(store: Store, name: str, group: int, fields: list[int]) -> Any:
    """Some columns of the rows of a group in a run; None if it has none."""
    with closing(store.open(name)) as file:
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False))
        numbers = json.loads(reader.schema.metadata[_KEY])
        at = bisect_left(numbers, group)
        return reader.get_batch(at) if at < len(numbers) and numbers[at] == group else None
