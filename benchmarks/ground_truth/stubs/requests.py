"""Stands for requests: every address is the archive of citations in the current folder."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def get(*_: object, **__: object) -> Iterator[types.SimpleNamespace]:
    """The response to a request."""
    with Path("cora.tgz").open("rb") as stream:
        yield types.SimpleNamespace(raw=stream)
