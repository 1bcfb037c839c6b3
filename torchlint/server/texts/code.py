"""The code of an open document: the bytes that are linted in its place, and where they are in its texts."""

from __future__ import annotations

from typing import NamedTuple

from torchlint.config.config import Config
from torchlint.model import FileResult
from torchlint.run import notebooks
from torchlint.run.notebooks import Book, NotebookProblem
from torchlint.server.texts.documents import Document, Part
from torchlint.text.cells import Cells
from torchlint.text.decode import decode, encode_declared

__all__ = ["Code", "NotebookProblem"]


class Code(NamedTuple):
    """The bytes that are linted for a document; for a notebook those of the module of its cells."""

    document: Document
    data: bytes
    book: Book | None = None

    @classmethod
    def of(cls, document: Document) -> Code:
        """The code of a document."""
        if document.whole is not None:
            return cls(document, encode_declared(document.whole.text))
        book = Book.of_cells((number, "code", part.text) for number, part in document.cells.items())
        return cls(document, book.module, book)

    def placed(self, result: FileResult, config: Config) -> FileResult:
        """The result of linting the code, with findings at their places in the texts."""
        if self.book is None:
            return result
        return notebooks.placed(result, self.data, self.book, config)

    def texts(self, changed: bytes) -> dict[Part, str]:
        """The texts that a change of the code changes. Raises ``DecodeProblem`` and :class:`NotebookProblem`."""
        if changed == self.data:
            return {}
        if self.book is None:
            assert self.document.whole is not None
            return {self.document.whole: decode(changed)}
        return {self.document.cells[number]: text for number, text in self.book.changed(changed).items()}


def python_of(document: Document, cell: int | None) -> str | None:
    """The Python code of a text, line for line; in cells, calls take the place of IPython's commands."""
    part = document.part(cell)
    if part is None or cell is None:
        return part.text if part is not None else None
    cells = Cells.of(Book.of_cells([(cell, "code", part.text)]).module.decode())
    return cells.sources().get(cell) if cells is not None else None
