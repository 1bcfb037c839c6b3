"""The folders that are measured: files alone, without the environments that lie beside them in the cache.

They are made of hard links, since not every tool follows symbolic ones, and hold nothing but Python files.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import corpora


@dataclass(frozen=True)
class Tree:
    """A folder of Python files, and how many bytes they have."""

    label: str
    path: Path
    files: int
    size: int


def utils(cache: Path) -> Tree:
    """``torch/utils`` of the torch that is installed here."""
    torch = corpora.fetch("torch", cache)
    target = cache / "trees" / f"torch-utils-{torch.version}"
    return _tree(f"torch/utils {torch.version}", _made(target, {"utils": torch.path / "utils"}))


def timm(cache: Path) -> Tree:
    """The package timm."""
    corpus = corpora.fetch("timm", cache)
    return _tree(f"timm {corpus.version}", corpus.path)


def eleven(cache: Path) -> Tree:
    """All packages of corpora.py in one folder."""
    return _tree("the eleven packages of corpora.py", _eleven(cache, "whole", lambda _: True))


def halves(cache: Path) -> tuple[Tree, Tree]:
    """The files of all packages, each in one of two folders as the hash of its path says."""
    first = _eleven(cache, "half-0", lambda path: not _odd(path))
    second = _eleven(cache, "half-1", _odd)
    return _tree("first half", first), _tree("second half", second)


def read(tree: Tree) -> None:
    """Read every file once, so that they are in the page cache."""
    for path in _python_files(tree.path):
        path.read_bytes()


def _eleven(cache: Path, part: str, wanted: Callable[[str], bool]) -> Path:
    packages = {f"{c.name}-{c.version}": c.path for c in (corpora.fetch(name, cache) for name in corpora.PACKAGES)}
    state = blake2b(" ".join(packages).encode(), digest_size=4).hexdigest()
    return _made(cache / "trees" / f"eleven-{state}-{part}", packages, wanted)


def _odd(path: str) -> bool:
    return bool(blake2b(path.encode(), digest_size=1).digest()[0] & 1)


def _made(target: Path, sources: Mapping[str, Path], wanted: Callable[[str], bool] = lambda _: True) -> Path:
    """The folder with the Python files of other folders, made when it is missing."""
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        for name, source in sources.items():
            for path in _python_files(source):
                relative = f"{name}/{path.relative_to(source).as_posix()}"
                if wanted(relative):
                    _link(path, Path(scratch) / "tree" / relative)
        (Path(scratch) / "tree").replace(target)
    return target


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copyfile(source, target)


def _python_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if path.is_file())


def _tree(label: str, path: Path) -> Tree:
    sizes = [file.stat().st_size for file in _python_files(path)]
    return Tree(label, path.resolve(), len(sizes), sum(sizes))
