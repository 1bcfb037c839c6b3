"""Following the programs of the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchlint.base import limits
from torchlint.base.interpreter import deep_recursion, no_collection
from torchlint.base.timings import phase
from torchlint.program.world import USUAL, World
from torchlint.project.followed import FollowedFile, digest

if TYPE_CHECKING:
    from torchlint.run.cache import Cache

# Without any of these words there is no step to follow; a file with all of the others may run a model.
_STEPS = (b"backward(", b"def training_step", b"def compute_loss", b"DataLoader", b"def forward(")
_RUNS = (b"torch", b"device")


def follow_programs(
    contents: Mapping[str, bytes], cache: Cache | None = None, world: World = USUAL
) -> dict[str, FollowedFile]:
    """What following the programs tells of each file, by path with forward slashes."""
    if not any(map(_may_step, contents.values())):
        return {}
    known = cache.followed(contents, world) if cache is not None else None
    if known is not None:
        return known
    found = _followed(contents, world)
    if cache is not None:
        cache.put_followed(contents, world, found)
    return found


def _may_step(data: bytes) -> bool:
    return any(word in data for word in _STEPS) or all(word in data for word in _RUNS)


def _is_small(data: bytes) -> bool:
    """Whether a file is also small enough to be linted."""
    from torchlint.text import size

    return len(data) <= limits.MAX_BYTES and size.problem(data) is None


def _followed(contents: Mapping[str, bytes], world: World) -> dict[str, FollowedFile]:
    from torchlint.solution import solve

    read = {path.replace("\\", "/"): data for path, data in contents.items() if _is_small(data)}
    with phase("following"), deep_recursion(), no_collection():
        found = solve(read, world=world).files
    if not world.options:
        return found
    known = {path: found.get(path) or FollowedFile(digest(data)) for path, data in read.items()}
    return {path: each._replace(options=world.options) for path, each in known.items()}
