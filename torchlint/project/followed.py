"""What following the programs of a project tells of one file, as plain data."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

# A range of source text as :mod:`ast` gives it: lines from 1, columns from 0 in UTF-8 bytes.
Range = tuple[int, int, int, int]


class FollowedStep(NamedTuple):
    """A function that runs in every step, or a loop that makes steps, by the line of its ``def``, ``for`` or ``while``.

    ``phase`` is ``training`` or ``inference``. ``way`` are the places from the step to the function: path, line, and
    the name of the function that is called there, or ``step`` for the loop.
    """

    line: int
    phase: str
    way: tuple[tuple[str, int, str], ...]


class FollowedFile(NamedTuple):
    """The tensors that expressions of the file are in a normal run, and what runs in every step.

    A tensor is ``device`` or ``host``, wherever the expression is evaluated; ``device mask`` and ``host mask`` are
    boolean ones. A file of which nothing is known has neither. ``content`` is a digest of what was followed: for any
    other content of the file, the ranges mean nothing.
    """

    content: str = ""
    tensors: tuple[tuple[Range, str], ...] = ()
    steps: tuple[FollowedStep, ...] = ()


NOT_FOLLOWED = FollowedFile()


def digest(content: bytes) -> str:
    """A digest of the content of a file."""
    return blake2b(content, digest_size=8).hexdigest()
