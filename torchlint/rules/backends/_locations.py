"""Locations of writes of backend flags, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.flags.paths import BackendFlag


def location(module: SourceModule, flag: BackendFlag) -> str:
    """The location of a write: ``line 12``, or ``utils/seed.py, line 12``."""
    if flag.other_file is None:
        return module.line_in_words(flag.node)
    path, line = flag.other_file
    return f"{path}, line {line}"


def in_file(module: SourceModule, flag: BackendFlag) -> str:
    """The location of a write in another file, as a suffix: `` (in utils/seed.py, line 12)``."""
    return f" (in {location(module, flag)})" if flag.other_file is not None else ""
