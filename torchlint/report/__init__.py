"""Reports: one pure function a format, the results of a run in, text out.

A reporter reads no files and prints nothing. Source lines reach the formats that show them through
:attr:`ReportOptions.source`. Formats are imported when asked for, since most runs need just one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchlint.model import RunResult
from torchlint.text.lines import split_lines

__all__ = ["FORMATS", "Renderer", "ReportOptions", "renderer", "split_lines"]

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


def no_source(path: str) -> Sequence[str] | None:  # noqa: ARG001 - the default of an option
    """Know the lines of no file."""
    return None


class ReportOptions(NamedTuple):
    """What a reader may wish for. Formats for machines heed none of it.

    ``source`` gives the lines of a path without their line ends (:func:`split_lines`), or ``None``
    where they cannot be had. ``verbose`` adds links, cached files and folders passed over, ``quiet`` drops the
    closing count.
    """

    color: bool = False
    verbose: int = 0
    quiet: bool = False
    statistics: bool = False
    source: Callable[[str], Sequence[str] | None] = no_source


Renderer = Callable[[RunResult, ReportOptions], str]


def renderer(name: str) -> Renderer:
    """The function that renders the format called ``name``, one of :data:`FORMATS`."""
    from importlib import import_module

    if name not in FORMATS:
        raise ValueError(f"{name!r} is not an output format; use one of {', '.join(FORMATS)}")
    found: Renderer = import_module(f"{__name__}.{name}").render
    return found
