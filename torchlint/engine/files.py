"""What following the programs of a project tells of each file, as plain data."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from torchlint.engine.events import Occurrence, events_of_files
from torchlint.engine.feeds import loaders_of_files
from torchlint.engine.frames import Frame, Region, Tensor
from torchlint.engine.frequency import Frequency, Often, Phase
from torchlint.engine.loading import loading_of_files
from torchlint.engine.often import Counts
from torchlint.engine.state import State
from torchlint.engine.ways import Ways
from torchlint.knowledge.forms import GROWN
from torchlint.program.modules import Module
from torchlint.project.followed import (
    ASSUMED,
    UNREACHED,
    FollowedFile,
    FollowedLoader,
    FollowedStep,
    Range,
    Unfollowed,
    digest,
    range_of,
)

_NEVER = "not with the default options"


def known_of_files(
    state: State, happened: Collection[Occurrence], frequency: Frequency, modules: Mapping[str, Module]
) -> dict[str, FollowedFile]:
    """What is known of each file from the programs alone, without functions that are assumed to be called."""
    ways, loaders = Ways(frequency), loaders_of_files(state, frequency)
    counted, tensors = _counted(state, (), ways, modules, loaders), _tensors(state, frequency)
    steps: dict[str, dict[int, tuple[Often, FollowedStep]]] = defaultdict(dict)
    for path, often, step in _steps(ways):
        known = steps[path].get(step.line)
        if known is None or often.rank > known[0].rank:
            steps[path][step.line] = often, step
    unusual = _unusual(state, frequency, modules)
    reached = _reached(state, modules) if _programs_step(state, frequency) else None
    entered = state.reached if reached is not None else None
    events = events_of_files(happened, ways, modules, entered, state)
    unfollowed = _unfollowed(state)
    if reached is not None:
        for module, statements in state.left_out.items():
            unusual[module.path].update((range_of(statement), UNREACHED) for statement in statements)
    return {
        path: counted.get(path, FollowedFile(digest(modules[path].content)))._replace(
            tensors=tuple(sorted(tensors[path].items())),
            steps=tuple(step for _, (_, step) in sorted(steps[path].items())),
            unusual=tuple(sorted(unusual[path])),
            loaders=tuple(sorted(loaders.get(path, ()))),
            reached=reached[path] if reached is not None else None,
            events=tuple(sorted({*events.get(path, ()), *(counted[path].events if path in counted else ())})),
            unfollowed=unfollowed.get(path, Unfollowed()),
        )
        for path in sorted({*tensors, *steps, *unusual, *loaders, *events, *unfollowed, *counted, *(reached or ())})
    }


def counted_of_files(
    state: State, happened: Collection[Occurrence], frequency: Frequency, modules: Mapping[str, Module]
) -> dict[str, FollowedFile]:
    """How often the code of each file runs, which loaders it makes and what grows, but nothing else of it."""
    found = loaders_of_files(state, frequency)
    bare = {path: [each._replace(feed=None, decodes=("", 0, "")) for each in every] for path, every in found.items()}
    grown = [one for one in happened if one.event.form is GROWN]
    return _counted(state, grown, Ways(frequency), modules, bare)


def _counted(
    state: State,
    grown: Collection[Occurrence],
    ways: Ways,
    modules: Mapping[str, Module],
    loaders: Mapping[str, Collection[FollowedLoader]],
) -> dict[str, FollowedFile]:
    events = loading_of_files(state, ways)
    for path, more in events_of_files(grown, ways, modules, state.reached or None, state).items():
        events[path] |= more
    return {
        path: FollowedFile(
            digest(modules[path].content),
            loaders=tuple(sorted(loaders.get(path, ()))),
            events=tuple(sorted(events.get(path, ()))),
            often=often,
            repeats=repeats,
        )
        for path, (often, repeats) in Counts(state, ways).of_files().items()
        if path in modules
    }


# -- tensors ---------------------------------------------------------------------------------------


def _tensors(state: State, frequency: Frequency) -> dict[str, dict[Range, str]]:
    """The tensors that expressions are: those that are at the same place whenever they are evaluated."""
    known: dict[ast.expr, set[Tensor]] = defaultdict(set)
    assumed: dict[ast.expr, set[Tensor]] = defaultdict(set)
    for (node, region, _), tensor in state.tensors.items():
        often = frequency.of(tensor.frame, region)
        if often.rare:
            continue
        if not (often.assumed or tensor.assumed):
            known[node].add(tensor)
        elif often.phase is Phase.TRAINING and often.option is None:
            assumed[node].add(tensor)
    files: dict[str, dict[Range, str]] = defaultdict(dict)
    for node, every in {**assumed, **known}.items():
        if len({tensor.on_device for tensor in every}) == 1:
            one = next(iter(every))
            mask = " mask" if all(tensor.masks for tensor in every) else ""
            files[one.path][range_of(node)] = f"{'device' if one.on_device else 'host'}{mask}"
            if node not in known:
                files[one.path][range_of(node)] += f" {ASSUMED}"
    return files


# -- steps -----------------------------------------------------------------------------------------


def _steps(ways: Ways) -> Iterator[tuple[str, Often, FollowedStep]]:
    """The functions that run in every step of a program, and the loops that make steps.

    A loop that is part of a training step is no step, although an evaluation calls the function as well.
    """
    frequency = ways.frequency
    parts = set(_parts_of_training(frequency))
    for frame in frequency.frames:
        for region in _places(frame, frequency) if not frame.module.library else ():
            often = frequency.of(frame, region)
            if often.phase is Phase.INFERENCE and (often.assumed or region.node in parts):
                continue
            if often.phase is not Phase.NONE and (region.kind == "loop" or not often.rare):
                line = frame.function.node.lineno if region is frame.root else getattr(region.node, "lineno", 0)  # type: ignore[union-attr]
                way = tuple(ways.way(frame, region))
                assumed = often.assumed and region is frame.root
                yield frame.module.path, often, FollowedStep(line, ASSUMED if assumed else often.phase.value, way)


def _parts_of_training(frequency: Frequency) -> Iterator[ast.AST | None]:
    """The loops within training steps."""
    for frame in frequency.frames:
        for region in frame.regions.values():
            if region.kind == "loop" and not frequency.is_step(frame, region):
                often = frequency.of(frame, region)
                if often.phase is Phase.TRAINING and not often.assumed:
                    yield region.node


def _places(frame: Frame, frequency: Frequency) -> Iterator[Region]:
    """The whole of a function, and the loops in it each of whose iterations is a step."""
    if frame.function is not None:
        yield frame.root
    for region in frame.regions.values():
        if region.kind == "loop" and frequency.is_step(frame, region):
            yield region


def _programs_step(state: State, frequency: Frequency) -> bool:
    """Whether the programs make steps, as far as they were followed; a stub does with what it calls of them."""
    bodies = {module_frame for key, module_frame in state.frames.items() if isinstance(key, Module)}
    own = [frame for frame in frequency.frames if not frame.module.library]
    frames = [f for f in own if f in bodies or (f.function and f.function.node in state.reached)]
    loops = ((frame, r) for frame in frames for r in frame.regions.values() if r.kind == "loop")
    if any(frequency.is_step(frame, loop) for frame, loop in loops if not frame.assumed):
        return True
    often = (frequency.of(frame, frame.root) for frame in frames)
    return any(one.phase is not Phase.NONE and not one.assumed for one in often)


def _reached(state: State, modules: Mapping[str, Module]) -> dict[str, tuple[int, ...]]:
    """The lines of the functions in each file that programs get to."""
    found: dict[str, tuple[int, ...]] = dict.fromkeys(modules, ())
    lines: dict[str, set[int]] = defaultdict(set)
    for frame in state.frames.values():
        own = not frame.module.library
        if own and frame.function is not None and frame.function.node in state.reached:
            lines[frame.module.path].add(frame.function.node.lineno)
    found.update({path: tuple(sorted(numbers)) for path, numbers in lines.items()})
    return found


def _unfollowed(state: State) -> dict[str, Unfollowed]:
    """What the budget did not allow for, by file."""
    done = {frame.function.node for frame in state.frames.values() if frame.function is not None} - state.partial
    left = {module: nodes - done for module, nodes in state.cut.items()}
    return {
        module.path: Unfollowed(module.tree in nodes, len(nodes - {module.tree}))
        for module, nodes in left.items()
        if nodes
    }


# -- what a normal run does not get to -------------------------------------------------------------


def _unusual(state: State, frequency: Frequency, modules: Mapping[str, Module]) -> dict[str, set[tuple[Range, str]]]:
    """The statements and branches of functions and files that a run with default options does not get to."""
    found: dict[str, set[tuple[Range, str]]] = defaultdict(set)
    for path, module in modules.items():
        if module.loaded:
            found[path].update(_in_block(module.tree.body, state, frequency, whole=False))
    known: dict[ast.FunctionDef | ast.AsyncFunctionDef, tuple[str, bool]] = {}
    for frame in frequency.frames:
        node = frame.function.node if frame.function is not None and not frame.module.library else None
        if node is not None and not isinstance(node, ast.Lambda):
            assumed = known.get(node, ("", True))[1] and frequency.of(frame, frame.root).assumed
            known[node] = frame.module.path, assumed
    for node, (path, assumed) in known.items():
        whole = not assumed and node not in state.partial
        found[path].update(_in_block(node.body, state, frequency, whole=whole))
    return found


def _in_block(
    body: Iterable[ast.stmt], state: State, frequency: Frequency, *, whole: bool
) -> Iterator[tuple[Range, str]]:
    for statement in body:
        reason = _reason(statement, state, frequency, whole=whole)
        if reason is not None:
            yield range_of(statement), reason
            continue
        for block in _blocks(statement):
            yield from _in_block(block, state, frequency, whole=whole)
        for branch in _branches(statement):
            reason = _reason(branch, state, frequency, whole=whole)
            if reason is not None:
                yield range_of(branch), reason


def _reason(node: ast.stmt | ast.expr, state: State, frequency: Frequency, *, whole: bool) -> str | None:
    """Why a normal run does not get to a statement or branch; None if it does, or if that is not known."""
    runs = (frequency.of(frame, region) for region, frame in state.ran.get(node, {}).items())
    often = max(runs, key=lambda found: (not found.assumed, found.rank), default=None)
    if often is None:
        return _NEVER if whole else None
    if often.option is not None:
        return f"only {often.option}" if " " in often.option else f"only with `{often.option}`"
    if often.evaluates:
        return "only in evaluation"
    return "not in every step" if often.rare and often.phase is not Phase.NONE else None


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement; the bodies of functions and classes are not part of it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, None) or []
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _branches(statement: ast.stmt) -> Iterator[ast.expr]:
    """The branches of conditional expressions in a simple statement."""
    if hasattr(statement, "body") or hasattr(statement, "cases"):
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.IfExp):
            yield from (node.body, node.orelse)
