"""``scan.json``: what a scan was asked, with which versions, and what came of it."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from torchlint.base.version import __version__
from torchlint.scan.problems import ScanError
from torchlint.scan.results import SCHEMA
from torchlint.scan.store import Store

NAME = "scan.json"
_ADDED = ("files", "repositories", "findings")


def begun(request: Mapping[str, Any], groups: int, run_bytes: int) -> dict[str, Any]:
    """The manifest of a scan that begins. ``request`` is what a scan that goes on must repeat."""
    versions = {"torchlint": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("ray", "pyarrow")}
    return {
        "schema": SCHEMA,
        "complete": False,
        "versions": versions,
        "request": dict(request),
        "groups": groups,
        "run_bytes": run_bytes,
        "counts": {},
        "left_out": [],
        "processor_seconds": 0.0,
    }


def ended(manifest: Mapping[str, Any], counted: Iterable[Mapping[str, Any]], left_out: list[str]) -> dict[str, Any]:
    """The manifest with the counts of all groups. A scan is complete if nothing is left to be done."""
    totals: dict[str, Counter[str]] = {name: Counter() for name in _ADDED}
    size, seconds = 0, 0.0
    for one in counted:
        for name, total in totals.items():
            total.update(one[name])
        size += one["bytes"]
        seconds += one["seconds"]
    counts = {**{name: dict(sorted(total.items())) for name, total in totals.items()}, "bytes": size}
    return {
        **manifest,
        "complete": not left_out,
        "counts": counts,
        "left_out": left_out,
        "processor_seconds": round(seconds, 2),
    }


def read(store: Store, shown: str) -> dict[str, Any]:
    """The manifest in a folder. Raises ``ScanError``."""
    data = store.read(NAME)
    if data is None:
        raise ScanError(f"{shown}: holds no scan ({NAME} is missing)")
    try:
        found = json.loads(data)
        schema = found["schema"]
    except (ValueError, KeyError, TypeError):
        raise ScanError(f"{shown}/{NAME}: is not the manifest of a scan; choose another folder") from None
    if schema != SCHEMA:
        raise ScanError(f"{shown}/{NAME}: has schema {schema}, and torchlint {__version__} reads {SCHEMA}")
    return dict(found)


def write(store: Store, manifest: Mapping[str, Any]) -> None:
    """Write the manifest. Raises ``OSError``."""
    store.write(NAME, (json.dumps(manifest, indent=2) + "\n").encode())
