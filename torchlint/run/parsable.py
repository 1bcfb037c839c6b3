"""Whether a file is a program at all, asked of files in which nothing else is to be parsed for."""

from __future__ import annotations

import warnings

from torchlint.base import limits
from torchlint.text.decode import DecodeProblem, decode


def is_parsable(data: bytes) -> bool:
    """CPython reads the bytes as a module; if it does not, LibCST may, or can say what is wrong.

    The table of symbols is what its parser gives in the shortest time: no syntax tree becomes Python objects for it.
    """
    import symtable

    if len(data) > limits.MAX_BYTES:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            symtable.symtable(decode(data), "<file>", "exec")
    except (DecodeProblem, SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    return True
