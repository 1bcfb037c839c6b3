"""Configuration: ``[tool.torchlint]`` to a frozen :class:`Config`. (Interface; the reader is still to be written.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchlint.model import Severity


@dataclass(frozen=True)
class Config:
    """Everything a run may be told. Rule selectors are ids, names, topics, prefixes or ``ALL``."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    target_torch: str | None = None
    fail_on: Severity = Severity.WARNING
    rules: Mapping[str, Any] = field(default_factory=dict)
    root: str = "."
    source: str | None = None


class ConfigError(Exception):
    """A one-line error that names the file, the key and what to do."""
