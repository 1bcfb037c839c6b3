"""What following the programs tells of files, as the cache stores it: as JSON without the names of fields."""

from __future__ import annotations

from typing import Any

from torchlint.project.followed import (
    FollowedEvent,
    FollowedFeed,
    FollowedFile,
    FollowedLoader,
    FollowedOften,
    FollowedRepeat,
    FollowedStep,
    Range,
    Unfollowed,
)

_Place = tuple[int, int, int, int]
_Way = list[tuple[str, int, str]]
_Texts = list[tuple[_Place, str]]
_Event = tuple[
    _Place, str, str, str, str, str, tuple[int, int], _Way, list[str], str, bool, tuple[str, int], str, tuple[str, int],
]  # fmt: skip
_Feed = tuple[str, int, str, str, bool | None] | None
_Loader = tuple[
    _Place, str, int | None, _Feed, bool | None, str, str, bool | None, bool, tuple[str, int, str],
    list[tuple[str, int, int, str]]
]  # fmt: skip
_Steps = list[tuple[int, str, _Way]]
_Lines = list[int] | None
_Cut = tuple[bool, int]
_Often = tuple[_Place, str, str, bool, str]
_Repeat = tuple[_Place, bool, bool, bool]
# What is followed of a file: its path and the fields of a FollowedFile.
PACKED = tuple[
    str, str, _Texts, _Steps, _Texts, list[_Loader], _Lines, list[_Event], _Cut, list[_Often],
    list[_Repeat]
]  # fmt: skip


def unpacked(packed: list[Any]) -> FollowedFile:
    """What is known of a file, from what was stored of it."""
    content, tensors, steps, unusual, loaders, reached, events, unfollowed, often, repeats = packed
    found = [FollowedStep(line, phase, tuple((path, at, name) for path, at, name in way)) for line, phase, way in steps]
    made = tuple(map(_loader, loaders))
    lines = tuple(reached) if reached is not None else None
    ranges = _ranges(tensors), tuple(found), _ranges(unusual)
    happened = tuple(map(_event, events))
    counted = (
        tuple(FollowedOften((a, b, c, d), *rest) for (a, b, c, d), *rest in often),
        tuple(FollowedRepeat((a, b, c, d), *rest) for (a, b, c, d), *rest in repeats),
    )
    return FollowedFile(content, *ranges, made, lines, happened, Unfollowed(*unfollowed), *counted)


def _loader(packed: list[Any]) -> FollowedLoader:
    (a, b, c, d), option, workers, feed, *rest = packed
    found = FollowedLoader((a, b, c, d), option, workers, FollowedFeed(*feed) if feed is not None else None, *rest)
    path, line, name = found.decodes
    return found._replace(decodes=(path, line, name), starts=tuple((a, b, c, d) for a, b, c, d in found.starts))


def _event(packed: list[Any]) -> FollowedEvent:
    (a, b, c, d), form, what, phase, option, origin, (first, last), way, loops, use, seen, other, only, front = packed
    there = tuple((path, at, name) for path, at, name in way)
    rest = (first, last), there, tuple(loops), use, seen, tuple(other), only, tuple(front)
    return FollowedEvent((a, b, c, d), form, what, phase, option, origin, *rest)


def _ranges(packed: list[tuple[list[int], str]]) -> tuple[tuple[Range, str], ...]:
    return tuple(((line, column, end, end_column), text) for (line, column, end, end_column), text in packed)
