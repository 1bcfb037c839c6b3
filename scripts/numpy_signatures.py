"""The parameters of functions of NumPy, from their signatures or their documentation."""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

import numpy as np


class Parameter(NamedTuple):
    """A parameter; ``position`` is None for one that is only passed by keyword."""

    name: str
    position: int | None
    optional: bool
    default: str


def parameters(function: Any, skip: int = 0) -> list[Parameter] | None:
    """The parameters of a function, from its signature or else from the first lines of its documentation."""
    if isinstance(function, np.ufunc):
        operands = [Parameter(f"x{i}", i, False, "") for i in range(function.nin)]
        return [*operands, Parameter("out", function.nin, True, "None")] if function.nout == 1 else None
    try:
        listed = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        return _documented(str(function.__doc__ or ""))
    found = []
    for place, one in enumerate(listed):
        if one.kind is one.VAR_KEYWORD:
            continue
        by_keyword = one.kind is one.KEYWORD_ONLY
        optional = one.default is not one.empty or (one.kind is one.VAR_POSITIONAL and place > 0)
        found.append(Parameter(one.name, None if by_keyword else place, optional, repr(one.default)))
    return found


def _documented(text: str) -> list[Parameter] | None:
    """The parameters in a line such as ``a.take(indices, axis=None, out=None, mode='raise')``."""
    head = re.match(r"\s*[\w.]+\((.*?)\)\s*(?:->.*)?(?:\n\s*\n|\Z)", text, re.DOTALL)
    if head is None:
        return None
    written = re.sub(r"\(\s*\w+(?:,\s*[\w.]+)*,?\s*\)", "arrays", head[1], count=1) if "..." in head[1] else head[1]
    found: list[Parameter] = []
    keywords, optional = False, False
    for part in re.findall(r"[\[\]]|[^,\[\]]+", written):
        name, _, default = part.strip().partition("=")
        if part in "[]":
            optional = part == "["
        elif name == "*":
            keywords = True
        elif re.fullmatch(r"\w+", name):
            found.append(Parameter(name, None if keywords else len(found), bool(default) or optional, default))
    last = max((place for place, one in enumerate(found) if not one.optional), default=0)
    return [one._replace(optional=one.optional and place > last) for place, one in enumerate(found)]
