"""Rows of data sets: Parquet, Arrow and lines of JSON, read piece by piece in little memory."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from torchlint.scan.columns import Columns
from torchlint.scan.inputs import ARROW, PARQUET, Piece
from torchlint.scan.problems import Unreadable, reason
from torchlint.scan.rows import Reader, Row, recoded
from torchlint.scan.store import Store

# The types of text and bytes, and the plain type of each.
_TEXT = {
    "null": pa.large_binary(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.large_binary(),
}
_ROWS = 1_000  # of a Parquet file that are read at once
_LINE = 64_000_000  # characters of the longest line of JSON that is read


def rows(store: Store, piece: Piece, columns: Columns, reader: Reader) -> Iterator[Row]:
    """The rows of a piece. Raises ``Unreadable`` and ``OSError``."""
    name = piece.files[0]
    if piece.kind not in (PARQUET, ARROW):
        yield from _lines(store, piece, columns, reader)
        return
    try:
        with store.open(name) as file:
            number = 0
            for batch in (_parquet if piece.kind == PARQUET else _arrow)(file, piece, columns):
                yield from _of_batch(batch, columns.found(batch.schema.names), reader, name, number)
                number += batch.num_rows
    except pa.ArrowException as error:
        if isinstance(error, OSError):
            raise
        raise Unreadable(reason(error)) from None


def _parquet(file: Any, piece: Piece, columns: Columns) -> Iterator[Any]:
    table = pq.ParquetFile(file)
    found = columns.found(table.schema_arrow.names)
    end = table.num_row_groups if piece.end < 0 else piece.end
    groups = list(range(piece.begin, end))
    yield from table.iter_batches(batch_size=_ROWS, row_groups=groups, columns=list(dict.fromkeys(found)))


def _arrow(file: Any, _: Piece, columns: Columns) -> Iterator[Any]:
    """The record batches of a file in the file format or in the stream format."""
    if file.read(6) == b"ARROW1":
        found = pa.ipc.open_file(file)
        columns.found(found.schema.names)
        for number in range(found.num_record_batches):
            yield found.get_batch(number)
        return
    file.seek(0)
    yield from pa.ipc.open_stream(file)


def _of_batch(batch: Any, names: Columns, reader: Reader, source: str, number: int) -> Iterator[Row]:
    repo, path, content = (batch.column(name) for name in names)
    repos, paths = _texts(repo, names.repo), _texts(path, names.path)
    text = "string" in str(content.type)
    contents = _bytes(content, names.content)
    for at, where in enumerate(paths):
        data = contents[at].as_py() if where and reader.wants(where) else None
        if text and data:
            data = recoded(data)
        yield reader.row(repos[at], where, data, source, number + at)


def _texts(column: Any, name: str | None) -> list[str | None]:
    """The texts of a column; bytes that are not valid in UTF-8 are written out."""
    found = _bytes(column, name).to_pylist()
    return [None if one is None else one.decode("utf-8", "backslashreplace") for one in found]


def _bytes(column: Any, name: str | None) -> Any:
    """A column of text or bytes as bytes."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if str(kind) in _TEXT:
        return pc.cast(pc.cast(column, _TEXT[str(kind)]), pa.large_binary())
    raise Unreadable(f"its column {name!r} has the type {kind}; it must be text or bytes")


# -- lines of JSON -------------------------------------------------------------------------------


def _lines(store: Store, piece: Piece, columns: Columns, reader: Reader) -> Iterator[Row]:
    name, found = piece.files[0], None
    for number, line in _numbered(store, piece):
        if not line.strip():
            continue
        try:
            if len(line) > _LINE:
                raise ValueError(f"the line is longer than {_LINE // 1_000_000} MB")
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield reader.malformed(f"is not JSON: {reason(error)}", name, number)
            continue
        if not isinstance(record, dict):
            yield reader.malformed(f"is a {type(record).__name__}, not an object", name, number)
            continue
        try:
            found = found or columns.found(record)
        except Unreadable as error:
            yield reader.malformed(str(error), name, number)
            continue
        values = [record.get(key) for key in found]
        yield reader.row(values[0], values[1], values[2], name, number)


def _numbered(store: Store, piece: Piece) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in this piece, with their numbers or, in a later part of a file, their offsets."""
    if piece.begin == 0 and piece.end < 0:
        with store.stream(piece.files[0]) as file:
            yield from enumerate(_each(file), start=1)
        return
    with store.open(piece.files[0]) as file:
        file.seek(max(piece.begin - 1, 0))
        buffered = io.BufferedReader(file, 1 << 20)
        at = piece.begin
        if piece.begin:
            at += len(buffered.readline()) - 1
        for line in _each(buffered):
            if at >= piece.end:
                return
            yield at, line
            at += len(line)


def _each(file: IO[bytes]) -> Iterator[bytes]:
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file, 1 << 20)  # type: ignore[type-var]
    yield from iter(buffered.readline, b"")
