"""What LibCST's own parser makes of the lines of one statement."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from torchlint.analysis.syntax import depth
from torchlint.analysis.syntax.light.expressions import Unsupported

_AROUND = "if 1:\n"  # makes a module of an indented statement


class Exact(NamedTuple):
    """A module that holds one statement; its text begins ``shift`` characters before that of the statement."""

    tree: cst.Module
    statement: cst.CSTNode
    text: str
    shift: int


def exact(lines: str) -> Exact:
    """Parse the lines of a statement, indented or not. Raises :class:`Unsupported`."""
    around = _AROUND if lines[:1] in (" ", "\t", "\f") else ""
    text = around + lines
    if depth.problem(text) is not None:
        raise Unsupported("nested too deeply for LibCST")
    try:
        tree = depth.with_room(text, lambda: cst.parse_module(text))
        statement = tree.body[0].body.body[0] if around else tree.body[0]  # type: ignore[union-attr]
    except Exception as error:  # LibCST's parser raises what it likes
        raise Unsupported(lines[:80]) from error
    return Exact(tree, statement, text, len(around))
