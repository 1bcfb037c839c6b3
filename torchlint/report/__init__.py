"""Reports: for each format, a pure function from the result of a run to text.

A reporter reads no files and prints nothing. Formats that show source lines get them from :attr:`ReportOptions.source`.
Formats are imported on demand, since most runs need just one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torchlint.base.version import installation
from torchlint.model import RunResult
from torchlint.text.lines import split_lines

__all__ = ["FORMATS", "WIDTH", "Renderer", "ReportOptions", "renderer", "split_lines", "unavailable"]

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html")
# The width of text reports that no terminal shows.
WIDTH = 100
# Packages of the extra `report`, which other formats do without.
_NEEDED = {"html": ("Jinja2", "Pygments")}


def no_source(path: str, cell: int | None) -> Sequence[str] | None:  # noqa: ARG001 - the default of an option
    """A source without any lines."""
    return None


def no_line(path: str, cell: int, line: int) -> int | None:  # noqa: ARG001 - the default of an option
    """A notebook of which nothing is known."""
    return None


class ReportOptions(NamedTuple):
    """Options of reports for people; formats for programs ignore them.

    ``source`` returns the lines of a path, or of a cell of a notebook, without newline characters
    (:func:`split_lines`), or ``None`` if they are not available. ``file_line`` returns the line of a notebook's file on
    which a line of a cell is, for formats that know only files. ``verbose`` adds links, cached files and skipped
    folders, ``quiet`` omits the final count, ``statistics`` counts the findings of each rule instead of reporting them.
    ``show_info`` reports findings of severity ``info`` in full. ``links`` makes rules hyperlinks of the terminal, which
    has ``width`` cells.
    """

    color: bool = False
    links: bool = False
    width: int = WIDTH
    show_info: bool = False
    verbose: int = 0
    quiet: bool = False
    statistics: bool = False
    source: Callable[[str, int | None], Sequence[str] | None] = no_source
    file_line: Callable[[str, int, int], int | None] = no_line


def unavailable(name: str) -> str | None:
    """Why a format cannot be written here; None if it can."""
    from importlib.util import find_spec

    missing = [needed for needed in _NEEDED.get(name, ()) if find_spec(needed.lower()) is None]
    if not missing:
        return None
    are = "is" if len(missing) == 1 else "are"
    needs = f"needs {' and '.join(missing)}, which {are} not installed"
    return f"--output-format {name}: {needs}: {installation('report')}"


Renderer = Callable[[RunResult, ReportOptions], str]


def renderer(name: str) -> Renderer:
    """The function that renders the format called ``name``, one of :data:`FORMATS`."""
    from importlib import import_module

    if name not in FORMATS:
        raise ValueError(f"{name!r} is not an output format; use one of {', '.join(FORMATS)}")
    found: Renderer = import_module(f"{__name__}.{name}").render
    return found
