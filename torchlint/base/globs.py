"""Globs of the configuration and of ``.gitignore`` files, matched by pathspec.

They may come from an untrusted project, so their number, their length and the cost of matching are limited: pathspec
compiles globs to regular expressions, which backtrack over all ways to split a name among the ``*`` of a glob.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST = 5_000
MOST_CHARACTERS = 200_000
#: Ways to match that are tried for one path, at most: a fraction of a second.
MOST_WAYS = 10_000_000


class GlobProblem(Exception):
    """The globs cannot be used. The message continues a sentence that begins with where they come from."""


class _Shape(NamedTuple):
    """The parts of a glob that determine the cost of matching: its ``**``, and its parts with several ``*``.

    The last wildcard of each part matches at once; the text after each of the others may match in many places.
    """

    deep: int
    stars: tuple[int, ...]

    def ways(self, path: str) -> int:
        """An upper bound for the number of characters that matching looks at."""
        longest = max(map(len, path.split("/")))
        slashes = path.count("/")
        found = len(path) * _choices(slashes + 1, self.deep)
        for count in self.stars[-slashes - 1 :]:
            if found > MOST_WAYS:
                break
            found *= _choices(longest, count)
        return found


@lru_cache(maxsize=4096)
def _choices(places: int, most: int) -> int:
    """The number of ways to choose up to ``most`` of so many places, capped at the limit."""
    found = term = 1
    for number in range(1, min(places, most) + 1):
        term = term * (places - number + 1) // number
        found += term
        if found > MOST_WAYS:
            break
    return found


class Patterns:
    """The patterns of one ``.gitignore``, or of globs in the same language. Raises :class:`GlobProblem`."""

    def __init__(self, lines: Sequence[str], *, strict: bool = False) -> None:
        check_size(lines)
        lines = [_STARS.sub(_fewer, line if line.endswith("\\ ") else line.rstrip()) for line in lines]
        self._spec = _spec(lines, strict=strict)
        self._shapes: dict[_Shape, list[str]] = {}
        for line in lines:
            shape = _shape(line)
            if shape != _SIMPLE:
                self._shapes.setdefault(shape, []).append(line)

    def verdict(self, path: str) -> bool | None:
        """True if the patterns match a path, False if ``!`` excludes it, else None. Folders end in a slash."""
        ways = 0
        for shape, lines in self._shapes.items():
            ways += len(lines) * shape.ways(path)
            if ways > MOST_WAYS:
                raise GlobProblem(f"{_shown(lines[0])} has too many `*` to be matched with so long a path; use fewer")
        return self._spec.check_file(path).include


def path_matches(globs: tuple[str, ...], path: str) -> bool:
    """Whether a glob matches ``path`` (relative to the configuration's root, with ``/``). Raises :class:`GlobProblem`.

    A glob without a slash matches a name at any depth; a glob that matches a folder matches everything in it. A path
    component ``**`` matches any number of components, as in git; elsewhere ``**`` is the same as ``*``.
    """
    return bool(globs) and compiled(globs).verdict(path) is True


@lru_cache(maxsize=2 * MOST)
def compiled(globs: tuple[str, ...]) -> Patterns:
    """Globs of the configuration, without negation, comments or escapes. Raises :class:`GlobProblem`."""
    return Patterns([_line(glob) for glob in globs], strict=True)


def check_size(globs: Iterable[str]) -> None:
    """Raise :class:`GlobProblem` for too many or too long globs."""
    count = characters = 0
    for glob in globs:
        count += 1
        characters += len(glob)
    if count > MOST:
        raise GlobProblem(f"holds {count:,} patterns, and the limit is {MOST:,}; use wildcards")
    if characters > MOST_CHARACTERS:
        raise GlobProblem(f"holds patterns of {characters:,} characters, and the limit is {MOST_CHARACTERS:,}")


def _line(glob: str) -> str:
    """A glob of the configuration as a line of ``.gitignore``. It may match both files and folders with this name."""
    line = glob.replace(os.sep, "/") if os.sep != "/" else glob.replace("\\", "\\\\")
    line = line.removeprefix(".").rstrip("/") if line.startswith("./") else line.rstrip("/")
    line = line or "/"  # not a pattern
    if line[:1] in ("!", "#"):
        line = "\\" + line
    return f"{line[:-1]}\\ " if line.endswith(" ") else line


def _spec(lines: Sequence[str], *, strict: bool) -> GitIgnoreSpec:
    try:
        spec = _read(lines)
        if not strict or sum(pattern.include is not None for pattern in spec.patterns) == len(lines):
            return spec
    except (ValueError, re.error):
        pass
    if strict:  # an unbalanced bracket stands for itself
        lines = [line if _is_pattern(line) else line.replace("[", "\\[") for line in lines]
    valid = [line for line in lines if _is_pattern(line)]
    if strict and len(valid) < len(lines):
        wrong = next(line for line in lines if not _is_pattern(line))
        raise GlobProblem(f"holds {_shown(wrong)}, which is not a valid pattern; correct or remove it")
    return _read(valid)  # git ignores invalid patterns, and so does this


def _is_pattern(line: str) -> bool:
    try:
        return any(pattern.include is not None for pattern in _read([line]).patterns)
    except (ValueError, re.error):
        return False


def _read(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # brackets that some version of Python may parse differently
        return GitIgnoreSpec.from_lines(lines)


# `**` that is not a whole component is `*`, and of several `**` in a row one is enough.
_STARS = re.compile(r"(?:(?<![^/])\*\*/){2,}|(?<!\\)\*{2,}")
_SIMPLE = _Shape(0, ())


def _fewer(found: re.Match[str]) -> str:
    text, (begin, end) = found.string, found.span()
    if found[0][-1] == "/":
        return "**/"
    begins = begin == 0 or text[begin - 1] == "/" or (begin == 1 and text[0] == "!")
    whole = begins and text[end : end + 1] in ("", "/")
    return "**" if whole and end - begin == 2 else "*"


def _shape(line: str) -> _Shape:
    parts = line.removeprefix("!").rstrip("/").split("/")
    # A glob without a slash has an implicit leading `**`, whose cost is at most the length of the path.
    deep = parts.count("**") + (len(parts) == 1)
    several = sorted(stars for part in parts if part != "**" and (stars := part.count("*") - 1) > 0)
    return _Shape(max(deep - 1, 0), tuple(several))


def _shown(line: str) -> str:
    return repr(line if len(line) <= 80 else line[:77] + "...")
