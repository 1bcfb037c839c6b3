"""What is linted for the files of a run: their bytes, and the modules of notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torchlint.base import limits
from torchlint.base.timings import phase
from torchlint.model import FileResult, Problem
from torchlint.run.discovery.sources import is_notebook

if TYPE_CHECKING:
    from torchlint.notebook.book import Book


class Contents(NamedTuple):
    """The code of each file, the notebooks among them, and the results for files that cannot be read."""

    code: dict[str, bytes]
    books: dict[str, Book]
    unreadable: list[FileResult]


def read_all(paths: Iterable[str], given: Mapping[str, bytes]) -> Contents:
    """Read files; what is ``given`` for a file counts instead of what is on disk."""
    found = Contents({}, {}, [])
    for path in paths:
        with phase("read"):
            code = _code(path, given.get(path), found.books)
        if isinstance(code, FileResult):
            found.unreadable.append(code)
        else:
            found.code[path] = code
    return found


def _code(path: str, given: bytes | None, books: dict[str, Book]) -> bytes | FileResult:
    """The code of a file, or why there is none; a notebook is added to ``books``."""
    try:
        if not is_notebook(path):
            return limits.content(path) if given is None else given
        from torchlint.run import notebooks

        try:
            book = books[path] = notebooks.opened(path) if given is None else notebooks.Book.read(given)
        except notebooks.NotebookProblem as problem:
            return notebooks.problem_of(path, problem)
        return book.module
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return FileResult(path, (), (Problem(path, f"cannot be read: {reason}; check the path and its permissions"),))
