"""Where a backend flag is written, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.flag_paths import BackendFlag


def place(module: SourceModule, flag: BackendFlag) -> str:
    """``line 12``, or ``utils/seed.py, line 12``."""
    if flag.other_file is None:
        return f"line {module.line(flag.node)}"
    path, line = flag.other_file
    return f"{path}, line {line}"


def through(module: SourceModule, flag: BackendFlag) -> str:
    """How a call leads to a write in another file: `` (in utils/seed.py, line 12)``."""
    return f" (in {place(module, flag)})" if flag.other_file is not None else ""
