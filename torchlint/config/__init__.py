"""The configuration: reads and validates it, and determines the settings and rules for each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.config.config import Config, ConfigError

__all__ = ["Config", "ConfigError"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'torchlint.config' has no attribute {name!r}")
    from torchlint.config import config  # public names; most of a start needs neither

    return getattr(config, name)
