"""The solution of a project: what its steps read, wait for and copy, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchlint.engine.engine import Engine
from torchlint.engine.events import Occurrence, occurrences
from torchlint.engine.files import known_of_files
from torchlint.engine.frequency import Frequency, Phase
from torchlint.engine.roots import Roots
from torchlint.libraries.dispatch import Libraries
from torchlint.libraries.loaders import Loaders
from torchlint.program.project import Program
from torchlint.program.world import USUAL, World
from torchlint.project.followed import FollowedFile

WORK = 100_000  # statements and calls


class Event(NamedTuple):
    """Something that concerns the device.

    ``kind`` is ``read`` (the host uses content of the device), ``wait`` (another wait of the host) or ``copy`` (to the
    device). ``line`` counts from 1, ``column`` from 0, in UTF-8 bytes, as in ``ast``. ``origin`` says what is copied: a
    ``batch``, what was ``made`` in the step or is ``constant``, what was ``read`` from the device before. ``way`` are
    the places from the step to here: path, line, and the function that is called there.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    what: str
    phase: str
    rare: bool
    option: str | None
    assumed: bool
    origin: str
    way: tuple[tuple[str, int, str], ...]


class Solution(NamedTuple):
    """What is known of each file, and what following the project took.

    ``happened`` is everything that happens, ``work`` what was spent of the budget.
    """

    happened: tuple[Occurrence, ...]
    frequency: Frequency
    files: dict[str, FollowedFile]
    work: int = 0

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happens, in order."""
        found = (_event(one, self.frequency) for one in self.happened)
        return tuple(sorted(found, key=lambda event: event[:7]))

    @property
    def functions(self) -> frozenset[tuple[str, int]]:
        """The path and line of the functions that were reached."""
        return frozenset((f.module.path, f.function.node.lineno) for f in self.frequency.frames if f.function)


def solve(
    contents: Mapping[str, bytes],
    root: str = "",
    targets: tuple[str, ...] = (),
    work: int = WORK,
    world: World = USUAL,
) -> Solution:
    """Follow the files of a project, whose contents are given by path; nothing is told without an accelerator."""
    if not world.accelerators:
        return Solution((), Frequency((), on_accelerator=False), {})
    engine = Engine(Program(contents, root, targets, world), work, _libraries)
    Roots(engine).follow()
    loaded = {frame.module for frame in engine.state.frames.values()}
    on_accelerator = any(word in m.content for m in loaded for word in (b"cuda", b"device", b"fabric"))
    frequency = Frequency(engine.state.frames.values(), on_accelerator=on_accelerator)
    happened = tuple(occurrences(frequency))
    files = known_of_files(engine.state, happened, frequency, engine.program.modules) if on_accelerator else {}
    return Solution(happened, frequency, files, engine.state.work)


def _libraries(engine: Engine) -> tuple[Libraries, Loaders]:
    loaders = Loaders(engine)
    return Libraries(engine, loaders), loaders


def _event(one: Occurrence, frequency: Frequency) -> Event:
    happening, state = one.happening, one.state
    node = happening.node
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return Event(
        happening.path,
        line,
        column,
        getattr(node, "end_lineno", line) or line,
        getattr(node, "end_col_offset", column) or column,
        happening.form.kind,
        happening.what,
        state.phase.value,
        state.rare,
        state.option,
        state.assumed,
        one.origin(frequency),
        tuple(frequency.way(one.frame, one.region)) if state.phase is not Phase.NONE else (),
    )
