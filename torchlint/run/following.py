"""Following the programs of the files of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from torchlint.base import limits
from torchlint.base.interpreter import deep_recursion, no_collection
from torchlint.base.timings import phase
from torchlint.knowledge.following import RETURNING
from torchlint.program.world import World
from torchlint.project.components import components
from torchlint.project.definitions import Definitions
from torchlint.project.followed import FollowedFile
from torchlint.project.names import names

if TYPE_CHECKING:
    from torchlint.project.outline import Outlines
    from torchlint.run.cache import Cache

# Without any of these words there is nothing to follow; a file with all of the others may run a model.
_STEPS = (
    *(b"backward(", b"_step(", b".step(", b"compute_loss", b"oader", b"forward(", b"Trainer("),
    *(b"def __getitem__(", b"def __next__(", b"collate"),
    b"non_blocking",  # which may be wrong wherever it stands
)
_RUNS = (b"torch", b"device")


def connected(contents: Mapping[str, bytes], outlines: Outlines, named: Collection[str]) -> list[list[str]]:
    """The components of a project that at least one of the ``named`` files is in."""
    paths = {path.replace("\\", "/"): path for path in contents}
    data = {name: contents[path] for name, path in paths.items()}
    found = ([paths[name] for name in each] for each in components(data, Definitions(paths, outlines)))
    return [each for each in found if any(path in named for path in each)]


def follow_programs(
    components: Iterable[Mapping[str, bytes]],
    world: Callable[[Mapping[str, bytes]], World],
    cache: Cache | None = None,
) -> dict[str, FollowedFile]:
    """What following the programs of each component of a project tells of its files, by path with forward slashes.

    ``world`` gives the world of some files.
    """
    found: dict[str, FollowedFile] = {}
    for contents in components:
        found.update(_of_component(contents, world(contents), cache))
    return found


def _of_component(contents: Mapping[str, bytes], world: World, cache: Cache | None) -> Mapping[str, FollowedFile]:
    if not world.hot and not any(map(_may_step, contents.values())):
        return {}
    known = cache.followed(contents, world) if cache is not None else None
    if known is not None:
        return known
    found = _followed(contents, world)
    if cache is not None:
        cache.put_followed(contents, world, found)
    return found


def _may_step(data: bytes) -> bool:
    steps = any(word in data for word in _STEPS) or all(word in data for word in _RUNS)
    return steps or RETURNING.search(data) is not None


def _is_small(data: bytes) -> bool:
    """Whether a file is also small enough to be linted."""
    from torchlint.text import size

    return len(data) <= limits.MAX_BYTES and size.problem(data) is None


def _followed(contents: Mapping[str, bytes], world: World) -> dict[str, FollowedFile]:
    from torchlint.solution import solve

    named = names(contents)
    paths = {name: path.replace("\\", "/") for path, name in named.items()}
    read = {named[path]: data for path, data in contents.items() if _is_small(data)}
    with phase("following"), deep_recursion(), no_collection():
        found = solve(read, world=world.renamed(named)).files
    return {paths[name]: known.with_paths(paths) for name, known in found.items()}
