"""Parses the lines of one statement with LibCST's own parser."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from torchlint.analysis.syntax import depth
from torchlint.analysis.syntax.light.expressions import Unsupported

_AROUND = "if 1:\n"  # makes an indented statement a valid module


class Exact(NamedTuple):
    """A module with a single statement; its text begins ``shift`` characters before the statement."""

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
    except Exception as error:  # LibCST's parser raises many kinds of exceptions
        raise Unsupported(lines[:80]) from error
    return Exact(tree, statement, text, len(around))
