"""What following the programs of a project tells of one file, as plain data."""

from __future__ import annotations

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
    """What is known of a file; nothing of one that no program reaches.

    ``tensors``: expressions that are tensors whenever a normal run evaluates them, on the ``device`` or the ``host``;
    ``device mask`` and ``host mask`` are boolean ones. ``unusual``: what a normal run does not get to, or only with an
    option that is off by default, with the reason in words. ``content`` is a digest of what was followed: positions
    mean nothing for any other content of the file.
    """

    content: str = ""
    tensors: tuple[tuple[Range, str], ...] = ()
    steps: tuple[FollowedStep, ...] = ()
    unusual: tuple[tuple[Range, str], ...] = ()


NOT_FOLLOWED = FollowedFile()


def digest(content: bytes) -> str:
    """A digest of the content of a file."""
    from hashlib import blake2b

    return blake2b(content, digest_size=8).hexdigest()
