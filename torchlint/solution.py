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
    """All events, what is known of each file, and what following the project took.

    ``work`` is what was spent of the budget, ``complete`` whether it was enough.
    """

    events: tuple[Event, ...]
    files: dict[str, FollowedFile]
    work: int
    complete: bool
    functions: frozenset[tuple[str, int]]  # that were reached: path and line


def solve(
    contents: Mapping[str, bytes],
    root: str = "",
    targets: tuple[str, ...] = (),
    work: int = WORK,
    world: World = USUAL,
) -> Solution:
    """Follow the files of a project, whose contents are given by path; nothing is told without an accelerator."""
    if not world.accelerators:
        return Solution((), {}, 0, complete=True, functions=frozenset())
    engine = Engine(Program(contents, root, targets, world), work, _libraries)
    Roots(engine).follow()
    modules = engine.program.modules.values()
    on_accelerator = any(word in m.content for m in modules if m.loaded for word in (b"cuda", b"device", b"fabric"))
    frequency = Frequency(engine.state.frames.values(), on_accelerator=on_accelerator)
    events = sorted((_event(one, frequency) for one in occurrences(frequency)), key=lambda event: event[:7])
    reached = {(f.module.path, f.function.node.lineno) for f in frequency.frames if f.function is not None}
    files = known_of_files(engine.state, frequency, engine.program.modules) if on_accelerator else {}
    complete = engine.state.work < engine.state.total
    return Solution(tuple(events), files, engine.state.work, complete, frozenset(reached))


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
