"""Mutated programs: real files with flipped bytes, deleted and spliced parts, and swapped names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

LARGEST = 40_000
_NAME = re.compile(rb"[A-Za-z_]\w*")
# Text that may break tokenizers, decoders and line counts.
TOKENS = (
    *(b"( ) [ ] { } : ; , . \\ ' \" ''' \"\"\" # @ = := -> ** ... \x0c \t \0 \xff \xc3\xa9 \xef\xbb\xbf".split(b" ")),
    *(b"async await lambda yield match case type global nonlocal del f'{x!r:>{w}}' rb'' 0x 1e 1_ 0o8 \\N{x}".split()),
    b"# noqa", b"# torchlint: ignore[TL101]", b"# torchlint: skip-file", b"# -*- coding: latin-1 -*-\n",
    b" if x else ", b"torch.", b".cuda()", b".item()", b".to(device)", b"\n    ", b"\n\t", b"\n", b"\r", b"\r\n",
)  # fmt: skip


def corpus(folders: Sequence[Path], random: Random, count: int) -> list[bytes]:
    """The content of some small files in the folders; the same ones for the same seed."""
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    random.shuffle(paths)
    found: list[bytes] = []
    for path in paths:
        if len(found) == count:
            break
        data = path.read_bytes() if path.is_file() else b""
        if 0 < len(data) <= LARGEST:
            found.append(data)
    return found


def mutants(files: Sequence[bytes], random: Random) -> Iterator[bytes]:
    """Endless mutants of the files."""
    while True:
        data = random.choice(files)
        for _ in range(random.choice((1, 1, 1, 2, 4, 12))):
            data = random.choice(_MUTATIONS)(data, files, random)
        yield data


def whole(folder: Path) -> Iterator[bytes]:
    """Every file in a folder unchanged, including those for tests of other parsers."""
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" not in path.parts and path.is_file():
            yield path.read_bytes()


def cuts(files: Sequence[bytes], random: Random) -> Iterator[bytes]:
    """Every file, truncated at the end of each line, and at as many positions inside lines."""
    for data in files:
        for line in re.finditer(rb"\n", data):
            yield data[: line.end()]
            yield data[: random.randrange(len(data))]


def _flip(data: bytes, __: Sequence[bytes], random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] if random.random() < 0.5 else data[at:]


def _drop(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + data[at + random.choice((1, 1, 2, 8, 80)) :]


def _insert(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.choice(TOKENS) * random.choice((1, 1, 1, 2, 300)) + data[at:]


def _splice(data: bytes, files: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(files)
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _splice_lines(data: bytes, files: Sequence[bytes], random: Random) -> bytes:
    """Insert lines of another file with adapted indentation, which mostly still gives a program."""
    lines, other = data.split(b"\n"), random.choice(files).split(b"\n")
    at, start = random.randint(0, len(lines)), random.randrange(len(other))
    return b"\n".join((*lines[:at], *other[start : start + random.randint(1, 12)], *lines[at:]))


def _repeat(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    block = lines[at : at + random.randint(1, 6)] * random.choice((2, 3, 40))
    return b"\n".join((*lines[:at], *block, *lines[at:]))


def _swap_lines(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    lines = data.split(b"\n")
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def _swap_names(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """Replace one name by another everywhere: code that refers to itself, and misplaced keywords."""
    names = sorted(set(_NAME.findall(data)))
    if not names:
        return data
    old, new = random.choice(names), random.choice(names)
    return re.sub(rb"\b" + old + rb"\b", new, data)


def _swap_one(data: bytes, _: Sequence[bytes], random: Random) -> bytes:
    """Swap two names once."""
    places = [found.span() for found in _NAME.finditer(data)]
    if len(places) < 2:
        return data
    (a, b), (c, d) = sorted(random.sample(places, 2))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


_MUTATIONS: Sequence[Callable[[bytes, Sequence[bytes], Random], bytes]] = (
    _flip, _cut, _drop, _insert, _splice, _splice_lines, _splice_lines, _repeat, _swap_lines, _swap_names, _swap_one,
)  # fmt: skip
