"""Reports: for each format, a pure function from the result of a run to text.

A reporter reads no files and prints nothing. Formats that show source lines get them from :attr:`ReportOptions.source`.
Formats are imported on demand, since most runs need just one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchlint.model import RunResult
from torchlint.text.lines import split_lines

__all__ = ["FORMATS", "Renderer", "ReportOptions", "renderer", "split_lines", "unavailable"]

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "html")
# Packages of the extra `report`, which other formats do without.
_NEEDED = {"html": ("Jinja2", "Pygments")}


def no_source(path: str) -> Sequence[str] | None:  # noqa: ARG001 - the default of an option
    """A source without any lines."""
    return None


class ReportOptions(NamedTuple):
    """Options of reports for people; formats for programs ignore them.

    ``source`` returns the lines of a path without newline characters (:func:`split_lines`), or ``None`` if they are not
    available. ``verbose`` adds links, cached files and skipped folders, ``quiet`` omits the final count.
    """

    color: bool = False
    verbose: int = 0
    quiet: bool = False
    statistics: bool = False
    source: Callable[[str], Sequence[str] | None] = no_source


def unavailable(name: str) -> str | None:
    """Why a format cannot be written here; None if it can."""
    from importlib.util import find_spec

    missing = [needed for needed in _NEEDED.get(name, ()) if find_spec(needed.lower()) is None]
    if not missing:
        return None
    are = "is" if len(missing) == 1 else "are"
    needs = f"needs {' and '.join(missing)}, which {are} not installed"
    return f"--output-format {name}: {needs}: pip install 'torchlint[report]'"


Renderer = Callable[[RunResult, ReportOptions], str]


def renderer(name: str) -> Renderer:
    """The function that renders the format called ``name``, one of :data:`FORMATS`."""
    from importlib import import_module

    if name not in FORMATS:
        raise ValueError(f"{name!r} is not an output format; use one of {', '.join(FORMATS)}")
    found: Renderer = import_module(f"{__name__}.{name}").render
    return found
