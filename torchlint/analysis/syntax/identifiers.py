"""NFKC forms of identifiers. Python compares identifiers in this form, so full-width letters equal ASCII letters.

CPython's parser normalizes identifiers, LibCST's does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import is_normalized, normalize

import libcst as cst

from torchlint.analysis.syntax.walk import descendants

Spellings = list[tuple[cst.Name, str]]


def normalized(tree: cst.CSTNode, text: str) -> Spellings:
    """Normalize every name in a tree; returns the names that were spelled differently, with their spellings."""
    if text.isascii() or is_normalized("NFKC", text):
        return []
    names = [node for node in descendants(tree) if isinstance(node, cst.Name)]
    found = [(node, node.value) for node in names if not is_normalized("NFKC", node.value)]
    for node, written in found:
        _put(node, normalize("NFKC", written))
    return found


@contextmanager
def spelled_as_written(spellings: Spellings) -> Iterator[None]:
    """Restore the original spellings while the tree is written out."""
    for node, written in spellings:
        _put(node, written)
    try:
        yield
    finally:
        for node, written in spellings:
            _put(node, normalize("NFKC", written))


def _put(node: cst.Name, value: str) -> None:
    object.__setattr__(node, "value", value)  # nodes are frozen dataclasses
