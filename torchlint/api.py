"""The functions that other programs call."""

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

    ``path`` is what findings are reported under and what per-file ignores match. Raises
    :class:`torchlint.config.config.ConfigError` when the configuration names what does not exist.
    """
    data = source.encode() if isinstance(source, str) else source
    return session.plan(config or Config()).lint(data, path)


def fix_source(
    source: str | bytes, path: str = "<string>", config: Config | None = None, *, unsafe: bool = False
) -> bytes:
    """The source text after its fixes, in the encoding it came in; reads and writes no file.

    Only safe fixes are made unless ``unsafe``. What cannot be read as Python comes back as it is. Raises as
    :func:`lint_source` does.
    """
    data = source.encode() if isinstance(source, str) else source
    allowed = Safety.UNSAFE if unsafe else Safety.SAFE
    return fix_text(data, path, session.plan(config or Config()), allowed)[0]


def lint_paths(paths: Sequence[str | os.PathLike[str]], config: Config | None = None, *, jobs: int = 1) -> RunResult:
    """Lint files and folders, without a cache. Raises as :func:`lint_source` does."""
    what = session.plan(config or Config())
    found, problems, _ = discover.files([os.fspath(p) for p in paths], what.scopes.configurations, str(Path.cwd()))
    run = session.run(found, what, jobs=jobs)
    return run.with_problems(problems)
