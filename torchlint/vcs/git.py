"""Runs git for reading, so that nothing is executed that the configuration of the repository names.

Only commands with stable output for programs are run (plumbing), and every setting that would change their output or
run a program is overridden: hooks, file system monitors, external diffs, text conversions, filters, and the transports
by which a partial clone fetches what it lacks. No command writes to the repository.
"""

# os.path, because real paths of many files are compared as strings.
# ruff: noqa: PTH100, PTH114, PTH117, PTH118, PTH120
from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from torchlint.base import paths

_LEAST = (2, 31)  # the first version that takes settings for any name from the environment
_OVERRIDDEN = (
    "core.fsmonitor=",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=true",
    "core.pager=cat",
    "diff.external=",
    "protocol.allow=never",
)
# Variables that change what commands print or how they read paths.
_CLEARED = (
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
)
_FIXED = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
}


class GitProblem(Exception):
    """Why git cannot answer, and what to do about it, in one line."""


class Repository:
    """The repository around a folder. ``top`` is the real path of its working tree."""

    def __init__(self, folder: str) -> None:
        """Find the repository. Raises :class:`GitProblem`, also if there is no git."""
        self._program = _program()
        self._environment = {k: v for k, v in os.environ.items() if k not in _CLEARED} | _FIXED
        # A hook gets the repository from git; its variables may be relative to the current folder.
        start = "." if "GIT_DIR" in os.environ or "GIT_WORK_TREE" in os.environ else folder
        self._at: tuple[str, ...] = ("-C", start)
        self._check_version()
        self.top = ""
        shown = self._located(start, "--show-toplevel")
        directory = self._located(start, "--absolute-git-dir")
        self._at = ("-C", shown, f"--git-dir={directory}", f"--work-tree={shown}")
        self.top = os.path.realpath(shown)
        self._without_filters()
        self._real: dict[str, str] = {}
        self._own: dict[str, bool] = {self.top: True}

    def output(self, *arguments: str, given: bytes = b"") -> bytes:
        """What a command prints, run in the top folder. Raises :class:`GitProblem`."""
        done = self._run(arguments, given)
        if done.returncode:
            raise GitProblem(_explained(done.stderr, self.top))
        return done.stdout

    def line(self, *arguments: str) -> str | None:
        """The one line that a command prints; None if it fails."""
        done = self._run(arguments, b"")
        return None if done.returncode else os.fsdecode(done.stdout.removesuffix(b"\n"))

    def name(self, path: str) -> str | None:
        """The name of a file in this repository, with ``/``; None if it belongs to no or another one.

        A link means the file that it leads to, if that belongs to the repository.
        """
        folder, base = os.path.split(os.path.abspath(path))
        real = self._real.get(folder)
        if real is None:
            real = self._real[folder] = os.path.realpath(folder)
        full = os.path.join(real, base)
        if os.path.islink(full) and (found := self._inside(os.path.realpath(full))) is not None:
            return found
        return self._inside(full)

    def contains(self, path: str) -> bool:
        """Whether a file, a folder or a link is in the working tree, or leads to something in it."""
        folder, base = os.path.split(os.path.abspath(path))
        found = (os.path.realpath(path), os.path.join(os.path.realpath(folder), base))
        return any(os.path.join(full, "").startswith(os.path.join(self.top, "")) for full in found)

    def path(self, name: str) -> str:
        """The path of a file of this repository, relative to the current folder if it is below that."""
        full = os.path.join(self.top, *name.split("/"))
        return paths.shown(full, os.path.realpath("."))

    def _inside(self, full: str) -> str | None:
        top = os.path.join(self.top, "")
        if not full.startswith(top) or not self._is_own(os.path.dirname(full)):
            return None
        return full[len(top) :].replace(os.sep, "/")

    def _is_own(self, folder: str) -> bool:
        """Whether a folder below the top belongs to this repository, not to a submodule or another one inside."""
        found = self._own.get(folder)
        if found is None:
            nested = os.path.lexists(os.path.join(folder, ".git"))
            found = self._own[folder] = not nested and self._is_own(os.path.dirname(folder))
        return found

    def _run(self, arguments: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
        settings = [word for setting in _OVERRIDDEN for word in ("-c", setting)]
        command = [self._program, *self._at, "--no-pager", "--literal-pathspecs", *settings, *arguments]
        try:
            return subprocess.run(command, input=given, env=self._environment, capture_output=True, check=False)
        except OSError as error:
            raise GitProblem(f"git cannot be run: {error.strerror}") from None

    def _located(self, start: str, what: str) -> str:
        done = self._run(("rev-parse", what), b"")
        if done.returncode:
            raise GitProblem(_explained(done.stderr, start))
        return os.fsdecode(done.stdout.removesuffix(b"\n"))

    def _check_version(self) -> None:
        words = (self.line("version") or "").split()
        parts = words[2].split(".")[:2] if len(words) > 2 else []
        if not all(part.isdigit() for part in parts) or tuple(map(int, parts)) < _LEAST:
            raise GitProblem(
                f"git {'.'.join(map(str, _LEAST))} or newer is needed; `git version` says which one is found"
            )

    def _without_filters(self) -> None:
        """Disable filters of file contents, which are programs that the configuration names."""
        listed = self._run(("config", "-z", "--name-only", "--get-regexp", r"^filter\."), b"").stdout
        drivers = {key.rpartition(b".")[0] for key in listed.split(b"\0") if key}
        values = {"clean": "", "smudge": "", "process": "", "required": "false"}
        settings = [
            (f"{os.fsdecode(driver)}.{key}", value) for driver in sorted(drivers) for key, value in values.items()
        ]
        given = self._environment.get("GIT_CONFIG_COUNT", "")
        first = int(given) if given.isdigit() else 0
        for number, (key, value) in enumerate(settings, first):
            self._environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        if settings:
            self._environment["GIT_CONFIG_COUNT"] = str(first + len(settings))


def _program() -> str:
    """The absolute path of git. What is in the current folder, or in a relative folder of PATH, is never run."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, folders)))
    if found is not None and os.path.isabs(found):
        return found
    if (ignored := found or shutil.which("git")) is not None:
        raise GitProblem(f"{ignored} is not run, since its folder in PATH is relative, and PATH has no other git")
    raise GitProblem("git is not installed, or not in a folder of PATH")


def _explained(stderr: bytes, folder: str) -> str:
    """The reason in what git prints to standard error, with advice."""
    text = stderr.decode("utf-8", "replace")
    if "not a git repository" in text:
        return f"{folder} is not in a git repository"
    if "dubious ownership" in text or "unsafe repository" in text:
        advice = "if you trust it: git config --global --add safe.directory PATH"
        return f"{folder} is in a repository of another user, which git does not read; {advice}"
    if "must be run in a work tree" in text:
        return f"{folder} is in a bare repository or in a .git folder; run torchlint in a working tree"
    if "lazy fetching disabled" in text or "transport '" in text or "promisor remote" in text:
        advice = "`git diff REV` fetches what is missing, torchlint never does"
        return f"this is a partial clone without the older content of changed files; {advice}"
    lines = [line for line in text.splitlines() if line.startswith(("fatal:", "error:"))] or text.splitlines()
    return f"git says: {lines[-1].removeprefix('fatal: ')}" if lines else "git fails without saying why"
