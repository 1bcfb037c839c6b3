"""The content of files that git has stored."""

from __future__ import annotations

from collections.abc import Mapping

from torchlint.vcs.git import GitProblem, Repository


def contents(repository: Repository, ids: Mapping[str, str], most: int) -> dict[str, bytes]:
    """The content of each file by the id of its blob; of larger files, one byte more than ``most``."""
    if not ids:
        return {}
    output = memoryview(
        repository.output("cat-file", "--batch", given="".join(f"{i}\n" for i in ids.values()).encode())
    )
    found, position = {}, 0
    for name in ids:
        start = bytes(output[position : position + 200]).index(b"\n") + position + 1
        size = _size(bytes(output[position:start]), name)
        found[name] = bytes(output[start : start + min(size, most + 1)])
        position = start + size + 1
    return found


def _size(header: bytes, name: str) -> int:
    last = header.split()[-1]
    if not last.isdigit():
        raise GitProblem(f"the content of {name} is missing in the repository; `git fsck` says more")
    return int(last)
