"""The world of files that are followed together: that of the nearest configuration above all of them."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH100, PTH120
from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from torchlint.base.globs import GlobProblem, path_matches
from torchlint.base.paths import relative_to
from torchlint.config.config import ConfigError, source_of
from torchlint.program.world import USUAL, World
from torchlint.project.names import names
from torchlint.run.discovery.option_files import option_files, said_options

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.config.configurations import Configurations


def world_of(contents: Mapping[str, bytes], configurations: Configurations) -> World:
    """The world in which the programs of these files run, given by path. Raises ``ConfigError``."""
    folder = _shared_folder(contents)
    config = _nearest(folder, configurations)
    world = config.world if config is not None else USUAL
    if folder:
        files = option_files(contents.values(), folder, _root(contents), configurations)
        world = world._replace(files=files, said=said_options(contents.values(), folder, configurations))
    if config is None or config.world.programs is None:
        return world._replace(scripts=configurations.scripts(folder) if folder else ())
    root = config.programs_root or config.root
    try:
        matching = [p for p in contents if path_matches(config.world.programs, relative_to(root, p))]
    except GlobProblem as problem:
        raise ConfigError(f"{source_of(config)}: world at programs {problem}") from None
    return world._replace(programs=tuple(sorted(p.replace("\\", "/") for p in matching)))


def _root(paths: Collection[str]) -> str:
    """The folder to which the names of files are relative."""
    path, name = next(iter(names(paths).items()))
    return os.path.abspath(path).replace("\\", "/").removesuffix(name) or "/"


def _shared_folder(paths: Collection[str]) -> str:
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
