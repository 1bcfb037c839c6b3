"""The progress of a scan, shown by clients that can."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

log = logging.getLogger(__name__)
_EVERY = 0.1  # seconds


class Progress:
    """A progress bar of the client; nothing if the client has none."""

    def __init__(self, server: LanguageServer, title: str, *, shown: bool) -> None:
        self._server, self._title, self._shown = server, title, shown
        self._loop = asyncio.get_running_loop()
        self._token: str | None = None
        self._reported = 0.0

    async def __aenter__(self) -> Progress:
        if self._shown:
            token = str(uuid.uuid4())
            try:
                await self._server.work_done_progress.create_async(token)
            except Exception as error:  # the client refuses
                log.info("no progress is shown: %s", error)
                return self
            begin = types.WorkDoneProgressBegin(self._title, cancellable=False, percentage=0)
            self._server.work_done_progress.begin(token, begin)
            self._token = token
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._token is not None:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd())
            self._token = None

    def report(self, done: int, every: int) -> None:
        """Show how many files are done, now and then. Called on the main thread."""
        now = time.monotonic()
        if self._token is not None and now - self._reported > _EVERY:
            self._reported = now
            self._loop.call_soon_threadsafe(self._show, done, every)

    def _show(self, done: int, every: int) -> None:
        if self._token is not None:
            share = min(100 * done // max(every, 1), 100)
            value = types.WorkDoneProgressReport(message=f"{done} of {every} files", percentage=share)
            self._server.work_done_progress.report(self._token, value)
