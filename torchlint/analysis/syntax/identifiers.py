"""Identifiers as Python takes them: by their NFKC form, so that full-width letters name the same as plain ones.

CPython's parser gives that form by itself, LibCST's gives what is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import is_normalized, normalize

import libcst as cst

from torchlint.analysis.syntax.walk import descendants

Spellings = list[tuple[cst.Name, str]]


def normalised(tree: cst.CSTNode, text: str) -> Spellings:
    """Give every name of the tree of a text its NFKC form; gives those that are written otherwise, and how."""
    if text.isascii() or is_normalized("NFKC", text):
        return []
    names = [node for node in descendants(tree) if isinstance(node, cst.Name)]
    found = [(node, node.value) for node in names if not is_normalized("NFKC", node.value)]
    for node, written in found:
        _put(node, normalize("NFKC", written))
    return found


@contextmanager
def spelled_as_written(spellings: Spellings) -> Iterator[None]:
    """Have these names as they are written, for as long as the tree is written out."""
    for node, written in spellings:
        _put(node, written)
    try:
        yield
    finally:
        for node, written in spellings:
            _put(node, normalize("NFKC", written))


def _put(node: cst.Name, value: str) -> None:
    object.__setattr__(node, "value", value)  # nodes are frozen for others
