"""NFKC forms of identifiers. Python compares identifiers in this form, so full-width letters equal ASCII letters.

CPython's parser normalizes identifiers, LibCST's does not.
"""

from __future__ import annotations

import unicodedata

import libcst as cst

from torchlint.analysis.syntax.walk import descendants


def normalize(tree: cst.CSTNode, text: str) -> None:
    """Normalize every name in a tree of LibCST."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return
    for node in descendants(tree):
        if isinstance(node, cst.Name):
            value = unicodedata.normalize("NFKC", node.value)
            object.__setattr__(node, "value", value)  # nodes are frozen dataclasses
