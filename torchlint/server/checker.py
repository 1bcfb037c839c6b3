"""What the server knows, on the main thread: folders, and the findings of open documents."""

# os.path, as in torchlint.config.config.
# ruff: noqa: PTH109, PTH110, PTH118, PTH119, PTH120
from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from torchlint.base.inputs import CONFIGURATION, read
from torchlint.config.config import ConfigError
from torchlint.model import Finding, RuleInfo, Severity
from torchlint.run import results
from torchlint.run.rules.registry import load
from torchlint.server.folder import Folder
from torchlint.server.settings import Settings
from torchlint.server.status import status
from torchlint.server.switch_off import file_for, switched_off
from torchlint.server.texts.code import Code, NotebookProblem
from torchlint.server.texts.documents import Document, Part
from torchlint.server.texts.kept import Kept
from torchlint.server.worker import Stopped, Worker
from torchlint.text.decode import DecodeProblem

log = logging.getLogger(__name__)


class Checked(NamedTuple):
    """A version of a document, its findings, and the settings for it."""

    document: Document
    findings: tuple[Finding, ...]
    settings: Settings


class SwitchedOff(NamedTuple):
    """A configuration file before (``None`` if it does not exist) and after a rule was switched off."""

    path: str
    before: str | None
    after: str


class _Superseded(Exception):
    """The configuration of a folder has changed while its files were linted."""


