"""Globs of the configuration: which paths they cover.

They may come from a project that nobody trusts, so that no glob makes matching slow: within a part of a path
every ``*`` is settled once and for all by what stands behind it, and the ``**`` of a glob are few.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import count

MANY = 4
_TOKENS = re.compile(r"\*\*/|\*+|\?|\[!?\]?[^\]/]{0,200}\]|.", re.DOTALL)


def path_matches(globs: tuple[str, ...], path: str) -> bool:
    """Whether a glob covers ``path`` (relative to the configuration's root, with ``/``).

    A glob without a slash is for a name at any depth; a glob that covers a folder covers what is in it.
    """
    return bool(globs) and _pattern(globs).match(path) is not None


def is_costly(glob: str) -> bool:
    """The glob has more than :data:`MANY` ``**``, which would have to be tried in every combination."""
    return sum(token.startswith("**") for token in _tokens(glob)) > MANY


@lru_cache(maxsize=64)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    names = count()
    return re.compile("|".join(f"(?:{_translate(glob, names)})" for glob in globs), re.DOTALL)


def _tokens(glob: str) -> list[str]:
    bare = re.sub(r"(?:\*\*/)+", "**/", glob.replace(os.sep, "/").rstrip("/"))
    return _TOKENS.findall(re.sub(r"^\.?/", "", bare))


def _translate(glob: str, names: count[int]) -> str:
    tokens = _tokens(glob)
    anchored = "/" in glob.replace(os.sep, "/").rstrip("/")
    pattern, pending = "" if anchored else "(?:.*/)?", ""
    # `pending` is a `*` with what stands behind it, until another `*` or the end of the part decides how it matches.
    for token in tokens:
        if token == "*" and pending:
            name = f"g{next(names)}"
            pattern += f"(?=(?P<{name}>[^/]*?{pending}))(?P={name})"
            pending = ""
        if token == "*":
            pending = "(?:)"
        elif token == "/" or token.startswith("**"):
            pattern, pending = pattern + _last(pending) + _token(token), ""
        elif pending:
            pending += _token(token)
        else:
            pattern += _token(token)
    return pattern + _last(pending) + r"(?:/.*)?\Z"


def _last(pending: str) -> str:
    return f"[^/]*{pending}" if pending else ""


def _token(token: str) -> str:
    if token.startswith("**"):
        return "(?:.*/)?" if token == "**/" else ".*"
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
