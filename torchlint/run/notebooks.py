"""Notebooks in a run: linted as modules; what is found there is reported in cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.base.inputs import read
from torchlint.model import FileResult, Finding, Problem, RunResult
from torchlint.notebook.book import Book, NotebookProblem
from torchlint.notebook.document import MAX_BYTES
from torchlint.run.linting.fingerprints import fingerprinted
from torchlint.text.cells import Cells

if TYPE_CHECKING:
    from torchlint.config.config import Config

__all__ = ["Book", "NotebookProblem"]

_REFERENCE = re.compile(r"\.ipynb, line \d", re.IGNORECASE)
_CHANGED = "was changed by another program in the meantime, and was left alone; run torchlint again"


def opened(path: str) -> Book:
    """The notebook in a file. Raises ``OSError`` and :class:`NotebookProblem`."""
    return Book.read(read(path, MAX_BYTES))


def problem_of(path: str, problem: NotebookProblem) -> FileResult:
    """The result for a notebook that cannot be read."""
    return FileResult(path, (), (Problem(path, f"cannot be read: {problem.message}", problem.line),))


def placed(result: FileResult, module: bytes, book: Book, config: Config) -> FileResult:
    """The result of linting a module, with its findings in cells, and with the cells that are not Python."""
    findings = [*placed_findings(result.findings, module), *_broken(result.path, book, config)]
    return result._replace(findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)))


def placed_findings(findings: tuple[Finding, ...], module: bytes) -> tuple[Finding, ...]:
    """Findings in a module as findings in cells."""
    cells = Cells.of(module.decode()) if findings else None
    return tuple(map(cells.placed, findings)) if cells is not None else findings


def _broken(path: str, book: Book, config: Config) -> list[Finding]:
    """The cells that are not Python, unless the notebook skips itself or does not mention torch."""
    from torchlint.run.linting.failures import not_python
    from torchlint.run.linting.suppress import scan

    sources = book.sources.values()
    skipped = any("skip-file" in source and scan(source).skip_file for source in sources)
    if skipped or not any("torch" in source for source in sources):
        return []
    found: list[Finding] = []
    lines: dict[str, int] = {}
    whole = "\n".join(sources) if book.broken else ""
    for cell, why in book.broken:
        source = book.lines(cell) or []
        line = source[why.line - 1].strip() if why.line <= len(source) else ""
        finding = not_python(path, book.sources[cell], *why, whole)._replace(cell=cell)
        found.append(fingerprinted(finding, line, lines.get(line, 0), config))
        lines[line] = lines.get(line, 0) + 1
    return found


def in_cells(
    results: Iterable[FileResult],
    books: Mapping[str, Book],
    contents: Mapping[str, bytes],
    config: Callable[[str], Config],
) -> list[FileResult]:
    """The results of a run with findings in cells of notebooks instead of findings in modules."""
    modules = {path: cells for path in books if path in contents and (cells := Cells.of(contents[path].decode()))}
    done = []
    for result in results:
        path = result.path
        if path in contents and path in books:
            result = placed(result, contents[path], books[path], config(path))  # noqa: PLW2901 - the same result
        done.append(_naming_cells(result, modules))
    return done


def _naming_cells(result: FileResult, modules: Mapping[str, Cells]) -> FileResult:
    """A result whose messages name the cells of notebooks that they refer to."""
    if not any(_REFERENCE.search(finding.message) for finding in result.findings):
        return result
    # A path may be the end of another one, which begins further left.
    paths = "|".join(map(re.escape, sorted(modules, key=len, reverse=True)))
    written = re.compile(rf"({paths}), line (\d+)")

    def named(found: re.Match[str]) -> str:
        return f"{found[1]}, {modules[found[1]].in_words([int(found[2])])}"

    return result._replace(findings=tuple(f._replace(message=written.sub(named, f.message)) for f in result.findings))


def run_in_cells(run: RunResult, path: str, module: bytes, book: Book, config: Config) -> RunResult:
    """The result of a run over one module, as that of a run over its notebook."""
    found = placed(FileResult(path, run.findings), module, book, config)
    cells = Cells.of(module.decode())
    problems = tuple(_placed_problem(problem, cells) for problem in run.problems)
    return run._replace(findings=found.findings, problems=problems, unchecked=run.unchecked or int(bool(book.broken)))


def _placed_problem(problem: Problem, cells: Cells | None) -> Problem:
    if problem.line is None or cells is None:
        return problem
    cell, line = cells.place(problem.line)
    return problem._replace(cell=cell, line=line)


def changed_cells(old: bytes, new: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The cells in which two contents of a notebook differ, with their sources, which end with a newline."""
    before, after = (Book.read(data).sources for data in (old, new))
    for number, source in before.items():
        if after[number] != source:
            yield number, _ended(source), _ended(after[number])


def _ended(source: str) -> bytes:
    return (source if source.endswith("\n") else f"{source}\n").encode()


def rewritten(path: str, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """The content of a notebook before and after a change of its module.

    Raises ``OSError`` and :class:`NotebookProblem`.
    """
    data = read(path, MAX_BYTES)
    book = Book.read(data)
    if book.module != old:
        raise NotebookProblem(_CHANGED)
    return data, book.rewritten(data, new)


def language_problem(path: str) -> str | None:
    """Why a notebook that was given explicitly is not linted: its language is not Python."""
    try:
        data = read(path, MAX_BYTES)
        if re.search(rb'"(?:language|name)"\s*:\s*"i?python"', data, re.IGNORECASE):
            return None
        language = Book.read(data).language
    except (OSError, NotebookProblem):
        return None  # reported when it is linted
    return f"is not checked: the language of this notebook is {language}, not Python" if language else None


class Shown:
    """A notebook whose lines are shown in a report; without any if it can no longer be read."""

    def __init__(self, path: str, data: bytes | None) -> None:
        try:
            self._data = data if data is not None else read(path, MAX_BYTES)
            self._book = Book.read(self._data)
        except (OSError, NotebookProblem):
            self._data, self._book = b"", Book(())

    def lines(self, cell: int | None) -> list[str] | None:
        """The lines of a cell."""
        return self._book.lines(cell) if cell is not None else None

    def file_line(self, cell: int, line: int) -> int | None:
        """The line of the file on which a line of a cell is."""
        return self._file_lines.get((cell, line))

    @cached_property
    def _file_lines(self) -> dict[tuple[int, int], int]:
        from torchlint.notebook.document import decoded
        from torchlint.notebook.positions import line_numbers

        return line_numbers(decoded(self._data)) if self._data else {}
