"""A notebook as a module: its Python cells in order, with the comments of :mod:`torchlint.text.cells` above them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from torchlint.base.limits import MAX_BYTES
from torchlint.model import Finding
from torchlint.notebook.document import Cell, NotebookProblem, document, may_matter, of_cells
from torchlint.notebook.magics import Broken, Command, Commands, python_of
from torchlint.text.cells import Cells, Marks
from torchlint.text.lines import split_lines

__all__ = ["Book", "NotebookProblem"]


class Book:
    """The cells of a notebook, and the module that is linted in its place.

    ``broken`` are the cells that are not valid Python; they are not part of the module, and neither are cells in other
    languages. ``sources`` are the sources of all Python cells, by number. ``language`` is that of the notebook if it is
    not Python. Raises :class:`NotebookProblem` if there is too much code.
    """

    def __init__(self, cells: Iterable[Cell], language: str | None = None) -> None:
        self.language = language
        self.broken: list[tuple[int, Broken]] = []
        self.sources = {cell.number: cell.source for cell in cells if cell.is_python}
        if sum(map(len, self.sources.values())) > MAX_BYTES:
            raise NotebookProblem("has more than 4 MB of code, which is too large to lint: exclude it")
        self._marks = Marks.for_text("\n".join(self.sources.values()))
        commands = Commands(self._marks.name)
        self.commands: list[Command] = commands.known
        parts = [self._marks.header]
        for number, source in self.sources.items():
            code = python_of(source, commands)
            if isinstance(code, Broken):
                self.broken.append((number, code))
            elif code is not None:
                parts += [self._marks.above(number), code, "\n"]
        self.module = "".join(parts).encode() if len(parts) > 1 else b""

    @classmethod
    def read(cls, data: bytes) -> Book:
        """The notebook in a file. Raises :class:`NotebookProblem`.

        One without any word that a rule looks for is not read, and has no cells.
        """
        if not may_matter(data):
            return cls(())
        found = document(data)
        return cls(found.cells, found.language)

    @classmethod
    def of_cells(cls, cells: Iterable[tuple[int, str, str]]) -> Book:
        """A notebook from the number, kind (``code`` or ``markdown``) and source of each cell."""
        return cls(of_cells(cells))

    def lines(self, cell: int) -> list[str] | None:
        """The lines of a cell as they are written, or None if it is not a Python cell."""
        return split_lines(self.sources[cell]) if cell in self.sources else None

    def placed(self, finding: Finding) -> Finding:
        """A finding in the module as a finding in a cell."""
        cells = Cells.of(self.module.decode())
        return cells.placed(finding) if cells is not None else finding

    def changed(self, module: bytes) -> Mapping[int, str]:
        """The cells that a changed module changes, with their new sources. Raises :class:`NotebookProblem`."""
        if module == self.module:
            return {}
        before, after = Cells.of(self.module.decode()), Cells.of(module.decode())
        if before is None or after is None or not before.is_kept_by(after.text):
            raise NotebookProblem("a fix would have changed more than the code of a cell; please report it")
        old, new = before.sources(), after.sources()
        changed = [number for number, source in old.items() if new[number] != source]
        return {number: self._written(new[number], self.sources[number]) for number in changed}

    def _written(self, code: str, before: str) -> str:
        """The changed code of a cell with its commands as they were written, and with its kind of newlines."""
        for number, command in enumerate(self.commands):
            if f"{self._marks.name}{number}" in code:
                # What stands for a command is unique, also as a whole: its name is not followed by a digit.
                code = code.replace(command.stand_in, command.written)
        if "\r\n" in before and before.count("\r\n") == before.count("\n"):
            code = re.sub(r"(?<!\r)\n", "\r\n", code)
        return code

    def rewritten(self, data: bytes, module: bytes) -> bytes:
        """The notebook in a file with the sources that a changed module changes. Raises :class:`NotebookProblem`.

        ``data`` is the content from which this notebook was read.
        """
        from torchlint.notebook.rewrite import rewritten

        changed = self.changed(module)
        return rewritten(data, self.sources, changed) if changed else data
