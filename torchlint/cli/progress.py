"""The progress bar of long runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

_LONG_RUN = 50


class Bar:
    """A progress bar on standard error, for long runs on a terminal."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._shown = total >= _LONG_RUN and not quiet and sys.stderr.isatty()
        self._total = total
        self.progress: Callable[[int], None] | None = None

    def __enter__(self) -> Bar:
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(total=self._total, unit="file", leave=False, delay=0.5, file=sys.stderr)
            self.progress = self._advance
        return self

    def _advance(self, count: int) -> None:
        self._bar.update(count)

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.close()
