"""Edits of the protocol: of fixes, of suppressions, and of whole texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from itertools import pairwise

from lsprotocol import types
from pygls.uris import from_fs_path

from torchlint.model import Edit, Finding
from torchlint.run.fixing.ignore_comments import commented
from torchlint.server.texts.code import python_of
from torchlint.server.texts.documents import Document, Part
from torchlint.server.texts.positions import Lines
from torchlint.text.lines import line_starts

Changes = dict[Part, list[types.TextEdit]]


def of_edits(document: Document, made: Iterable[Edit], encoding: str) -> Changes:
    """The changes by edits of torchlint."""
    lines = {cell: Lines(part.text, encoding) for cell, part in document.parts().items()}
    found: Changes = {}
    for edit in made:
        part = document.part(edit.cell)
        if part is not None:
            found.setdefault(part, []).append(types.TextEdit(lines[edit.cell].range(edit.span), edit.text))
    return found


def of_suppression(document: Document, finding: Finding, encoding: str) -> Changes:
    """The changes that suppress a finding, up to the reason, which the user writes; none if no comment can stand there.

    A list of rules that is there already gets the rule added.
    """
    code = python_of(document, finding.cell)
    made = commented(code, [finding], "").edits if code is not None else ()
    return of_edits(document, (edit._replace(cell=finding.cell) for edit in made), encoding)


def of_texts(texts: Mapping[Part, str], encoding: str) -> Changes:
    """The changes that lead to other texts."""
    return {part: made for part, text in texts.items() if (made := between(part.text, text, encoding))}


def between(before: str, after: str, encoding: str) -> list[types.TextEdit]:
    """Edits of the lines in which two texts differ."""
    old, new = [0, *line_starts(before)[1:], len(before)], [0, *line_starts(after)[1:], len(after)]
    lines = Lines(before, encoding)
    matcher = SequenceMatcher(None, _parts(before, old), _parts(after, new), autojunk=False)
    return [
        types.TextEdit(
            types.Range(lines.position_at(old[first]), lines.position_at(old[last])), after[new[start] : new[end]]
        )
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    ]


def workspace_edit(changes: Changes, *, versioned: bool) -> types.WorkspaceEdit:
    """Changes of open texts: of exactly these versions, if the client can compare versions."""
    if not versioned:
        return types.WorkspaceEdit(changes={part.uri: made for part, made in changes.items()})
    return types.WorkspaceEdit(
        document_changes=[_of_version(part.uri, part.version, made) for part, made in changes.items()]
    )


def of_file(path: str, before: str | None, after: str, encoding: str, *, versioned: bool) -> types.WorkspaceEdit:
    """Edits of a file that is not open; ``before`` is None if it does not exist."""
    uri = from_fs_path(path) or ""
    made = between(before or "", after, encoding)
    if not versioned:
        return types.WorkspaceEdit(changes={uri: made})
    created = [types.CreateFile(uri)] if before is None else []
    return types.WorkspaceEdit(document_changes=[*created, _of_version(uri, None, made)])


def _of_version(uri: str, version: int | None, made: list[types.TextEdit]) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), made)


def _parts(text: str, starts: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise(starts)]
