"""Globs of the configuration: which paths they cover.

They may come from a project that nobody trusts, so that no glob makes matching slow: every ``*`` is settled once and
for all by what stands behind it up to the next one, and every ``**`` by the parts up to the next one.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import count

_TOKENS = re.compile(r"\*+|\?|\[!?\]?[^\]/]{0,200}\]|.", re.DOTALL)


def path_matches(globs: tuple[str, ...], path: str) -> bool:
    """Whether a glob covers ``path`` (relative to the configuration's root, with ``/``).

    A glob without a slash is for a name at any depth; a glob that covers a folder covers what is in it. ``**`` that is
    a whole part of the glob stands for any number of parts, as for git; elsewhere it is a ``*``.
    """
    return bool(globs) and _pattern(globs).match(path) is not None


@lru_cache(maxsize=64)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    names = count()
    return re.compile("|".join(f"(?:{_translate(glob, names)})" for glob in globs), re.DOTALL)


def _translate(glob: str, names: count[int]) -> str:
    bare = glob.replace(os.sep, "/").rstrip("/")
    parts = re.sub(r"^\.?/", "", bare).split("/")
    if "/" not in bare:
        parts.insert(0, "**")
    runs: list[list[str]] = [[]]  # the parts between one `**` and the next
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            runs[-1].append(_part(part, names))
    if not runs[-1]:
        runs[-1].append("[^/]+")  # `a/**` covers what is in `a`
    first, *others = [run for i, run in enumerate(runs) if run or not i]
    pattern = "/".join(first)
    for number, run in enumerate(others, 1):
        text, slash = "/".join(run), "/" if pattern else ""
        if number == len(others):
            return rf"{pattern}{slash}(?:.*/)?{text}(?:/.*)?\Z"
        pattern += slash + _settled(f"(?:.*?/)??{text}", "(?=/)", names)
    return rf"{pattern}(?:/.*)?\Z"


def _part(part: str, names: count[int]) -> str:
    """One part of a path: each `*` goes to the first place at which what stands behind it fits."""
    first, *others = _between(part)
    if not others:
        return first
    settled = "".join(_settled(f"[^/]*?{text}", "", names) for text in others[:-1])
    return f"{first}{settled}[^/]*{others[-1]}"


def _between(part: str) -> list[str]:
    """The patterns before, between and behind the `*` of a part."""
    found = [""]
    for token in _TOKENS.findall(part):
        if token[0] == "*":
            found.append("")
        else:
            found[-1] += _token(token)
    return found


def _settled(pattern: str, behind: str, names: count[int]) -> str:
    """The first match of a pattern, of which no other is tried."""
    name = f"g{next(names)}"
    return f"(?=(?P<{name}>{pattern}){behind})(?P={name})"


def _token(token: str) -> str:
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 2:
        negated = token[1] == "!"
        body = token[1 + negated : -1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        candidate = f"[{'^/' if negated else ''}{body.replace('^', chr(92) + '^')}]"
        try:
            re.compile(candidate)
        except re.error:  # such as the range z-a: then it is meant literally
            return re.escape(token)
        return candidate
    return re.escape(token)
