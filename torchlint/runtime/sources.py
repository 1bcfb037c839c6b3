"""The text of source files in the evidence, so that a report can show it when the files have changed or are gone."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable

_LARGEST = 1 << 20


def texts(paths: Iterable[str]) -> dict[str, str]:
    """The content of files by path, compressed; files that cannot be read or are too large are left out."""
    found = {}
    for path in dict.fromkeys(paths):
        try:
            with open(path, "rb") as stream:
                content = stream.read(_LARGEST + 1)
        except (OSError, ValueError):
            continue
        if len(content) <= _LARGEST:
            found[path] = base64.b64encode(zlib.compress(content, 9)).decode("ascii")
    return found
