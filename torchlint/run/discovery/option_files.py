"""The option files of a project that its programs may read, such as ``configs/base.yaml``."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH118, PTH119
from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from torchlint.base.inputs import read
from torchlint.program.option_files import ENDINGS
from torchlint.run.discovery.context import project_root
from torchlint.run.discovery.discover import DEFAULT_EXCLUDES

if TYPE_CHECKING:
    from torchlint.config.configurations import Configurations

# A program that reads option files has one of these words.
_READS = (b"yaml", b"json.load", b"toml", b"OmegaConf", b"hydra")
_MOST_FOLDERS = 2_000
_MOST_BYTES, _MOST_OF_ALL = 100_000, 2_000_000
_LEFT_OUT = b"!"  # which is no content in any format
_QUOTED, _ANY = re.compile(rb"(?<![\w.-])[\w.-]+(?=[\"'])"), re.compile(rb"[\w.-]+")  # words that may name a file


def option_files(
    contents: Collection[bytes], folder: str, root: str, configurations: Configurations
) -> tuple[tuple[str, bytes], ...]:
    """The files whose names occur in the contents of programs, by their paths from ``root``.

    ``folder`` is that of the programs, whose whole project is searched. What is too large has no content.
    """
    if not any(word in content for content in contents for word in _READS):
        return ()
    project = project_root(folder, configurations) or folder
    if project not in configurations.option_files:
        configurations.option_files[project] = tuple(_below(project))
    found: dict[str, bytes] = {}
    left, words = _MOST_OF_ALL, {word for text in contents for word in _QUOTED.findall(text)}
    for _ in range(2):  # files of hydra name others
        for path in configurations.option_files[project]:
            name = os.fsencode(os.path.basename(path))
            if path not in found and (name in words or name.rpartition(b".")[0] in words):
                found[path] = _content(path, min(left, _MOST_BYTES))
                left -= len(found[path])
        words = {word for text in found.values() if b"defaults" in text for word in _ANY.findall(text)}
    slashed = ((path.replace("\\", "/"), content) for path, content in found.items())
    return tuple(sorted((posixpath.relpath(path, root), content) for path, content in slashed))


def _below(folder: str) -> Iterator[str]:
    """The option files below a folder; links are not followed."""
    for count, (path, folders, names) in enumerate(os.walk(folder)):
        if count == _MOST_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if name not in DEFAULT_EXCLUDES and name[0] != ".")
        for name in sorted(names):
            full = os.path.join(path, name)
            if name.endswith(ENDINGS) and not os.path.islink(full):  # noqa: PTH114
                yield full


def _content(path: str, most: int) -> bytes:
    try:
        data = read(path, most)
    except OSError:
        return _LEFT_OUT
    return data if len(data) <= most else _LEFT_OUT
