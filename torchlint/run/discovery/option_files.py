"""The option files of a project that its programs may read, and what these and its scripts say about options."""

# os.path, because pathlib costs start-up.
# ruff: noqa: PTH118, PTH119
from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from torchlint.base.inputs import read
from torchlint.config.config import ConfigError
from torchlint.program.option_files import ENDINGS
from torchlint.run.discovery.context import project_root
from torchlint.run.discovery.discover import DEFAULT_EXCLUDES

if TYPE_CHECKING:
    from torchlint.config.configurations import Configurations

# A program that reads option files has one of these words, and one that has options one of the others.
_READS = (b"yaml", b"json.load", b"toml", b"OmegaConf", b"hydra")
_PARSES = (b"argparse", b"ArgumentParser", b"click", b"typer", b"fire")
_SCRIPTS = (".sh", ".md")
_MOST_FOLDERS = 2_000
_FEW = 40  # words that are looked for one by one
_MOST_BYTES, _MOST_OF_ALL = 100_000, 2_000_000
_LEFT_OUT = b"!"  # which is no content in any format
_COMMENT = re.compile(rb"(?:^|[ \t])#[^\n]*", re.M)
_KEYED = re.compile(rb"(?<![\w.-])([A-Za-z_][\w.-]*)[\"']?[ \t]*[:=][ \t]*[\"']?([\w./:+~-]*)")
_WRITTEN = re.compile(rb"(?<![\w-])--?([A-Za-z][\w-]*)[ =][ \t]*[\"']?([\w./:+-]+)")
_QUOTED, _ANY = re.compile(rb"(?<![\w.-])[\w.-]+(?=[\"'])"), re.compile(rb"[\w.-]+")  # words that may name a file


def option_files(
    contents: Collection[bytes], folder: str, root: str, configurations: Configurations
) -> tuple[tuple[str, bytes], ...]:
    """The files whose names occur in the contents of programs, by their paths from ``root``.

    ``folder`` is that of the programs, whose whole project is searched. What is too large has no content.
    """
    if not any(word in content for content in contents for word in _READS):
        return ()
    found: dict[str, bytes] = {}
    paths = [path for path in _of_project(folder, configurations) if path.endswith(ENDINGS)]
    named = {path: os.fsencode(os.path.basename(path)) for path in paths}
    left, words = _MOST_OF_ALL, _quoted(contents, {w for name in named.values() for w in (name, _stem(name))})
    for _ in range(2):  # files of hydra name others
        for path, name in named.items():
            if path not in found and (name in words or _stem(name) in words):
                found[path] = _content(path, min(left, _MOST_BYTES))
                left -= len(found[path])
        words = {word for text in found.values() if b"defaults" in text for word in _ANY.findall(text)}
    slashed = ((path.replace("\\", "/"), content) for path, content in found.items())
    return tuple(sorted((posixpath.relpath(path, root), content) for path, content in slashed))


def _stem(name: bytes) -> bytes:
    return name.rpartition(b".")[0]


def _quoted(contents: Collection[bytes], wanted: Collection[bytes]) -> set[bytes]:
    """The words before quotation marks; if few are wanted, those of them."""
    if len(wanted) > _FEW:
        return {word for text in contents for word in _QUOTED.findall(text)}
    ends = {word: re.compile(rb"(?<![\w.-])" + re.escape(word) + rb"[\"']") for word in wanted}
    return {word for word, end in ends.items() if any(word in text and end.search(text) for text in contents)}


def said_options(
    contents: Collection[bytes], folder: str, configurations: Configurations
) -> tuple[tuple[str, str], ...]:
    """What option files, scripts and pages of a project say: see :class:`torchlint.program.world.World`.

    ``folder`` is that of its programs, whose contents these are.
    """
    if not any(word in content for content in contents for word in (*_READS, *_PARSES)):
        return ()
    found: set[tuple[bytes, bytes]] = set()
    left = _MOST_OF_ALL
    for path in _of_project(folder, configurations):
        text = _content(path, min(left, _MOST_BYTES))
        left -= len(text)
        found.update((b"-" + name, value) for name, value in _WRITTEN.findall(text))
        if path.endswith(ENDINGS):
            text = _COMMENT.sub(b"", text)
            found.update((key.rpartition(b".")[2], value) for key, value in _KEYED.findall(text))
            found.update((b"", word) for word in _ANY.findall(text) if word[:1].isalpha())
    return tuple(sorted((name.decode(), value.decode()) for name, value in found))


def _of_project(folder: str, configurations: Configurations) -> tuple[str, ...]:
    """The option files, scripts and pages of the project that a folder belongs to."""
    try:
        project = project_root(folder, configurations) or folder
    except ConfigError:  # of no file, since those of all files have been read
        project = folder
    if project not in configurations.option_files:
        configurations.option_files[project] = tuple(_below(project))
    return configurations.option_files[project]


def _below(folder: str) -> Iterator[str]:
    """The option files, scripts and pages below a folder; links are not followed."""
    for count, (path, folders, names) in enumerate(os.walk(folder)):
        if count == _MOST_FOLDERS:
            return
        folders[:] = sorted(name for name in folders if name not in DEFAULT_EXCLUDES and name[0] != ".")
        for name in sorted(names):
            full = os.path.join(path, name)
            if name.endswith((*ENDINGS, *_SCRIPTS)) and not os.path.islink(full):  # noqa: PTH114
                yield full


def _content(path: str, most: int) -> bytes:
    try:
        data = read(path, most)
    except OSError:
        return _LEFT_OUT
    return data if len(data) <= most else _LEFT_OUT
