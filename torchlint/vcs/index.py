"""The content of the index: what the next commit would contain."""

from __future__ import annotations

import os
from typing import NamedTuple

from torchlint.vcs.git import Repository

_FILES = ("100644", "100755")


class Index(NamedTuple):
    """The regular files of an index by name, with the ids of their content.

    ``unmerged`` are files with conflicts, ``edited`` those whose file on disk differs, ``missing`` those without one.
    """

    files: dict[str, str]
    unmerged: frozenset[str]
    edited: frozenset[str]
    missing: frozenset[str]


def index_of(repository: Repository) -> Index:
    """Read the index, and compare it with the working tree."""
    files: dict[str, str] = {}
    unmerged = set()
    for record in _records(repository.output("ls-files", "-z", "--stage", "--full-name")):
        facts, _, name = record.partition("\t")
        mode, content, stage = facts.split(" ")
        if stage != "0":
            unmerged.add(name)
        elif mode in _FILES:
            files[name] = content
    edited, missing = set(), set()
    flags = ("--no-ext-diff", "--ignore-submodules=all", "--no-renames", "--raw", "-z")
    fields = iter(_records(repository.output("diff-files", *flags)))
    for field in fields:
        status, name = field.split(" ")[-1], next(fields)
        if status == "A":  # only announced by `git add --intent-to-add`
            files.pop(name, None)
        elif status == "D":
            missing.add(name)
        elif status in ("M", "T"):
            edited.add(name)
    return Index(files, frozenset(unmerged), frozenset(edited - unmerged), frozenset(missing - unmerged))


def _records(output: bytes) -> list[str]:
    return [record for record in os.fsdecode(output).split("\0") if record]
