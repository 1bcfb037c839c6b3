"""The configuration for each folder: the nearest one in it or above, whatever paths were given.

Every folder is searched once for a configuration and for the required version of torch. Changes of the command line
apply to each configuration.
"""

# os.path, as in torchlint.config.config, and because pathlib costs start-up.
# ruff: noqa: PTH100, PTH109, PTH112, PTH120
from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from torchlint.config.config import Config, ConfigError, PathLike
from torchlint.config.files import explicitly, in_folder
from torchlint.config.requirements import NOTHING_FURTHER, declared_in
from torchlint.config.scripts import scripts_in

T = TypeVar("T")
Change = Callable[[Config], Config]


class Configurations:
    """The configurations of a run. ``first`` is the one for the run as a whole."""

    def __init__(self, start: PathLike, change: Change | None = None, *, only: Config | None = None) -> None:
        """With ``only``, that one applies to every file; otherwise ``start`` is the first given path."""
        self._change = change
        self._files: dict[str, Config] = {}
        self._torches: dict[str, str] = {}
        self._scripts: dict[str, tuple[str, ...]] = {}
        self.option_files: dict[str, tuple[str, ...]] = {}  # of programs, by folder, as far as they were searched for
        self._made: dict[tuple[str, str | None, str], Config] = {}
        self._default = Config(root=os.getcwd())
        self._only = self._changed(only) if only is not None else None
        path = os.path.abspath(start)
        self.first = self.for_folder(path if os.path.isdir(path) else os.path.dirname(path))

    def for_folder(self, folder: str) -> Config:
        """The configuration for the files directly in a folder, given by its absolute path."""
        if self._only is not None:
            return self._only
        base = self._base(folder)
        torch = "" if base.target_torch else _inherited(self._torches, folder, declared_in, NOTHING_FURTHER)
        key = (base.root, base.source, torch)
        found = self._made.get(key)
        if found is None:
            made = base._replace(target_torch=base.target_torch or torch or None, top=self._top(base))
            found = self._made[key] = self._changed(made)
        return found

    def scripts(self, folder: str) -> tuple[str, ...]:
        """The functions that the project around a folder, given by its absolute path, installs as commands."""
        isolated = self._only is not None and self._only.source is None
        return () if isolated else _inherited(self._scripts, folder, scripts_in, ())

    def above(self, config: Config) -> Config | None:
        """The configuration that applies above the folder of another one."""
        if config.source is None or self._only is not None:
            return None
        found = self.for_folder(os.path.dirname(config.root))
        return found if found.source is not None and found.root != config.root else None

    def _base(self, folder: str) -> Config:
        return _inherited(self._files, folder, in_folder, self._default)

    def _top(self, config: Config) -> str | None:
        """The outermost folder above that of a configuration which has one."""
        top = None
        try:
            while config.source is not None and config.root != os.path.dirname(config.root):
                config = self._base(os.path.dirname(config.root))
                top = config.root if config.source is not None else top
        except ConfigError:  # outside the project
            pass
        return top

    def _changed(self, config: Config) -> Config:
        return self._change(config) if self._change is not None else config


def configurations(
    start: PathLike, change: Change | None = None, *, explicit: PathLike | None = None, isolated: bool = False
) -> Configurations:
    """The configurations of a run: the given file or none for all files, or the nearest ones."""
    if explicit is not None and isolated:
        raise ConfigError("--config and --isolated contradict each other; give one of them")
    if isolated:
        return Configurations(start, change, only=Config(root=os.getcwd()))
    if explicit is None:
        return Configurations(start, change)
    only = explicitly(explicit)
    torch = only.target_torch or _inherited({}, only.root, declared_in, NOTHING_FURTHER) or None
    return Configurations(start, change, only=only._replace(target_torch=torch))


def load(start: PathLike, *, explicit: PathLike | None = None, isolated: bool = False) -> Config:
    """The configuration for ``start``: the given file, none, or the nearest one."""
    return configurations(start, explicit=explicit, isolated=isolated).first


def _inherited(known: dict[str, T], folder: str, own: Callable[[str], T | None], outermost: T) -> T:
    """The value of the nearest folder, from this one upwards, that has one; cached for every folder on the way."""
    passed = []
    while (found := known.get(folder)) is None:
        passed.append(folder)
        parent = os.path.dirname(folder)
        found = own(folder)
        if found is None and parent == folder:
            found = outermost
        if found is not None:
            break
        folder = parent
    known.update(dict.fromkeys(passed, found))
    return found
