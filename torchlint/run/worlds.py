"""The world of files that are followed together: that of the nearest configuration above all of them."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH100, PTH120
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.base.globs import GlobProblem, path_matches
from torchlint.base.paths import relative_to
from torchlint.config.config import ConfigError, source_of
from torchlint.program.world import USUAL, World

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations


def world_of(paths: Sequence[str], configurations: Configurations) -> World:
    """The world in which the programs of these files run. Raises ``ConfigError``."""
    folder = _shared_folder(paths)
    config = _nearest(folder, configurations)
    scripts = configurations.scripts(folder) if folder else ()
    if config is None or config.world.programs is None:
        return (config.world if config is not None else USUAL)._replace(scripts=scripts)
    root = config.programs_root or config.root
    try:
        matching = [p for p in paths if path_matches(config.world.programs, relative_to(root, p))]
    except GlobProblem as problem:
        raise ConfigError(f"{source_of(config)}: world at programs {problem}") from None
    return config.world._replace(programs=tuple(sorted(p.replace("\\", "/") for p in matching)))


def _shared_folder(paths: Sequence[str]) -> str:
    """The innermost folder that contains all files; empty if there is none."""
    folders = [os.path.abspath(folder) for folder in {os.path.dirname(path) for path in paths}]
    try:
        return os.path.commonpath(folders)
    except ValueError:  # no files, or files on several drives
        return ""


def _nearest(folder: str, configurations: Configurations) -> Config | None:
    """The configuration of a folder; None if there is no valid one."""
    try:
        return configurations.for_folder(folder) if folder else None
    except ConfigError:  # of no file, since those of all files have been read
        return None
