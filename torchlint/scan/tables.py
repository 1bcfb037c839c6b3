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
from torchlint.scan.rows import Reader, Row, most, recoded
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
_SHOWN = 80  # characters of a type


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
    """The record batches of a file. A value that many rows share is read once, however small it makes the file."""
    table = pq.ParquetFile(file)
    found = _checked(table.schema_arrow, columns)
    leaves = [table.schema.column(at) for at in range(len(table.schema))]
    shared = [leaf.path for leaf in leaves if leaf.path in found and leaf.physical_type == "BYTE_ARRAY"]
    table = pq.ParquetFile(file, metadata=table.metadata, read_dictionary=shared)
    end = table.num_row_groups if piece.end < 0 else piece.end
    groups = list(range(piece.begin, end))
    yield from table.iter_batches(batch_size=_ROWS, row_groups=groups, columns=list(dict.fromkeys(found)))


def _arrow(file: Any, _: Piece, columns: Columns) -> Iterator[Any]:
    """The record batches of a file in the file format or in the stream format."""
    if file.read(6) == b"ARROW1":
        found = pa.ipc.open_file(file)
        _checked(found.schema, columns)
        for number in range(found.num_record_batches):
            yield found.get_batch(number)
        return
    file.seek(0)
    stream = pa.ipc.open_stream(file)
    _checked(stream.schema, columns)
    yield from stream


def _checked(schema: Any, columns: Columns) -> Columns:
    """The columns of a table, which hold text or bytes. Raises ``Unreadable``, before anything of them is read."""
    found = columns.found(schema.names)
    for name in found:
        kind = _plain(schema.field(name).type)
        if str(kind) not in _TEXT:
            shown = str(kind) if len(str(kind)) <= _SHOWN else f"{str(kind)[:_SHOWN]}..."
            raise Unreadable(f"its column {name!r} has the type {shown}; it must be text or bytes")
    return found


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _of_batch(batch: Any, names: Columns, reader: Reader, source: str, number: int) -> Iterator[Row]:
    repo, path, content = (_Values(batch.column(name)) for name in names)
    repos, paths = repo.texts(), path.texts()
    for at, where in enumerate(paths):
        data, size = content.bytes(at, most(where) + 1) if where and reader.wants(where) else (None, 0)
        if content.text and data:
            data = recoded(data)
        yield reader.row(repos[at], where, data, source, number + at, size if data and size > len(data) else None)


class _Values:
    """A column of text or bytes; a value that many rows share is converted once."""

    def __init__(self, column: Any) -> None:
        kind = str(_plain(column.type))
        self.text = "string" in kind
        self._at = column.indices if pa.types.is_dictionary(column.type) else None
        values = column if self._at is None else column.dictionary
        self._values = pc.cast(pc.cast(values, _TEXT[kind]), pa.large_binary())

    def bytes(self, at: int, most: int) -> tuple[bytes | None, int]:
        """The first bytes of a value, and how many it has."""
        index = at if self._at is None else self._at[at].as_py()
        buffer = None if index is None else self._values[index].as_buffer()
        return (None, 0) if buffer is None else (buffer[:most].to_pybytes(), buffer.size)

    def texts(self) -> list[str | None]:
        """All values as text; bytes that are not valid in UTF-8 are written out."""
        found = [None if one is None else one.decode("utf-8", "backslashreplace") for one in self._values.to_pylist()]
        if self._at is None:
            return found
        return [None if index is None else found[index] for index in self._at.to_pylist()]


# -- lines of JSON -------------------------------------------------------------------------------


def _lines(store: Store, piece: Piece, columns: Columns, reader: Reader) -> Iterator[Row]:
    name, found = piece.files[0], None
    for number, line in _numbered(store, piece):
        if not line or line.isspace():
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
            at += next(_measured(buffered), (b"", 1))[1] - 1
        for line, size in _measured(buffered):
            if at >= piece.end:
                return
            yield at, line
            at += size


def _each(file: IO[bytes]) -> Iterator[bytes]:
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file, 1 << 20)  # type: ignore[type-var]
    return (line for line, _ in _measured(buffered))


def _measured(file: Any) -> Iterator[tuple[bytes, int]]:
    """The lines and their sizes; of a line that is too long only the beginning, which shows that it is."""
    while line := file.readline(_LINE + 1):
        size, end = len(line), line
        while len(end) > _LINE and not end.endswith(b"\n"):
            end = file.readline(_LINE + 1)
            size += len(end)
        yield line, size
