"""Checks the syntax of files that need no other parsing."""

from __future__ import annotations

import warnings

from torchlint.base import limits
from torchlint.text.decode import DecodeProblem, decode
from torchlint.text.trees import TREES


def is_parsable(data: bytes) -> bool:
    """Whether CPython can parse the bytes as a module; if not, LibCST may still parse them, or report the error.

    Building the symbol table is the fastest way to run the parser: it creates no Python objects for a syntax tree.
    """
    import symtable

    if data in TREES:
        return True
    if len(data) > limits.MAX_BYTES:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(decode(data), "<file>", "exec")
    except (DecodeProblem, SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    return True
