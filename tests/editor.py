"""An editor for tests of the language server: it starts the server as editors do, and keeps what the server tells."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, LanguageClient, register_lsp_features

COMMAND = (sys.executable, "-m", "torchlint", "server")
GUILTY = "import torch\nimport numpy as np\n\n\ndef make():\n    return torch.tensor(np.zeros(3))\n"
RULE = "TL103"
PATIENCE = 20.0


def capabilities(
    *, pulls: bool = False, encodings: Sequence[str] = ("utf-16",), watches: bool = True, hints: bool = True
) -> types.ClientCapabilities:
    """What a full-grown editor can do."""
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(e) for e in encodings]),
        window=types.WindowClientCapabilities(work_done_progress=True),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
            diagnostic=types.DiagnosticClientCapabilities(dynamic_registration=False) if pulls else None,
            code_action=types.CodeActionClientCapabilities(
                data_support=True,
                is_preferred_support=True,
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions(["quickfix", "source", "source.fixAll"])
                ),
                resolve_support=types.ClientCodeActionResolveOptions(["edit"]),
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
            inlay_hint=types.InlayHintClientCapabilities() if hints else None,
        ),
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_folders=True,
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
            inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True) if hints else None,
            did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=watches),
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
            ),
        ),
    )


class Editor:
    """A client with open documents."""

    def __init__(self) -> None:
        self.client = LanguageClient(converter_factory=default_converter)
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.all_published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[types.Registration] = []
        self.shown: list[types.ShowMessageParams] = []
        self.logged: list[types.LogMessageParams] = []
        self.hint_refreshes = 0
        self.folders: tuple[Path, ...] = ()
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._news = asyncio.Event()
        register_lsp_features(self.client, {**DEFAULT_CLIENT_FEATURES, **self._features()})

    def _features(self) -> dict[str, Any]:
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self.all_published.append(params)
            self._news.set()

        def registered(params: types.RegistrationParams) -> None:
            self.registered += params.registrations

        def shown(params: types.ShowMessageParams) -> None:
            self.shown.append(params)
            self._news.set()

        def logged(params: types.LogMessageParams) -> None:
            self.logged.append(params)
            self._news.set()

        def refreshed(_: None) -> None:
            self.hint_refreshes += 1
            self._news.set()

        return {
            types.WORKSPACE_INLAY_HINT_REFRESH: refreshed,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: published,
            types.WINDOW_LOG_MESSAGE: logged,
            types.CLIENT_REGISTER_CAPABILITY: registered,
            types.WINDOW_SHOW_MESSAGE: shown,
        }

    async def start(self, *folders: Path, options: object = None, can: types.ClientCapabilities | None = None) -> Any:
        """Start the server and greet it; returns what it can do."""
        self.folders = folders
        await self.client.start_io(*COMMAND)
        found = await self.client.initialize_session(
            types.InitializeParams(
                capabilities=can or capabilities(),
                initialization_options=options,
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
            )
        )
        return found.capabilities

    async def stop(self) -> int | None:
        """End the server as the protocol demands; returns its exit status."""
        await self.client.shutdown_session()
        server = self.client._server
        assert server is not None
        await self.client.stop()  # type: ignore[no-untyped-call]
        return server.returncode

    # -- documents -------------------------------------------------------------------------------

    def open(self, path: Path | str, text: str, language: str = "python") -> str:
        """Open a document; returns its URI."""
        uri = path.as_uri() if isinstance(path, Path) else path
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        """Replace the text of a document."""
        self.texts[uri] = text
        self._changed(uri, types.TextDocumentContentChangeWholeDocument(text))

    def replace(self, uri: str, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Tell the server only what has changed; the positions are those of the protocol."""
        range_ = types.Range(types.Position(*start), types.Position(*end))
        self._changed(uri, types.TextDocumentContentChangePartial(range_, text))

    def _changed(self, uri: str, change: types.TextDocumentContentChangeEvent) -> None:
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def close(self, uri: str) -> None:
        """Close a document."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def open_notebook(self, path: Path, *cells: str) -> list[str]:
        """Open a notebook with these cells of code, those of Markdown beginning with a blank; returns their URIs."""
        uris = [f"vscode-notebook-cell:{path.as_posix()}#{number}" for number in range(len(cells))]
        kinds = [types.NotebookCellKind.Markup if cell[:1] == " " else types.NotebookCellKind.Code for cell in cells]
        listed = [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, uris, strict=True)]
        notebook = types.NotebookDocument(path.as_uri(), "jupyter-notebook", 1, listed)
        self.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(notebook, [self._cell(*each) for each in zip(uris, cells, strict=True)])
        )
        return uris

    def _cell(self, uri: str, text: str) -> types.TextDocumentItem:
        self.texts[uri], self.versions[uri] = text, 1
        return types.TextDocumentItem(uri, "markdown" if text[:1] == " " else "python", 1, text)

    def change_notebook(self, path: Path, change: types.NotebookDocumentCellChanges) -> None:
        """Tell the server what has changed in a notebook."""
        identifier = types.VersionedNotebookDocumentIdentifier(version=2, uri=path.as_uri())
        event = types.NotebookDocumentChangeEvent(cells=change)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))

    def change_cell(self, path: Path, uri: str, text: str) -> None:
        """Replace the text of a cell."""
        self.texts[uri] = text
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        content = types.NotebookDocumentCellContentChanges(
            identifier, [types.TextDocumentContentChangeWholeDocument(text)]
        )
        self.change_notebook(path, types.NotebookDocumentCellChanges(text_content=[content]))

    def tell(self, path: Path, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        """Tell the server that a file has changed on disk."""
        event = types.FileEvent(path.as_uri(), kind)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    # -- what the server tells -------------------------------------------------------------------

    async def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until the server has told something that makes this true."""
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), end - time.monotonic())
        return found

    async def until_true(self, holds: Callable[[], bool]) -> None:
        """Wait for something that no notification tells."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end
            await asyncio.sleep(0.02)

    async def findings(self, uri: str) -> list[types.Diagnostic]:
        """The findings for the present version of a document, as soon as they are published."""

        def present() -> types.PublishDiagnosticsParams | None:
            found = self.published.get(uri)
            return found if found is not None and found.version == self.versions[uri] else None

        return list((await self.until(present)).diagnostics)

    async def rules(self, uri: str, *expected: str) -> None:
        """Wait until exactly these rules are published for the present version of a document."""

        def holds() -> bool:
            found = self.published.get(uri)
            current = found is not None and found.version == self.versions[uri]
            return current and [d.code for d in found.diagnostics] == list(expected)  # type: ignore[union-attr]

        try:
            await self.until(holds)
        except (TimeoutError, asyncio.TimeoutError):
            raise AssertionError(f"{expected} were never published for {uri}: {self.published.get(uri)}") from None

    # -- requests --------------------------------------------------------------------------------

    async def pull(self, uri: str, before: str | None = None) -> Any:
        """Ask for the findings of a document; ``before`` is the id of the last answer."""
        return await self.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=before)
        )

    async def hints(self, uri: str, first: int = 0, last: int = 10_000) -> list[tuple[types.Position, str]]:
        """The inlay hints in these lines, each with its place."""
        lines = types.Range(types.Position(first, 0), types.Position(last, 0))
        params = types.InlayHintParams(types.TextDocumentIdentifier(uri), lines)
        found = await self.client.text_document_inlay_hint_async(params)
        return [(hint.position, str(hint.label)) for hint in found or ()]

    async def actions(
        self, uri: str, range_: types.Range | None = None, only: Sequence[str] | None = None
    ) -> dict[str, types.CodeAction]:
        """The code actions in a range, or of the whole document, by title."""
        whole = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        context = types.CodeActionContext([], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), range_ or whole, context)
        found = await self.client.text_document_code_action_async(params)
        return {action.title: action for action in found or () if isinstance(action, types.CodeAction)}

    async def resolved(self, action: types.CodeAction) -> types.WorkspaceEdit:
        """The edit of an action, which the server may have left for later."""
        if action.edit is None:
            action = await self.client.code_action_resolve_async(action)
        assert action.edit is not None
        return action.edit

    def applied(self, uri: str, edit: types.WorkspaceEdit) -> str:
        """The text of an open document after an edit of its present version."""
        (change,) = edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (uri, self.versions[uri])
        return with_edits(self.texts[uri], change.edits)


def with_edits(text: str, edits: Sequence[Any]) -> str:
    """A text of ASCII characters after edits."""
    assert text.isascii()
    lines = text.splitlines(keepends=True) or [""]
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]

    def offset(position: types.Position) -> int:
        return min(starts[min(position.line, len(lines))] + position.character, len(text))

    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


@asynccontextmanager
async def started(*folders: Path, **options: Any) -> AsyncIterator[Editor]:
    """An editor with a server of its own."""
    editor = Editor()
    await editor.start(*folders, **options)
    try:
        yield editor
    finally:
        await editor.stop()
