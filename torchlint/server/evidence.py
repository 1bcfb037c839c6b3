"""Evidence of earlier runs for a folder, and whether its files have changed since it was read."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH116, PTH118
from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from torchlint.run.recorded.evidence import NAME, Evidence, EvidenceProblem, read


class EvidenceFiles:
    """The files that the settings name: each path is a file, or a folder with ``observations.json``.

    ``shown`` is what they say, or None, and ``problem`` why they cannot be used.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = [file for path in paths for file in (path, os.path.join(path, NAME))]
        self._before = [*map(_state, self._files)]
        self.shown: Evidence | None = None
        self.problem: str | None = None
        try:
            self.shown = read(paths) if paths else None
        except EvidenceProblem as problem:
            self.problem = f"the setting torchlint.evidence: {problem}"

    def have_changed(self) -> bool:
        """Whether a file was written, created or deleted since they were read, and since this was asked."""
        before, self._before = self._before, [*map(_state, self._files)]
        return before != self._before


def _state(path: str) -> tuple[int, int, int] | None:
    """What differs after a file was written; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if stat.S_ISREG(found.st_mode) else None
