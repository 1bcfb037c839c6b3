"""Facts that are gathered once another file asks for them: what functions do with loaders, and with their batches.

To follow every parameter of every function would take longer than all rules together, and in most projects few are
asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.batch_flow import BatchFlow
from torchlint.analysis.things.batch_uses import BATCH, CONTAINER, LOADER, BatchUses
from torchlint.knowledge.tensors import LIGHTNING_BASES
from torchlint.project.facts import Feeding, FileFacts, ReturnedLoader

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.project.asked import Asked

_LOADER_NAME = re.compile(r"loader|data|iter|batches", re.IGNORECASE)


def follow(module: SourceModule, asked: Asked) -> FileFacts:
    """What the file does with the loaders that it is given: as arguments, and as results of other files' functions."""
    flow = BatchFlow(module)
    facts = _arguments(module, flow, asked.functions)
    made = list(_results(module, flow, asked.results))
    if made:
        facts["returned_loaders"] = made
    return facts


# -- arguments -----------------------------------------------------------------------------------


def _arguments(module: SourceModule, flow: BatchFlow, asked: Set[str]) -> FileFacts:
    facts: FileFacts = {}
    found: dict[str, dict[str, dict[str, Feeding]]] = {LOADER: {}, CONTAINER: {}, BATCH: {}}
    parameters: dict[str, list[str]] = {}
    for name, function, skipped in _callables(module):
        if name not in asked:
            continue
        ordered = (*function.params.posonly_params, *function.params.params)[skipped:]
        is_of_model = _is_of_model(module, function)
        for param in (*ordered, *function.params.kwonly_params):
            if is_of_model and not _LOADER_NAME.search(param.name.value):
                continue
            for role, feeds in found.items():
                feeding = _feeding(module, flow.of_parameter(param, role))
                if feeding is not None:
                    feeds.setdefault(name, {})[param.name.value] = feeding
                    parameters[name] = [p.name.value for p in ordered]
    if parameters:
        facts["parameters"] = parameters
    if found[LOADER]:
        facts["fed_parameters"] = found[LOADER]
    if found[CONTAINER]:
        facts["fed_containers"] = found[CONTAINER]
    if found[BATCH]:
        facts["moved_parameters"] = found[BATCH]
    return facts


def _callables(module: SourceModule) -> Iterator[tuple[str, cst.FunctionDef, int]]:
    """Functions, methods, and constructors under the name of their class; with how many parameters are not passed."""
    for statement in module.tree.body:
        if isinstance(statement, cst.FunctionDef):
            yield statement.name.value, statement, 0
    for statement in module.tree.body:
        if isinstance(statement, cst.ClassDef):
            for method in statement.body.body:
                if isinstance(method, cst.FunctionDef):
                    name, owner = method.name.value, statement.name.value
                    yield owner if name == "__init__" else f"{owner}.{name}", method, 1


def _is_of_model(module: SourceModule, function: cst.FunctionDef) -> bool:
    """Whether a function is a method of a model: it gets sizes and activations, and seldom loaders."""
    owner = module.class_of(function)
    return owner is not None and module.classes.is_module(owner) and not module.classes.derives(owner, LIGHTNING_BASES)


def _feeding(module: SourceModule, consumed: BatchUses) -> Feeding | None:
    """The uses of a loader or batch as a fact, or None. The file's own moves take precedence over frameworks."""
    if consumed.pinned or not (consumed.moves or consumed.framework_moves):
        return None
    if not consumed.moves:
        given = min(consumed.framework_moves, key=lambda move: module.order(move.node))
        evaluation = all(move.evaluation for move in consumed.framework_moves)
        return {"line": module.line(given.node), "evaluation": evaluation, "framework": given.framework.name}
    first = min(consumed.moves, key=lambda move: module.order(move.move))
    evaluation = all(module.heat_analysis.evaluates(move.loop) for move in consumed.moves)
    return {"line": module.line(first.move), "evaluation": evaluation, "framework": ""}


# -- results -------------------------------------------------------------------------------------


def _results(module: SourceModule, flow: BatchFlow, asked: Set[str]) -> Iterator[ReturnedLoader]:
    """Results of functions of other files that are used as loaders here."""
    for call in module.nodes_of(cst.Call, module.project_symbol_names):
        name = module.project_symbol(call.func)
        if name is None or name.rpartition(".")[2] not in asked or not _seems_loader(module, call, name):
            continue
        width = _width(module, call)
        feeding = _feeding(module, flow.of(call)) if width == 0 else None
        if feeding is not None:
            yield {"function": name, "place": None, "feeding": feeding}
        for place in range(width):
            feeding = _feeding(module, flow.of_element(call, place))
            if feeding is not None:
                yield {"function": name, "place": place, "feeding": feeding}


def _seems_loader(module: SourceModule, call: cst.Call, name: str) -> bool:
    """The function or what its result is kept in is called after loaders or data."""
    if _LOADER_NAME.search(name.rpartition(".")[2]):
        return True
    parent = module.parent(call)
    if not isinstance(parent, cst.Assign):
        return False
    values = (getattr(part, "value", None) for part in descendants(parent.targets[0].target))
    return any(isinstance(value, str) and _LOADER_NAME.search(value) for value in values)


def _width(module: SourceModule, call: cst.Call) -> int:
    parent = module.parent(call)
    if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Tuple):
        return len(parent.targets[0].target.elements)
    return 0
