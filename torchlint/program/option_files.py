"""Files of options that programs read: YAML, JSON and TOML, as data, found by what is known of their paths."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterable
from typing import Any

from torchlint.base import limits
from torchlint.program import yaml

ENDINGS = (".yaml", ".yml", ".json", ".toml")
ANY = "*"  # in a path: what is not known of it
_SECONDS = 5.0


class OptionFiles:
    """The option files of a project, whose contents are given by path."""

    def __init__(self, contents: Iterable[tuple[str, bytes]]) -> None:
        self._contents = dict(contents)
        self._read: dict[str, Any] = {}

    def find(self, path: str, folder: str = "") -> str | None:
        """The file that a path means in a program in a folder, which may be started there or elsewhere.

        None if there is none, or if it may be one of several.
        """
        known = posixpath.normpath(path[path.rfind(ANY) + 1 :].replace("\\", "/") if ANY in path else path)
        if ANY in posixpath.basename(path) or not known.endswith(ENDINGS):
            return None
        below = re.sub(r"^(?:\.\.?/|/)+", "", known)
        for near in (below, posixpath.normpath(posixpath.join(folder, known.lstrip("/")))):
            if near in self._contents:
                return near
        ending = [each for each in self._contents if f"/{each}".endswith(f"/{below}")]
        return ending[0] if len(ending) == 1 else None

    def content(self, path: str) -> Any:
        """The content of a file; :data:`torchlint.program.yaml.NOT_READ` if it cannot be read."""
        if path not in self._read:
            try:
                self._read[path] = limits.within(_SECONDS, lambda: _content(path, self._contents[path]))
            except limits.OverLimit:
                self._read[path] = yaml.NOT_READ
        return self._read[path]


def _content(path: str, data: bytes) -> Any:
    import json

    try:
        text = data.decode("utf-8-sig")
        if path.endswith(".json"):
            return json.loads(text)
        return _toml(text) if path.endswith(".toml") else yaml.loads(text)
    except (ValueError, RecursionError):
        return yaml.NOT_READ


def _toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