class Checker:
    """Lints documents and folders. ``opened`` are the open documents by URI, which the protocol's thread replaces."""

    def __init__(self, worker: Worker, opened: Mapping[str, Document], troubled: Callable[[str], None]) -> None:
        self._worker, self._opened, self._troubled = worker, opened, troubled
        self._folders: dict[str, Folder] = {}
        self._loose: dict[str, Folder] = {}  # folders of files that are in none of these
        self._settings: Mapping[str | None, Settings] = {}
        self._checked: dict[str, Checked] = {}
        self._kept = Kept()
        self._touched: set[str] = set()
        self._search = False

    # -- documents -------------------------------------------------------------------------------

    def check(self, uri: str) -> Checked | None:
        """The findings of the present version of a document; None if it is not open."""
        document = self._opened.get(uri)
        if document is None:
            return None
        known = self._checked.get(uri)
        if known is None or known.document is not document:
            folder, path = self.place(document)
            known = self._checked[uri] = Checked(document, self._findings(document, folder, path), folder.settings)
        return known

    def forget(self, uri: str) -> None:
        """Forget the findings of a document that was closed."""
        self._checked.pop(uri, None)
        self._kept.forget(uri)

    def fixed(self, uri: str) -> dict[Part, str]:
        """The texts of a document that safe fixes change, each with its new text."""
        document = self._opened.get(uri)
        if document is None:
            return {}
        folder, path = self.place(document)
        code = Code.of(document)
        try:
            return code.texts(folder.fixed(path, code.data))
        except (ConfigError, DecodeProblem, NotebookProblem) as problem:
            log.error("%s is not fixed: %s", path, problem)
            return {}

    def switched_off(self, uri: str, rule: str) -> SwitchedOff | None:
        """The configuration for a document with a rule switched off; None if that cannot be done."""
        document = self._opened.get(uri)
        if document is None:
            return None
        folder, path = self.place(document)
        try:
            file = file_for(folder.plan.scope(path).config)
            before = read(file, CONFIGURATION).decode("utf-8") if os.path.exists(file) else None
        except (ConfigError, OSError, UnicodeDecodeError) as error:
            log.error("%s cannot be switched off: %s", rule, error)
            return None
        after = switched_off(file, before or "", rule)
        return SwitchedOff(file, before, after) if after is not None else None

    def place(self, document: Document) -> tuple[Folder, str]:
        """The folder of a document, and its path; a document without a file is as if it were in the first folder."""
        path = document.path
        if path is None:
            first = next(iter(self._folders), None)
            name = os.path.basename(document.uri.partition(":")[2])
            path = os.path.join(first or os.getcwd(), name if name.endswith(".py") else f"{name}.py")
        around = [folder for folder in self._folders.values() if folder.contains(path)]
        if around:
            return max(around, key=lambda folder: len(folder.root)), path
        root = os.path.dirname(path)
        if root not in self._loose:
            self._loose[root] = self._made(root, self._settings.get(None, Settings()))
        return self._loose[root], path

    def _findings(self, document: Document, folder: Folder, path: str) -> tuple[Finding, ...]:
        settings = folder.settings
        try:
            if not settings.enable or (document.path is not None and folder.excludes(path)):
                return ()
            code = Code.of(document)
            result = code.placed(folder.lint(path, code.data), folder.plan.scope(path).config)
        except ConfigError as error:
            self._troubled(str(error))
            return ()
        for problem in result.problems:
            log.error("%s: %s", problem.path, problem.message)
        found = self._kept.beside(document, result.findings)
        return tuple(f for f in found if settings.show_info or f.severity is not Severity.INFO)

    # -- folders ---------------------------------------------------------------------------------

    def configure(self, settings: Mapping[str | None, Settings], *, anew: bool) -> None:
        """Use these settings: for each folder, and for files that are in none (``None``).

        With ``anew``, all configurations are read again; otherwise folders with the same settings as before are kept.
        """
        self._settings = dict(settings)
        self._loose.clear()
        self._checked.clear()
        self._kept.clear()
        before, self._folders = self._folders, {}
        for root, given in settings.items():
            known = before.get(root) if root is not None else None
            if known is not None and known.settings == given and not anew:
                self._folders[known.root] = known
            elif root is not None:
                self._folders[root] = self._made(root, given, known)

    def _made(self, root: str, settings: Settings, before: Folder | None = None) -> Folder:
        """A folder with its configuration; if that is wrong, as before, or without a configuration."""
        try:
            folder = Folder(root, settings)
        except ConfigError as error:
            self._troubled(str(error))
        else:
            if folder.evidence.problem is not None:
                self._troubled(folder.evidence.problem)
            return folder
        if before is not None and before.settings == settings:
            return before
        return Folder(root, Settings(enable=settings.enable, show_info=settings.show_info), isolated=True)

    def unscanned(self) -> list[str]:
        """The folders whose files have not been linted yet."""
        return [root for root, folder in self._folders.items() if folder.tree is None and folder.settings.enable]

    def scan(self, root: str, progress: Callable[[int, int], None]) -> None:
        """Lint the files of a folder as one project; more urgent jobs come in between."""
        folder = self._folders.get(root)
        if folder is None or folder.tree is not None:
            return
        done = 0

        def passed(count: int) -> None:
            nonlocal done
            done += count
            progress(done, len(files))

        def pause() -> None:
            self._worker.pause()
            if self._folders.get(root) is not folder:
                raise _Superseded

        try:
            files = folder.files(pause)
            folder.scan(files, passed, pause)
        except ConfigError as error:
            self._troubled(str(error))
        except _Superseded:
            pass

    def status(self, roots: Iterable[str] | None = None) -> list[str]:
        """What is known of some folders, or of all in which files are linted, as lines of text."""
        folders = {root: folder for root, folder in self._folders.items() if folder.settings.enable}
        wanted = folders if roots is None else [root for root in roots if root in folders]
        return [line for root in wanted for line in status(root, folders[root].result())]

    def has_new_evidence(self) -> bool:
        """Whether evidence of runs was written or deleted since it was read."""
        return any(f.evidence.have_changed() for f in (*self._folders.values(), *self._loose.values()))

    # -- changes ---------------------------------------------------------------------------------

    def touch(self, paths: Iterable[str], *, search: bool) -> None:
        """Note that files have changed on disk; with ``search``, some may have been created or deleted."""
        self._touched.update(paths)
        self._search = self._search or search

    def settle(self) -> list[Checked]:
        """Let the folders follow all changes, and return the open documents whose findings have changed by that."""
        texts = {d.path: Code.of(d).data for d in list(self._opened.values()) if d.path is not None}
        touched, search = self._touched, self._search
        if not self.unscanned():  # else the files that are being read now may be the old ones
            self._touched, self._search = set(), False
        for folder in list(self._folders.values()):
            try:
                own = {
                    path: data for path, data in texts.items() if folder.contains(path) and not folder.excludes(path)
                }
                folder.follow(own, touched, search=search)
            except ConfigError as error:
                self._troubled(str(error))
            except _Superseded:
                pass
            except Stopped:
                raise
            except Exception:
                log.exception("the files of %s are linted one by one from now on", folder.root)
        found = []
        for uri, document in list(self._opened.items()):
            if self.place(document)[0].tree is not None:
                before = self._checked.pop(uri, None)
                checked = self.check(uri)
                found += [checked] if checked is not None and checked != before else []
        return found

    # -- rules -----------------------------------------------------------------------------------

    @staticmethod
    def rules() -> tuple[RuleInfo, ...]:
        """The facts about all rules."""
        return results.infos(load())
