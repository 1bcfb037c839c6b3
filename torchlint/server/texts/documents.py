"""The open documents: their texts and versions, as the client has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from torchlint.server.texts.positions import Lines


class Part(NamedTuple):
    """A text that the client has open: a whole document, or a cell of a notebook."""

    uri: str
    version: int
    text: str


class Document(NamedTuple):
    """What is linted at once: a text, or the cells of a notebook, with the path (``None`` if it is in no file).

    ``cells`` are the cells with Python code of a notebook, by their numbers; ``whole`` is the text if it is none.
    """

    uri: str
    path: str | None
    whole: Part | None
    cells: Mapping[int, Part] = {}

    def part(self, cell: int | None) -> Part | None:
        """The text with this number of a cell."""
        return self.cells.get(cell) if cell is not None else self.whole

    def parts(self) -> dict[int | None, Part]:
        """All texts, by the number of the cell."""
        return dict(self.cells.items()) if self.whole is None else {None: self.whole}

    def cell_of(self, uri: str) -> int | None:
        """The number of the cell with this URI."""
        return next((number for number, part in self.cells.items() if part.uri == uri), None)


class OpenText(TextDocument):
    """A text that applies changes by the lines of the protocol: only LF, CRLF and CR end one."""

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply one change, of a range or of the whole text."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            source = self.source
            lines = Lines(source, str(self.position_codec.encoding))
            start, end = lines.offset(change.range.start), lines.offset(change.range.end)
            self._source = source[:start] + change.text + source[max(start, end) :]
        else:
            self._source = change.text


class OpenTexts(Workspace):
    """The texts, notebooks and folders that the client has open."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return OpenText(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self.position_codec,
        )

    def part_of(self, uri: str) -> Part:
        """The present version of an open text."""
        text = self.get_text_document(uri)
        return Part(uri, text.version or 0, text.source)

    def python_cells(self, uri: str) -> dict[int, Part] | None:
        """The cells of an open notebook that hold Python, by their numbers; None if it is not open."""
        notebook = self.get_notebook_document(notebook_uri=uri)
        if notebook is None:
            return None
        return {
            number: self.part_of(cell.document)
            for number, cell in enumerate(notebook.cells, start=1)
            if cell.kind == types.NotebookCellKind.Code
            and self.get_text_document(cell.document).language_id == "python"
        }
