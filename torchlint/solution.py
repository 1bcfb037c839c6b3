"""The solution of a project: what its steps read, wait for and copy, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchlint.engine.engine import Engine
from torchlint.engine.events import Occurrence, occurrences
from torchlint.engine.files import counted_of_files, known_of_files
from torchlint.engine.frequency import Frequency
from torchlint.engine.roots import Roots
from torchlint.libraries.dispatch import Libraries
from torchlint.libraries.loaders import Loaders
from torchlint.program.project import Program
from torchlint.program.world import USUAL, World
from torchlint.project.followed import FollowedFile

WORK = 100_000  # statements and calls


class Solution(NamedTuple):
    """What is known of each file, and what following the project took.

    ``happened`` is everything that happens, ``work`` what was spent of the budget.
    """

    happened: tuple[Occurrence, ...]
    frequency: Frequency
    files: dict[str, FollowedFile]
    work: int = 0


def solve(
    contents: Mapping[str, bytes],
    work: int = WORK,
    world: World = USUAL,
) -> Solution:
    """Follow the files of a project, whose contents are given by path.

    Without an accelerator nothing is told but how often code runs, and which loaders there are.
    """
    engine = Engine(Program(contents, world), work, _libraries)
    Roots(engine).follow()
    loaded = {frame.module for frame in engine.state.frames.values()}
    named = any(word in m.content for m in loaded for word in (b"cuda", b"device", b"fabric"))
    frequency = Frequency(engine.state.frames.values())
    happened = tuple(occurrences(frequency)) if world.accelerators else ()
    tell = known_of_files if world.accelerators and (named or world.hot) else counted_of_files
    files = tell(engine.state, happened, frequency, engine.program.modules)
    return Solution(happened, frequency, files, engine.state.work)


def _libraries(engine: Engine) -> tuple[Libraries, Loaders]:
    loaders = Loaders(engine)
    return Libraries(engine, loaders), loaders
