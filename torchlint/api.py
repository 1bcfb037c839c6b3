"""The public functions for other programs. ``docs/api.md`` describes them, and what else is public."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from torchlint.config import configurations
from torchlint.config.config import Config, ConfigError
from torchlint.model import FileResult, Finding, RunResult, Safety
from torchlint.run import session
from torchlint.run.discovery import discover
from torchlint.run.discovery.context import around
from torchlint.run.fixing.fixer import fix_text
from torchlint.run.rules.registry import RegistryError
from torchlint.text.decode import encode_declared

__all__ = [
    "Config",
    "ConfigError",
    "Finding",
    "RegistryError",
    "fix_source",
    "lint_paths",
    "lint_source",
    "read_config",
]


def read_config(path: str | os.PathLike[str] = ".") -> Config:
    """The configuration that the command line would use for a file or folder: the nearest one, or the defaults.

    Raises :class:`ConfigError` if it is not valid.
    """
    return configurations.load(path)


def lint_source(source: str | bytes, path: str = "<string>", config: Config | None = None) -> FileResult:
    """Lint one source text or notebook, without reading or writing any file.

    ``path`` is the path that findings report and that per-file ignores match; with the suffix ``.ipynb`` the source is
    a notebook, and findings are in its cells. Raises :class:`ConfigError` if the configuration names an unknown rule or
    option, and :class:`RegistryError` if rules of another package cannot be loaded.
    """
    data = encode_declared(source) if isinstance(source, str) else source
    return session.lint_text(data, path, session.plan(config or Config()))


def fix_source(
    source: str | bytes, path: str = "<string>", config: Config | None = None, *, unsafe: bool = False
) -> bytes:
    """Apply the fixes of one source text or notebook and return it, without reading or writing any file.

    The encoding stays. Applies only safe fixes unless ``unsafe``. A text that is not valid Python is returned as it
    is. Raises like :func:`lint_source`.
    """
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    allowed = Safety.UNSAFE if unsafe else Safety.SAFE
    return fix_text(data, path, session.plan(config or Config()), allowed)[0]


def lint_paths(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    config: Config | None = None,
    *,
    jobs: int = 1,
    context: bool = True,
) -> RunResult:
    """Lint files and folders with one configuration, without a cache. Raises like :func:`lint_source`.

    Paths that cannot be read are problems of the result. More than one of ``jobs`` are processes. With ``context``, the
    other files of the repository are read, too, so that the findings are those that a run on the repository reports.
    """
    what = session.plan(config or Config())
    given = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    found, problems, _ = discover.files(given, what.scopes.configurations, str(Path.cwd()))
    if context:
        what = what._replace(around=around(given, what.scopes.configurations))
    run = session.run(found, what, jobs=jobs)
    return run.with_problems(problems)
