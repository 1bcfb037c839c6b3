"""What a task was doing when its process died, so that the next attempt leaves out the file that kills it.

Ray starts a task again if its process dies, as often as it takes. So before a repository is linted, its name is
written down. An attempt that finds such a name is careful with that repository, and writes down every file of it; the
next one leaves out the file that it finds.
"""

from __future__ import annotations

import json
from typing import Any

from torchlint.scan.store import Store

_MOST = 20  # deaths in one repository, after which all of it is left out


class Crumbs:
    """The notes of a task about a group."""

    def __init__(self, store: Store, group: int) -> None:
        self._store, self._name = store, f"group-{group:05}.json"
        known: dict[str, Any] = json.loads(store.read(self._name) or b"{}")
        self._deaths: dict[str, int] = known.get("deaths", {})
        self._deadly: dict[str, list[str]] = known.get("deadly", {})
        at, file = known.get("at"), known.get("file")
        if at is not None:
            self._deaths[at] = self._deaths.get(at, 0) + 1
            if file is not None:
                self._deadly.setdefault(at, []).append(file)

    def deadly(self, key: str) -> list[str]:
        """The files of a repository at which the process died."""
        return self._deadly.get(key, [])

    def hopeless(self, key: str) -> bool:
        """Whether the process died at this repository so often that it is left out."""
        return self._deaths.get(key, 0) > _MOST

    def at(self, key: str) -> None:
        """This repository is linted next."""
        self._write(at=key)

    def file(self, key: str, path: str) -> None:
        """This file is linted next; noted only if the process has died at its repository."""
        if key in self._deaths:
            self._write(at=key, file=path)

    def done(self) -> None:
        """The group is written."""
        self._store.remove(self._name)

    def _write(self, **now: str) -> None:
        notes = {"deaths": self._deaths, "deadly": self._deadly, **now}
        self._store.write(self._name, json.dumps(notes).encode())
