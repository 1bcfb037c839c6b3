"""Files that change outside the editor, and settings that change in it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from torchlint.run.discovery.sources import SEARCHED
from torchlint.run.recorded.evidence import NAME as EVIDENCE
from torchlint.server.settings import SECTION
from torchlint.server.texts.uris import path_of

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from torchlint.server.diagnostics import Client

log = logging.getLogger(__name__)
# What the configuration is read from: it may extend any TOML file, and requirements tell the oldest version of torch.
# Programs read their options from TOML and YAML files; JSON files are more often data.
_CONFIGURATION = re.compile(r".*\.(?:toml|ya?ml)|\.gitignore|setup\.(?:cfg|py)|requirements[\w.-]*\.txt")
_FILES = "**/*.{py,pyw,ipynb,toml,yaml,yml}"
_GLOBS = (_FILES, "**/.gitignore", "**/setup.cfg", "**/requirements*.txt", f"**/{EVIDENCE}")


async def register(server: LanguageServer, client: Client) -> None:
    """Ask clients that can be asked to tell about changes of files and settings."""
    registrations = []
    if client.watches:
        watchers = [types.FileSystemWatcher(glob) for glob in _GLOBS]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registrations.append(types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if client.tells_settings:
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        registrations.append(types.Registration("settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if registrations:
        try:
            await server.client_register_capability_async(types.RegistrationParams(registrations))
        except Exception as error:  # the client refuses
            log.error("the client will not tell about changes: %s", error)


class Changes(NamedTuple):
    """What a notification about files means.

    ``configuration`` or ``evidence`` may be another one; ``sources`` have other contents, and some were ``listed`` or
    not before.
    """

    configuration: bool
    evidence: bool
    sources: list[str]
    listed: bool


def changes_of(events: Iterable[types.FileEvent]) -> Changes:
    """What a notification about files means."""
    files = [(path, event.type) for event in events if (path := path_of(event.uri)) is not None]
    names = {os.path.basename(path) for path, _ in files}  # noqa: PTH119
    sources = [(path, kind) for path, kind in files if path.endswith(SEARCHED)]
    return Changes(
        any(_CONFIGURATION.fullmatch(name) for name in names),
        EVIDENCE in names,
        [path for path, _ in sources],
        any(kind != types.FileChangeType.Changed for _, kind in sources),
    )
