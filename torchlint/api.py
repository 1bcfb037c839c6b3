"""The public functions for other programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from torchlint.config.config import Config
from torchlint.model import FileResult, RunResult, Safety
from torchlint.run import discover, session
from torchlint.run.fixer import fix_text


def lint_source(source: str | bytes, path: str = "<string>", config: Config | None = None) -> FileResult:
    """Lint one source text, without reading or writing any file.

    ``path`` is the path that findings report and that per-file ignores match. Raises
    :class:`torchlint.config.config.ConfigError` if the configuration names an unknown rule or key.
    """
    data = source.encode() if isinstance(source, str) else source
    return session.plan(config or Config()).lint(data, path)


def fix_source(
    source: str | bytes, path: str = "<string>", config: Config | None = None, *, unsafe: bool = False
) -> bytes:
    """Apply the fixes of one source text and return it in its original encoding, without reading or writing any file.

    Applies only safe fixes unless ``unsafe``. A text that is not valid Python is returned unchanged. Raises like
    :func:`lint_source`.
    """
    data = source.encode() if isinstance(source, str) else source
    allowed = Safety.UNSAFE if unsafe else Safety.SAFE
    return fix_text(data, path, session.plan(config or Config()), allowed)[0]


def lint_paths(paths: Sequence[str | os.PathLike[str]], config: Config | None = None, *, jobs: int = 1) -> RunResult:
    """Lint files and folders, without a cache. Raises like :func:`lint_source`."""
    what = session.plan(config or Config())
    found, problems, _ = discover.files([os.fspath(p) for p in paths], what.scopes.configurations, str(Path.cwd()))
    run = session.run(found, what, jobs=jobs)
    return run.with_problems(problems)
