"""What is wrong with the configuration: shown once, and as a diagnostic of the file."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from torchlint.base.inputs import CONFIGURATION, read
from torchlint.server.diagnostics import SOURCE

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

# How messages of errors in configuration files begin: the file, the place if it is known, and then the key.
_PLACE = re.compile(r"(?P<file>[^:\n]*\.toml)(?::(?P<line>\d+))?(?::\d+)?: (?P<rest>.*)", re.DOTALL)


class Troubles:
    """The errors that the user has been told. Between ``begin`` and ``end`` all present ones are found again."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._now: dict[str, str | None] = {}  # messages, each with the URI of its file
        self._before: dict[str, str | None] = {}

    def begin(self) -> None:
        """The configuration is read anew."""
        self._before, self._now = {**self._before, **self._now}, {}

    def end(self) -> None:
        """The configuration has been read: what was not found again is over."""
        for uri in {uri for uri in self._before.values() if uri} - set(self._now.values()):
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        self._before = {}

    def add(self, message: str) -> None:
        """Tell the user, unless this has been told."""
        if message in self._now:
            return
        place = _PLACE.match(message)
        path = os.path.abspath(place["file"]) if place else None  # noqa: PTH100 - links stay as they are
        uri = from_fs_path(path) if path is not None and os.path.isfile(path) else None  # noqa: PTH113
        self._now[message] = uri
        if message not in self._before:
            params = types.ShowMessageParams(types.MessageType.Error, f"torchlint: {message}")
            self._server.window_show_message(params)
        if place is not None and path is not None and uri is not None:
            line = int(place["line"]) - 1 if place["line"] else _line_of(path, place["rest"])
            here = types.Range(types.Position(line, 0), types.Position(line + 1, 0))
            found = types.Diagnostic(here, place["rest"], types.DiagnosticSeverity.Error, source=SOURCE)
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, [found]))


def _line_of(path: str, message: str) -> int:
    """The line of the key that a message begins with; that of the table, or the first one, if it is not found."""
    try:
        lines = read(path, CONFIGURATION).decode("utf-8", "replace").splitlines()
    except OSError:
        return 0
    for word in reversed(re.split(r"[.\[\]\"']+", re.split(": |; ", message)[0])):
        for number, line in enumerate(lines):
            if word and re.match(rf"\s*[\w.\"']*\b{re.escape(word)}\b[\"']?\s*=|\s*\[.*\b{re.escape(word)}\]", line):
                return number
    return 0
