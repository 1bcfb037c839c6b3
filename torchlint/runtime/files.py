"""Which files of the program are read or run, by whatever means: imports, ``runpy``, ``exec`` of their text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import CodeType

_EVENTS = frozenset(("open", "exec"))


class Files:
    """Files that matter, and whether they were loaded. Until :meth:`listen` is called, that is not known of any."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._names = frozenset(map(os.path.basename, self._paths))
        self._loaded: set[str] | None = None
        self._listening = False

    def listen(self) -> None:
        """Note from now on what is opened and executed. Python calls an audit hook until its process ends."""
        self._loaded, self._listening = set(), True
        for module in list(sys.modules.values()):
            self._note(getattr(module, "__file__", None))

        def heard(event: str, arguments: tuple[object, ...]) -> None:  # called so often that it is kept short
            if event in _EVENTS:
                self._heard(event, arguments)

        sys.addaudithook(heard)

    def close(self) -> None:
        """The program has ended: who opens files now is not the program."""
        self._listening = False

    def loaded(self, path: str) -> bool:
        """Whether a file may have been loaded."""
        return self._loaded is None or path in self._loaded

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._listening:
            return
        if event == "open":
            self._note(arguments[0])
        elif event == "exec" and isinstance(arguments[0], CodeType):
            self._note(arguments[0].co_filename)

    def _note(self, path: object) -> None:
        if isinstance(path, str) and os.path.basename(path) in self._names and self._loaded is not None:
            found = os.path.realpath(path)
            if found in self._paths:
                self._loaded.add(found)
