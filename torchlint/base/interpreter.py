"""Settings of the interpreter while a file is analyzed: the recursion limit and the garbage collector."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_RECURSION = 12_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raise the recursion limit for tree traversals, whose depth :mod:`~torchlint.analysis.syntax.depth` limits."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def no_collection() -> Iterator[None]:
    """Disable the garbage collector: nearly all objects live to the end of the analysis, and are freed then."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def few_full_collections() -> Iterator[None]:
    """Search all objects for garbage seldom, as in a process that ends soon: nearly all that is old is still needed."""
    import gc

    before = gc.get_threshold()
    gc.set_threshold(*before[:2], 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
