"""Names in ``world`` that match nothing, which are said, since a misspelled one changes nothing without a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.base.globs import path_matches
from torchlint.base.limits import content
from torchlint.base.paths import below, relative_to
from torchlint.config.config import source_of

if TYPE_CHECKING:
    from torchlint.config.config import Config
    from torchlint.run.plan import Plan


def notes(given: Sequence[str], files: Sequence[str], what: Plan) -> tuple[str, ...]:
    """A sentence for each name that matches none of the ``files``, where the ``given`` paths contain the project."""
    configs = {(config.root, config.source): config for config in (what.config, *(what.scope(f).config for f in files))}
    whole = (c for c in configs.values() if any(below(c.root, path) is not None for path in given))
    return tuple(note for config in whole for note in _of(config, files))


def _of(config: Config, files: Sequence[str]) -> Iterator[str]:
    root, where = config.programs_root or config.root, f"{source_of(config)}: world"
    for glob in config.world.programs or ():
        if not any(path_matches((glob,), relative_to(root, path)) for path in files):
            yield f"{where}.programs: {glob!r} matches none of the linted files."
    names = [name for name, _ in config.world.options]
    for name in sorted(_absent(names, (path for path in files if below(path, config.root) is not None))):
        yield f"{where}.options: {name!r} occurs in none of the linted files, so it changes nothing."


def _absent(names: Iterable[str], files: Iterable[str]) -> set[str]:
    """The names of options that no file writes, with dashes or underscores, and with or without ``no``."""
    left = {name: re.compile(rb"(?<!\w)" + _written(name) + rb"(?!\w)") for name in names}
    for path in files:
        if not left:
            break
        try:
            data = content(path)
        except OSError:
            continue
        left = {name: pattern for name, pattern in left.items() if not pattern.search(data)}
    return set(left)


def _written(name: str) -> bytes:
    return b"[-_]".join(re.escape(part.encode()) for part in name.removeprefix("no_").split("_"))
