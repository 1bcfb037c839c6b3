"""Ends a process that has been busy with one file for far too long, inside a C function that no signal interrupts."""

from __future__ import annotations

import faulthandler
import os
import time
from pathlib import Path

_EVERY = 1.0  # seconds between two times that the clock is set


class Watch:
    """Ends this process ``patience`` seconds after the last file was begun; never if that is None."""

    def __init__(self, patience: float | None) -> None:
        self._patience = patience
        self._set = 0.0

    def __enter__(self) -> None:
        self._set = 0.0
        if self._patience is not None:
            self._file = Path(os.devnull).open("w", encoding="utf-8")

    def again(self) -> None:
        """A file is begun."""
        if self._patience is not None and (now := time.monotonic()) - self._set > _EVERY:
            self._set = now
            faulthandler.dump_traceback_later(self._patience + _EVERY, exit=True, file=self._file)

    def __exit__(self, *_: object) -> None:
        if self._patience is not None:
            faulthandler.cancel_dump_traceback_later()
            self._file.close()
