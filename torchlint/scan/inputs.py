"""The input of a scan, divided into pieces that one task reads each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import NamedTuple

from torchlint.base.globs import GlobProblem, path_matches
from torchlint.run.discovery.sources import SEARCHED
from torchlint.scan.problems import ScanError, reason
from torchlint.scan.store import Entry, Store, opened

PARQUET, ARROW, LINES, REPOSITORIES, ARCHIVES = "parquet", "arrow", "lines", "repositories", "archives"
_SUFFIXES = {
    ".parquet": PARQUET, ".parq": PARQUET,
    ".arrow": ARROW, ".feather": ARROW, ".ipc": ARROW,
    ".jsonl": LINES, ".ndjson": LINES, ".jsonlines": LINES,
}  # fmt: skip
_COMPRESSED = (".gz", ".zst", ".bz2", ".lz4")
_ARCHIVES = (".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz")
_PIECE = 256_000_000  # bytes of input that one task reads, as far as the input can be divided
_TOGETHER = 64_000_000  # bytes of small archives for one task
_REPOSITORIES = 16  # for one task
_WILD = re.compile(r"[*?\[]")
# How many bytes of source code are in a byte of input, roughly.
_RATIOS = {PARQUET: 4, ARROW: 1, LINES: 1, ARCHIVES: 4, REPOSITORIES: 1}
_REPOSITORY = 2_000_000  # bytes of code in a repository, roughly


class Piece(NamedTuple):
    """A part of the input: a range of a file in row groups or bytes (-1: to its end), or several repositories."""

    number: int
    kind: str
    files: tuple[str, ...]
    begin: int = 0
    end: int = -1
    size: int = 0


class Found(NamedTuple):
    """The pieces of an input, its size in bytes of code (roughly), and a digest of the names and sizes of its files."""

    store: Store
    pieces: list[Piece]
    size: int
    digest: str


def find(text: str) -> Found:
    """Find what a path, a URI or a glob means. Raises ``ScanError``."""
    try:
        store, entries = _listed(text)
        data = [one for one in entries if not one.folder and data_kind(one.path)]
        if data:
            pieces = _divided(store, [piece for one in data for piece in _of_data(one)])
        else:
            data = _repositories(text, entries)
            pieces = _together(data)
    except OSError as error:
        raise ScanError(f"{text}: cannot be read: {reason(error)}") from None
    except GlobProblem as problem:
        raise ScanError(f"{text}: {problem}") from None
    listed = "\n".join(f"{one.path}\0{one.size}\0{one.changed}" for one in data)
    digest = blake2b(listed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    numbered = [piece._replace(number=number) for number, piece in enumerate(pieces)]
    return Found(store, numbered, sum(_RATIOS[piece.kind] * piece.size for piece in pieces), digest)


def data_kind(name: str) -> str:
    """The kind of a file of a data set by its name; empty if it is none."""
    lower = name.lower()
    for suffix, kind in _SUFFIXES.items():
        if lower.endswith(suffix) or (kind == LINES and lower.endswith(tuple(suffix + c for c in _COMPRESSED))):
            return kind
    return ""


def is_archive(name: str) -> bool:
    """Whether a file is an archive by its name."""
    return name.lower().endswith(_ARCHIVES)


def _listed(text: str) -> tuple[Store, list[Entry]]:
    """The folder that a text names, with everything below it that it means."""
    wild = _WILD.search(text)
    if wild is not None and not (plain := opened(text)).kind():
        base, glob = text[: text.rfind("/", 0, wild.start()) + 1], text[text.rfind("/", 0, wild.start()) + 1 :]
        store = opened(base or ".")
        found = [one for one in store.entries(deep=True) if path_matches((f"/{glob}",), one.path)]
        if not found:
            raise ScanError(f"{text}: matches no file")
        return store, [one for one in found if not one.folder]
    plain = opened(text)
    kind = plain.kind()
    if kind == "folder":
        return plain, _in_folder(plain)
    if kind == "file":
        parent, _, _ = plain.root.rpartition("/")
        return plain._replace(root=parent or "/"), [plain.file()]
    raise ScanError(f"{text}: there is no such file or folder")


def _in_folder(store: Store) -> list[Entry]:
    """The data files below a folder; or what is in it, down to the ``.git`` of each repository."""
    top = store.entries()
    repository = any(_git(one.path) for one in top)
    if not repository and any(data_kind(one.path) for one in top):
        return store.entries(deep=True)
    near = list(top)
    for one in top:
        if one.folder and not repository:
            near += _near(store, one.path)
    if not any(_git(one.path) or is_archive(one.path) for one in near):
        deep = store.entries(deep=True)
        if not any(one.path.endswith(SEARCHED) for one in deep):
            return deep
    return [one for one in near if not data_kind(one.path)]  # data files in repositories are theirs


def _near(store: Store, folder: str) -> list[Entry]:
    """What is in a folder, and the ``.git`` of the folders in it."""
    inside = [one._replace(path=f"{folder}/{one.path}") for one in store.below(folder).entries()]
    if any(_git(one.path) for one in inside):
        return inside
    marks = [f"{one.path}/.git" for one in inside if one.folder]
    return [*inside, *(Entry(mark, 0, "", folder=True) for mark in marks if store.below(mark).kind())]


def _git(path: str) -> bool:
    return path == ".git" or path.endswith("/.git")


def _repositories(text: str, entries: Sequence[Entry]) -> list[Entry]:
    """The archives and repositories among these: folders with a ``.git``, or else those directly in the folder."""
    roots = {one.path[:-5] for one in entries if _git(one.path)}
    outer = [one for one in roots if not any(_inside(one, other) for other in roots)]
    top = [one for one in entries if "/" not in one.path]
    archives = [one for one in top if not one.folder and is_archive(one.path)]
    if "" in roots or (not archives and any(one.path.endswith(SEARCHED) for one in top)):
        return [Entry("", _REPOSITORY, "", folder=True)]
    tops = {root.split("/")[0] for root in outer}
    folders = sorted([*outer, *(one.path for one in top if one.folder and one.path not in tops)])
    if not (archives or folders):
        kinds = "Parquet, JSONL or Arrow files, repositories or archives (.zip, .whl, .tar.gz)"
        raise ScanError(f"{text}: holds no {kinds}")
    return [*archives, *(Entry(name, _REPOSITORY, "", folder=True) for name in folders)]


def _inside(path: str, other: str) -> bool:
    return path != other and path.startswith(f"{other}/")


def _of_data(one: Entry) -> list[Piece]:
    kind = data_kind(one.path)
    whole = Piece(0, kind, (one.path,), size=one.size)
    if kind != LINES or one.path.lower().endswith(_COMPRESSED) or one.size <= _PIECE:
        return (
            [whole._replace(size=5 * one.size)] if kind == LINES and one.path.lower().endswith(_COMPRESSED) else [whole]
        )
    starts = range(0, one.size, _PIECE)
    return [Piece(0, kind, (one.path,), at, min(at + _PIECE, one.size), _PIECE) for at in starts]


def _divided(store: Store, pieces: list[Piece]) -> list[Piece]:
    """Divide large Parquet files by row groups; those that cannot be read fail later, when their task reads them."""
    with ThreadPoolExecutor(16) as pool:
        return [part for parts in pool.map(lambda piece: _by_groups(store, piece), pieces) for part in parts]


def _by_groups(store: Store, piece: Piece) -> list[Piece]:
    if piece.kind != PARQUET or piece.size <= _PIECE:
        return [piece]
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with store.open(piece.files[0]) as file:
            groups: int = pq.read_metadata(file).num_row_groups
    except (OSError, pa.ArrowException):
        return [piece]
    each = max(1, groups * _PIECE // piece.size)
    starts = range(0, groups, each)
    return [piece._replace(begin=at, end=min(at + each, groups), size=piece.size // len(starts)) for at in starts]


def _together(found: Iterable[Entry]) -> list[Piece]:
    """Pieces of a few repositories, or of small archives."""
    pieces: list[Piece] = []
    for one in found:
        kind = REPOSITORIES if one.folder else ARCHIVES
        last = pieces[-1] if pieces else None
        if last is not None and last.kind == kind and _fits(last, one):
            pieces[-1] = last._replace(files=(*last.files, one.path), size=last.size + one.size)
        else:
            pieces.append(Piece(0, kind, (one.path,), size=one.size))
    return pieces


def _fits(piece: Piece, one: Entry) -> bool:
    return piece.size + one.size <= _TOGETHER and (piece.kind == ARCHIVES or len(piece.files) < _REPOSITORIES)
