"""How loaders are used: where iterators are made of them, and what their workers do for samples."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchlint.engine.arguments import OTHERS
from torchlint.engine.conditions import truth
from torchlint.engine.frames import Frame, Made, Region, callees
from torchlint.engine.frequency import Often, Phase
from torchlint.engine.values import HANDLE, Device, Kind, Value
from torchlint.knowledge.forms import IN_WORKER, RESTARTED, Form
from torchlint.knowledge.tensors import DATASET_BASES
from torchlint.project.followed import ONCE, SELDOM, FollowedEvent, range_of

if TYPE_CHECKING:
    from torchlint.engine.frequency import Frequency
    from torchlint.engine.state import State
    from torchlint.engine.ways import Ways

_PER_SAMPLE = ("__getitem__", "__getitems__")
_READING = (
    *(ast.Return, ast.Assign, ast.Expr, ast.Tuple, ast.Dict, ast.Name, ast.Attribute, ast.Subscript, ast.Constant),
    *(ast.expr_context, ast.arguments, ast.arg),
)


def by_call(loaders: Iterable[Made]) -> dict[ast.AST, list[Made]]:
    """Loaders by the call that makes them."""
    found: dict[ast.AST, list[Made]] = defaultdict(list)
    for each in loaders:
        found[each.node].append(each)
    return found


def workers_of(made: Made) -> int | None:
    """How many workers a loader has in a normal run; None if that is not known."""
    given = made.named.get("num_workers")
    if given is None:
        return None if OTHERS in made.named else 0
    assumed = given.option is not None and given.option.assumed
    given = given.items[0] if given.kind is Kind.NUMBER and given.items else given
    known = given.kind is Kind.CONSTANT and type(given.detail) is int and not assumed
    return given.detail if known else None


def has_workers(made: Made) -> bool:
    """Whether a number of workers is given, which is not zero in a normal run."""
    return "num_workers" in made.named and workers_of(made) != 0


def persists(made: Made) -> bool | None:
    """Whether workers outlive an epoch; None if that is not known, or switched off."""
    given = made.named.get("persistent_workers")
    if given is None:
        return None if OTHERS in made.named else False
    return truth(given) or None


# -- how often -------------------------------------------------------------------------------------


def rate(often: Often) -> str:
    """How often something runs: ``once``, in every ``epoch`` or ``step``, or ``seldom``, as only with an option."""
    if often.rare or often.option is not None:
        return SELDOM
    return "step" if often.phase is not Phase.NONE else "epoch" if often.in_loop else ONCE


def rate_of(made: Made, frequency: Frequency) -> str:
    """How often a loader is made; ``seldom`` if nothing but an option leads to where that happens."""
    often, seen = rate(frequency.of(made.frame, made.region)), {made.frame}
    todo = list(frequency.callers(made.frame))
    usual = not todo
    for frame, region in todo:
        if rate(frequency.of(frame, region)) != SELDOM:
            usual = usual or not frequency.callers(frame)
            todo += frequency.callers(frame) if frame not in seen else ()
            seen.add(frame)
    return often if usual else SELDOM


def starts(
    made: Mapping[ast.AST, list[Made]], state: State, frequency: Frequency
) -> dict[ast.AST, set[tuple[str, int, int, str]]]:
    """Where a training begins to iterate over the loaders that calls have made, and how often."""
    found: dict[ast.AST, set[tuple[str, int, int, str]]] = defaultdict(set)
    for (node, region), started in state.starts.items():
        loop = region.loop()
        inner = (each for each in started.frame.regions.values() if each.up is region and each.kind == "loop")
        steps = any(_over(each) is node and frequency.of(started.frame, each).phase is Phase.TRAINING for each in inner)
        if not steps and (started.whole or loop is None or not loop.backward):
            continue
        often = rate(frequency.of(started.frame, region))
        around, called = _around(started.frame, region, frequency)
        for loader in started.loaders:
            if not any(one.frame in called or _is_in(one.region, around) for one in made.get(loader, ())):
                found[loader].add((started.frame.module.path, node.lineno, node.col_offset, often))
    return found


def _over(loop: Region) -> ast.AST | None:
    return getattr(loop.node, "iter", loop.node)


def _is_in(region: Region, loop: Region | None) -> bool:
    return loop is not None and loop in region.around()


def _around(frame: Frame, region: Region, frequency: Frequency) -> tuple[Region | None, set[Frame]]:
    """The innermost loop around a region, also around calls of its function, and what is called in there."""
    seen: set[Frame] = set()
    loop = region.loop()
    while loop is None and frame not in seen and frame in frequency.reached_by:
        seen.add(frame)
        frame, region, _ = frequency.reached_by[frame]
        loop = region.loop()
    inner = (call.callee for call in frame.calls if _is_in(call.region, loop))
    return loop, callees(inner)


# -- for each sample -------------------------------------------------------------------------------


def in_memory(made: Made) -> bool:
    """Whether a loader only collates tensors of the host, which its dataset indexes."""
    collate, size = made.named.get("collate_fn"), made.named.get("batch_size")
    plain = OTHERS not in made.named and (collate is None or collate.is_none)
    if not plain or (size is not None and size.is_none):
        return False
    data = made.dataset
    if data.kind is Kind.DATASET:
        return data.detail is None and not any(item.device is Device.ACCELERATOR for item in data.items)
    callees = [call.callee for call in made.worker.calls]
    only = callees[0].function if len(callees) == 1 else None
    return data.kind is Kind.INSTANCE and only is not None and _only_indexes(only.node, data)


def _only_indexes(method: ast.AST, data: Value) -> bool:
    """Whether ``__getitem__`` does nothing but read rows of tensors that are attributes."""
    body = [part for statement in getattr(method, "body", ()) for part in ast.walk(statement)]
    read = [part.value for part in body if isinstance(part, ast.Subscript)]
    return (
        getattr(method, "name", "") == "__getitem__"
        and bool(read)
        and all(isinstance(part, _READING) for part in body)
        and all(_is_tensor(data.target.fields.get(getattr(part, "attr", ""))) for part in read)
    )


def _is_tensor(value: Value | None) -> bool:
    return value is not None and value.kind is Kind.TENSOR and value.sure and value.device is not Device.ACCELERATOR


def decodes(made: Made) -> tuple[str, int, str]:
    """What decodes a file for each sample: path, line and name; nothing if that can only be done in this process."""
    data = made.dataset
    if data.kind is Kind.DATASET and data.target is not None:
        return made.frame.module.path, data.target.lineno, ast.unparse(data.target.func)
    held = data.target.fields.values() if data.kind is Kind.INSTANCE and data.target is not None else ()
    if any(value.kind is not Kind.CONSTANT and value.detail in ("<lambda>", HANDLE) for value in held):
        return "", 0, ""
    roots = [call.callee for call in made.worker.calls if call.callee.name == "__getitem__"]
    calls = ((frame, node) for root in roots for frame, kind, node in _always(root) if kind == "file")
    first = next(((frame.module.path, node) for frame, node in calls if isinstance(node, ast.Call)), None)
    return (first[0], first[1].lineno, ast.unparse(first[1].func)) if first is not None else ("", 0, "")


def _always(frame: Frame) -> Iterator[tuple[Frame, str, ast.expr]]:
    """What a frame does for samples in any case, and what it calls."""
    todo = [frame]
    for here in todo:
        yield from ((here, kind, node) for kind, node, region in here.loads if _is_plain(region))
        todo += [call.callee for call in here.calls if _is_plain(call.region) and call.callee not in todo]


def _is_plain(region: Region) -> bool:
    return not any(around.kind == "guard" for around in region.around())


# -- events ----------------------------------------------------------------------------------------


def loading_of_files(state: State, ways: Ways) -> dict[str, set[FollowedEvent]]:
    """Iterators that are made for single batches, and what workers put on the device."""
    made = by_call(state.loaders.values())
    found: dict[str, set[FollowedEvent]] = defaultdict(set)
    for path, event in (*_restarts(state, ways, made), *_in_workers(state, ways.frequency)):
        found[path].add(event)
    return found


def _event(node: ast.expr, form: Form, what: str, origin: str, other: tuple[str, int]) -> FollowedEvent:
    lines = node.lineno, node.end_lineno or node.lineno
    return FollowedEvent(range_of(node), form.key, what, ONCE, "", origin, lines, (), other=other)


def _other(made: Made | None, path: str) -> tuple[str, int]:
    """Where a loader is made, as seen from a file."""
    if made is None:
        return "", 0
    there = made.frame.module.path
    return there if there != path else "", made.node.lineno


def _restarts(state: State, ways: Ways, made: Mapping[ast.AST, list[Made]]) -> Iterator[tuple[str, FollowedEvent]]:
    """Iterators that every step of a training makes of loaders that are made before it."""
    for (node, region), started in state.starts.items():
        often = ways.frequency.of(started.frame, region)
        loop = region.loop()
        inside = (around for around in region.around() if loop is None or loop in around.around())
        if started.whole or rate(often) != "step" or often.phase is not Phase.TRAINING:
            continue
        if any(around.kind == "guard" for around in inside):
            continue
        loaders = [one for loader in started.loaders for one in made.get(loader, ())]
        if any(rate_of(one, ways.frequency) == "step" for one in loaders):
            continue
        one = loaders[0] if len(started.loaders) == 1 and loaders else None
        cost = _cost(one) if one is not None else "unknown"
        if cost:
            path = started.frame.module.path
            yield path, _event(node, RESTARTED, RESTARTED.written, cost, _other(one, path))


def _cost(made: Made) -> str:
    """What is done again with each iterator: ``workers``, what ``persistent`` ones load, or a ``shuffle``."""
    if has_workers(made):
        return "persistent" if persists(made) else "workers"
    if OTHERS in made.named:
        return "unknown"
    shuffle = made.named.get("shuffle")
    return "shuffle" if shuffle is not None and truth(shuffle) else ""


def _in_workers(state: State, frequency: Frequency) -> Iterator[tuple[str, FollowedEvent]]:
    """What datasets and collations put on the device, in workers or for one sample after the other."""
    every = sorted(state.loaders.values(), key=has_workers, reverse=True)
    roots: list[tuple[Frame, Made | None]] = [(each.worker, each) for each in every]
    roots += [(frame, None) for frame in frequency.frames if frame.worker and frame.name == "<assumed>"]
    seen: set[ast.AST] = set()
    for root, made in roots:
        workers = made is not None and has_workers(made)
        for call in root.calls:
            done = [(frame, kind, node) for frame, kind, node in _always(call.callee)]
            back = any(kind == "host" for _, kind, _ in done)
            if not workers and (back or not _moves_samples(call.callee, made)):
                continue
            for frame, kind, node in done:
                if kind == "device" and node not in seen:
                    seen.add(node)
                    path, origin = frame.module.path, "workers" if workers else ""
                    other = _other(made if workers else None, path)
                    yield path, _event(node, IN_WORKER, call.callee.name, origin, other)


def _moves_samples(callee: Frame, made: Made | None) -> bool:
    """Whether a function gives a sample of a dataset, of which a loader makes batches."""
    class_ = callee.function.class_ if callee.function is not None else None
    if class_ is None or class_.lineage is None or class_.lineage[1].isdisjoint(DATASET_BASES):
        return False
    size = made.named.get("batch_size") if made is not None else None
    single = size is None or size.is_none or size.detail == 1
    return callee.name in _PER_SAMPLE and (made is None or not single)
