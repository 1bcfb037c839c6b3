"""The requests and notifications that the server answers."""

from __future__ import annotations

from lsprotocol import types

from torchlint.server import watching
from torchlint.server.assists import actions, hints, hover
from torchlint.server.diagnostics import result_id
from torchlint.server.language_server import Server
from torchlint.server.status import COMMAND

_Report = types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport


def register(server: Server) -> None:
    """Tell the server what to do with each message."""
    _lifecycle(server)
    _documents(server)
    _notebooks(server)
    _workspace(server)
    _diagnostics(server)
    _actions(server)
    _hover(server)
    _commands(server)


def _lifecycle(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.meet(params)
        if server.client.hints:  # else they are not announced
            _hints(server)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        await server.begin()

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.asked_to_end = True


def _documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveTextDocumentParams) -> None:
        server.settle_soon()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)


def _notebooks(server: Server) -> None:
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        server.notebook_changed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        server.notebook_changed(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(_: types.DidSaveNotebookDocumentParams) -> None:
        server.settle_soon()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        server.close(params.notebook_document.uri)


def _workspace(server: Server) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings(params: types.DidChangeConfigurationParams) -> None:
        await server.configure(params.settings, anew=False)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        await server.configure(anew=False)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files(params: types.DidChangeWatchedFilesParams) -> None:
        changes = watching.changes_of(params.changes)
        if changes.sources:
            await server.touch(changes.sources, search=changes.listed)
        if changes.configuration:
            await server.configure()
        elif changes.evidence:
            await server.follow_evidence()


def _diagnostics(server: Server) -> None:
    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="torchlint")

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def pulled(params: types.DocumentDiagnosticParams) -> _Report:
        uri = params.text_document.uri
        checked = await server.check(uri)
        if checked is None:
            return types.RelatedFullDocumentDiagnosticReport([])
        cell = checked.document.cell_of(uri)
        here = [finding for finding in checked.findings if finding.cell == cell]
        name = result_id(here)
        if name == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(name)
        found = server.diagnostics.of(checked.document, cell, here)
        return types.RelatedFullDocumentDiagnosticReport(found, result_id=name)


def _actions(server: Server) -> None:
    options = types.CodeActionOptions(code_action_kinds=list(actions.KINDS), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        checked = await server.check(uri)
        if checked is None:
            return []
        cell, only = checked.document.cell_of(uri), params.context.only
        made = actions.Actions(server.client, server.diagnostics, checked).at(cell, params.range, only)
        if server.client.resolves:
            return made
        resolved = [await resolve(action) for action in made]
        return [action for action in resolved if action.edit is not None]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        lazy = actions.lazy_of(action)
        if lazy is not None:
            action.edit = await server.edit_of(lazy)
        return action


def _hover(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        checked = await server.check(uri)
        return hover.at(checked, uri, params.position, server.infos, server.client) if checked is not None else None


def _hints(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> list[types.InlayHint]:
        checked = await server.check(params.text_document.uri)
        return hints.within(checked, params.range, server.client.encoding) if checked is not None else []


def _commands(server: Server) -> None:
    @server.command(COMMAND)
    async def status(*_: object) -> list[str]:
        return await server.status()
