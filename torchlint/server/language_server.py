"""The server: what it does on the protocol's thread with the messages of the client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from torchlint.base.version import __version__
from torchlint.model import RuleInfo
from torchlint.server import watching
from torchlint.server.assists import edits
from torchlint.server.assists.actions import Lazy
from torchlint.server.checker import Checked, Checker
from torchlint.server.diagnostics import Client, Diagnostics, client_of, result_id
from torchlint.server.progress import Progress
from torchlint.server.protocol import AnsweringProtocol
from torchlint.server.settings import SECTION, Settings, read_settings
from torchlint.server.texts.documents import Document, OpenTexts
from torchlint.server.texts.uris import is_linted, path_of
from torchlint.server.troubles import Troubles
from torchlint.server.worker import SCANNING, SETTLING, URGENT, Stopped, Worker

T = TypeVar("T")

log = logging.getLogger(__name__)
# Notebooks of every editor; of their cells those in Python.
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook(notebook="*", cells=[types.NotebookCellLanguage("python")])], save=True
)
_EVIDENCE = 2.0  # seconds between two looks at evidence, which may be where the client watches no files
_IDLE = 0.3  # seconds without a change after which its effect on other files is determined


class Server(LanguageServer):
    """The state of the protocol's thread: open documents, and what was told to the client about them."""

    def __init__(self, worker: Worker) -> None:
        super().__init__("torchlint", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=AnsweringProtocol)
        self._worker = worker
        self.opened: dict[str, Document] = {}
        self._checker = Checker(worker, self.opened, self._troubled)
        self._troubles = Troubles(self)
        self.client = Client()
        self.infos: dict[str, RuleInfo] = {}
        self.diagnostics = Diagnostics(self.client, self.infos)
        self.asked_to_end = False
        self._initial = Settings()
        self._settings: dict[str | None, Settings] = {}
        self._configuring = asyncio.Lock()
        self._published: dict[str, tuple[int, str]] = {}
        self._settling: asyncio.TimerHandle | None = None
        self._ready = asyncio.Event()
        self._looking: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Tell the client of an error; a message that is no JSON is answered."""
        if isinstance(error, ValueError) and source is JsonRpcException:
            assert isinstance(self.protocol, AnsweringProtocol)
            self.protocol.refuse_text(error)
        else:
            super().report_server_error(error, source)

    # -- the client ------------------------------------------------------------------------------

    def meet(self, params: types.InitializeParams) -> None:
        """Learn what the client can do, and replace the store of documents by one that counts lines correctly."""
        self._loop = asyncio.get_running_loop()
        texts = self.workspace
        encoding = texts.position_encoding or types.PositionEncodingKind.Utf16
        folders = list(texts.folders.values())
        if not folders and texts.root_uri:  # a client that knows only one folder
            folders = [types.WorkspaceFolder(texts.root_uri, "")]
        self.protocol._workspace = OpenTexts(texts.root_uri, texts._sync_kind, folders, encoding)
        self.client = client_of(params.capabilities, encoding)
        self._initial = self._read(params.initialization_options)

    async def begin(self) -> None:
        """Ask to be told about changes, read the settings, and lint the folders."""
        self.infos.update({info.id: info for info in await self.do(URGENT, self._checker.rules)})
        self.diagnostics = Diagnostics(self.client, self.infos)
        await watching.register(self, self.client)
        await self.configure()

    async def configure(self, given: object = None, *, anew: bool = True) -> None:
        """Read the settings and the configurations, and lint everything with them.

        If the settings are as before, this is only done ``anew``.
        """
        async with self._configuring:
            if given is not None:
                self._initial = self._read(given)
            settings = await self._ask_settings()
            if settings == self._settings and not anew:
                return
            self._settings = settings
            logging.getLogger("torchlint").setLevel(settings[None].log_level.upper())
            self._troubles.begin()
            await self.do(URGENT, partial(self._checker.configure, settings, anew=anew))
            self._ready.set()
        self._look_later()
        await self._check_all()
        for root in await self.do(URGENT, self._checker.unscanned):
            await self._scan(root)
        self._troubles.end()

    async def _ask_settings(self) -> dict[str | None, Settings]:
        """The client's settings for each folder, by its path, and for files that are in none."""
        roots = {path: uri for uri in self.workspace.folders if (path := path_of(uri)) is not None}
        paths: list[str | None] = [None, *roots]
        if not self.client.configures:
            return dict.fromkeys(paths, self._initial)
        items = [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in (None, *roots.values())]
        try:
            found = await self.workspace_configuration_async(types.ConfigurationParams(items))
        except Exception as error:  # a client that cannot do what it said
            log.error("the client did not tell its settings: %s", error)
            found = None
        told = found if isinstance(found, (list, tuple)) else ()
        read = [self._read(each) if each is not None else self._initial for each in told]
        return {path: read[number] if number < len(read) else self._initial for number, path in enumerate(paths)}

    def _read(self, given: object) -> Settings:
        found, wrong = read_settings(given)
        for message in wrong:
            self._troubles.add(message)
        return found

    async def follow_evidence(self) -> None:
        """Lint everything anew if evidence of runs has changed: it may also change what runs in a step."""
        self._look_later()
        if await self.do(SETTLING, self._checker.has_new_evidence):
            await self.configure()

    def _look_later(self) -> None:
        """Look at the evidence in a while, if the settings name any."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if any(settings.evidence for settings in self._settings.values()):
            loop = asyncio.get_running_loop()
            self._looking = loop.call_later(_EVIDENCE, lambda: self.spawn(self.follow_evidence()))

    async def _check_all(self) -> None:
        for uri in list(self.opened):
            await self.check(uri)
        self._refresh()

    async def _scan(self, root: str) -> None:
        async with Progress(self, f"Linting {root}", shown=self.client.progresses) as progress:
            await self.do(SCANNING, partial(self._checker.scan, root, progress.report))
        await self.settle()
        self.spawn(self._log_status(root))

    async def _log_status(self, root: str) -> None:
        """Write what is known of a folder to the client's log."""
        if lines := await self.status([root]):
            self.window_log_message(types.LogMessageParams(types.MessageType.Info, "\n".join(lines)))

    async def status(self, roots: Iterable[str] | None = None) -> list[str]:
        """What is known of some folders, or of all, as lines of text; not in the middle of a change."""
        return await self.do(SETTLING, partial(self._checker.status, roots))

    def do(self, urgency: int, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run something on the main thread."""
        return asyncio.wrap_future(self._worker.submit(urgency, work))

    def later(self, act: Callable[..., Any], *given: Any) -> None:
        """Call something on the protocol's thread, from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(act, *given)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something for which no request waits; errors are logged."""
        asyncio.ensure_future(work).add_done_callback(_logged)

    def _troubled(self, message: str) -> None:
        """Show what is wrong with a configuration. Called on the main thread."""
        self.later(self._troubles.add, message)

    # -- documents -------------------------------------------------------------------------------

    def changed(self, uri: str) -> None:
        """Take over the text of a document that was opened or changed, lint it, and later what depends on it."""
        language = self.workspace.get_text_document(uri).language_id
        if is_linted(uri, language):
            self._take(Document(uri, path_of(uri), self._texts.part_of(uri)))

    def notebook_changed(self, uri: str) -> None:
        """The same for a notebook."""
        cells = self._texts.python_cells(uri)
        if cells is not None and is_linted(uri, "python"):
            self._take(Document(uri, path_of(uri), None, cells))

    @property
    def _texts(self) -> OpenTexts:
        assert isinstance(self.workspace, OpenTexts)
        return self.workspace

    def _take(self, document: Document) -> None:
        before = self.opened.get(document.uri, document)
        self.opened[document.uri] = document
        for uri in _uris(before) - _uris(document):  # of cells that were deleted
            self._clear(uri)
        if not self.client.pulls:
            self.spawn(self.check(document.uri))
        self.settle_soon()

    def close(self, uri: str) -> None:
        """Forget a document and its findings."""
        document = self.opened.pop(uri, None)
        if document is not None:
            self.do(URGENT, partial(self._checker.forget, uri))
            for each in _uris(document):
                self._clear(each)
            self.settle_soon()

    def _clear(self, uri: str) -> None:
        if self._published.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    async def check(self, uri: str) -> Checked | None:
        """The findings of the present version of a document, published to clients that do not ask for them.

        The URI may be that of a cell.
        """
        await self._ready.wait()
        if uri not in self.opened:
            notebook = self.workspace.get_notebook_document(cell_uri=uri)
            uri = notebook.uri if notebook is not None else uri
        checked = await self.do(URGENT, partial(self._checker.check, uri))
        if checked is not None:
            self._publish(checked)
        return checked

    def _publish(self, checked: Checked) -> None:
        """Publish findings, unless the document has changed since, or the client asks for them or knows them."""
        document, findings, _ = checked
        if self.client.pulls or self.opened.get(document.uri) is not document:
            return
        for cell, part in document.parts().items():
            here = [finding for finding in findings if finding.cell == cell]
            state = (part.version, result_id(here))
            if self._published.get(part.uri) != state:
                self._published[part.uri] = state
                found = self.diagnostics.of(document, cell, here)
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(part.uri, found, part.version))

    # -- what changes mean for other files ---------------------------------------------------------

    async def touch(self, paths: Iterable[str], *, search: bool) -> None:
        """Note that files have changed on disk; with ``search``, some may have been created or deleted."""
        await self.do(URGENT, partial(self._checker.touch, list(paths), search=search))
        self.settle_soon()

    def settle_soon(self) -> None:
        """Determine what changes mean for other files once the client is idle."""
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(_IDLE, lambda: self.spawn(self.settle()))

    async def settle(self) -> None:
        """Determine what changes mean for other files, and tell the client."""
        changed = await self.do(SETTLING, self._checker.settle)
        for checked in changed:
            self._publish(checked)
        if changed:
            self._refresh()

    def _refresh(self) -> None:
        """Let a client that asks for findings or hints ask again."""
        if self.client.pulls and self.client.refreshes:
            self.workspace_diagnostic_refresh(None)
        if self.client.hints and self.client.refreshes_hints:
            self.workspace_inlay_hint_refresh(None)

    # -- actions ---------------------------------------------------------------------------------

    async def edit_of(self, lazy: Lazy) -> types.WorkspaceEdit | None:
        """The edit of an action that the user has chosen; None if there is nothing to do."""
        encoding, versioned = self.client.encoding, self.client.versioned
        if lazy.rule is None:
            fixed = await self.do(URGENT, partial(self._checker.fixed, lazy.uri))
            changes = edits.of_texts(fixed, encoding)
            return edits.workspace_edit(changes, versioned=versioned) if changes else None
        off = await self.do(URGENT, partial(self._checker.switched_off, lazy.uri, lazy.rule))
        if off is None or (off.before is None and not self.client.creates):
            return None
        return edits.of_file(off.path, off.before, off.after, encoding, versioned=versioned)


def _uris(document: Document) -> set[str]:
    return {part.uri for part in document.parts().values()}


def _logged(task: asyncio.Future[Any]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if error is not None and not isinstance(error, Stopped):
        log.error("%s", error, exc_info=error)
