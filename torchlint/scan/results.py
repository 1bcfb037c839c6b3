"""The tables of a scan: findings, files and repositories, as Parquet with a versioned schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from torchlint.base.version import __version__
from torchlint.scan.store import Store

#: The version of the schemas below.
SCHEMA = 1
COUNTS = b"torchlint.counts"

_SPAN = [("line", pa.int32()), ("column", pa.int32()), ("end_line", pa.int32()), ("end_column", pa.int32())]
_EVIDENCE = pa.struct(
    [("cell", pa.int32()), ("line", pa.int32()), ("column", pa.int32()), ("text", pa.string()), ("context", pa.bool_())]
)
_FIX = pa.struct(
    [
        ("title", pa.string()),
        ("safety", pa.string()),
        ("caveat", pa.string()),
        ("edits", pa.list_(pa.struct([("cell", pa.int32()), *_SPAN, ("text", pa.string())]))),
    ]
)
# After the repository, the keys of a finding in the JSON report, in their order.
FINDINGS = pa.schema(
    [
        ("repo", pa.string()),
        ("rule", pa.string()),
        ("name", pa.string()),
        ("topic", pa.string()),
        ("group", pa.string()),
        ("severity", pa.string()),
        ("path", pa.string()),
        *_SPAN,
        ("message", pa.string()),
        ("url", pa.string()),
        ("cell", pa.int32()),
        ("heat", pa.string()),
        ("evidence", pa.list_(_EVIDENCE)),
        ("fix", _FIX),
        ("fingerprint", pa.string()),
    ]
)
FILES = pa.schema(
    [
        ("repo", pa.string()),
        ("path", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("bytes", pa.int64()),
        ("findings", pa.int32()),
        ("part", pa.int32()),
        ("source", pa.string()),
        ("number", pa.int64()),
    ]
)
REPOSITORIES = pa.schema(
    [
        ("repo", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("parts", pa.int32()),
        ("files", pa.int32()),
        ("linted", pa.int32()),
        ("bytes", pa.int64()),
        ("findings", pa.int32()),
    ]
)
TABLES = {"findings": FINDINGS, "files": FILES, "repositories": REPOSITORIES}


def part(group: int) -> str:
    """The name of the file that a table has for a group."""
    return f"part-{group:05}.parquet"


def write(store: Store, table: str, group: int, rows: Sequence[Mapping[str, Any]], counts: Mapping[str, Any]) -> None:
    """Write the part of a table that a group makes."""
    schema = TABLES[table].with_metadata(
        {
            b"torchlint.schema": str(SCHEMA).encode(),
            b"torchlint.version": __version__.encode(),
            COUNTS: json.dumps(counts).encode(),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
    store.below(table).write(part(group), sink.getvalue())


def counts(store: Store, group: int) -> dict[str, Any] | None:
    """What the results of a group count; None if they are not there or not whole."""
    try:
        for table in TABLES:
            with store.below(table).open(part(group)) as file:
                metadata = pq.read_metadata(file).metadata
        found: dict[str, Any] = json.loads(metadata[COUNTS])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None
    return found


def record(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding as in the JSON report, from a row of the table."""
    return {key: value for key, value in finding.items() if key != "repo"}
