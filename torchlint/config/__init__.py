"""The configuration: read, checked, and asked for what is on where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.config.config import Config, ConfigError

__all__ = ["Config", "ConfigError"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'torchlint.config' has no attribute {name!r}")
    from torchlint.config import config  # other programs name these two; most of a start needs neither

    return getattr(config, name)
