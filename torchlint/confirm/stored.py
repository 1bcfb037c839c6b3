"""Reads and validates the JSON files of the companion.

Evidence may be truncated, edited, or come from a repository. Only data that fits its type is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from torchlint.base.inputs import REPORT, read
from torchlint.base.shape import fits
from torchlint.confirm.stored_evidence import FACTS


class NotStored(Exception):
    """Why a file cannot be used. The message continues a sentence that begins with its name."""


def stored(path: str, kind: Any, schema: int) -> dict[str, Any]:
    """The document in a file, if it has this schema and fits this type. Raises :class:`NotStored`."""
    return stored_as(path, {schema: kind})


def stored_as(path: str, kinds: Mapping[int, Any]) -> dict[str, Any]:
    """The document in a file, if it has one of these schemas and fits its type. Raises :class:`NotStored`."""
    try:
        data = read(path, REPORT)
        document = json.loads(data)
    except OSError as error:
        raise NotStored(f"cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise NotStored("is not JSON, or was cut off") from None
    if not isinstance(document, dict) or document.get("schema") not in list(kinds):
        raise NotStored("was written by another version of torchlint, or by something else")
    if not fits(document, kinds[document["schema"]], more=True) or not _has_facts(document):
        raise NotStored("is damaged")
    return document


def _has_facts(document: dict[str, Any]) -> bool:
    return all(
        fits(event["facts"], FACTS[event["kind"]], more=True)
        for event in document.get("events", ())
        if event["kind"] in FACTS
    )


def keep(target: str, document: object, *, indent: int | None = None) -> None:
    """Write a document as JSON, replacing the file atomically. Raises ``OSError``."""
    with open(f"{target}.partial", "w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=indent)
        stream.write("\n")
    os.replace(f"{target}.partial", target)
