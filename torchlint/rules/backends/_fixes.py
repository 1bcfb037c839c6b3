"""Fixes of TL501 to TL504, TL507 and TL508: flags of backends that are disabled, corrected or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal
from torchlint.analysis.things.flags.backend_flag import Conflict
from torchlint.analysis.things.flags.paths import BackendFlag
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.knowledge import backends as known
from torchlint.model import Edit, Fix, Safety
from torchlint.rules.backends._dead_flags import DeadWrite

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_ALGORITHMS = "cuDNN may choose other algorithms, which changes speed and the last bits of results"
_REENABLED = (
    "cuDNN runs convolutions and recurrent layers again: results round differently, and the problem it was disabled "
    "for may return"
)
_NOT_SET = "the value is no longer computed, and another file that reads the attribute would no longer find it"
_TAKES_EFFECT = "the statement takes effect, which it never did before"
# Methods without arguments: `model.eval = True` is replaced by `model.eval()`.
_WITHOUT_ARGUMENTS = frozenset("eval zero_grad step backward empty_cache synchronize".split())


# -- conflicting flags -----------------------------------------------------------------------------


@or_none
def resolve_conflict(module: SourceModule, conflict: Conflict, prefer: str | None) -> Fix:
    """Resolve a conflict of determinism and benchmark as the configuration prefers."""
    flags = {flag.name: flag for flag in (conflict.later, conflict.earlier)}
    benchmark = flags.pop(known.BENCHMARK, None)
    if prefer is None or benchmark is None:
        raise Unfixable
    if prefer == "reproducible":
        edit = _switched_off(module, benchmark, "benchmark")
        return Fix("disable `benchmark`, for reproducible runs", Safety.UNSAFE, (edit,), _ALGORITHMS)
    (determinism,) = flags.values()
    edit = _without_statement(module, determinism, "deterministic")
    return Fix("remove the deterministic setting, for speed", Safety.UNSAFE, (edit,), _ALGORITHMS)


@or_none
def resolve_call(module: SourceModule, call: cst.Call, prefer: str | None) -> Fix:
    """Resolve the conflict in a call that sets both flags."""
    if prefer is None:
        raise Unfixable
    name = "benchmark" if prefer == "reproducible" else "deterministic"
    edit = _argument_switched_off(module, call, name)
    purpose = "for reproducible runs" if prefer == "reproducible" else "for speed"
    return Fix(f"disable `{name}`, {purpose}", Safety.UNSAFE, (edit,), _ALGORITHMS)


@or_none
def without_benchmark(module: SourceModule, flag: BackendFlag) -> Fix:
    """Set ``benchmark = False``."""
    edit = _switched_off(module, flag, "benchmark")
    return Fix("disable `benchmark`", Safety.UNSAFE, (edit,), _ALGORITHMS)


@or_none
def without_disabling(module: SourceModule, flag: BackendFlag) -> Fix:
    """Delete ``torch.backends.cudnn.enabled = False``."""
    return Fix("delete the line", Safety.UNSAFE, (_without_statement(module, flag, "enabled"),), _REENABLED)


@or_none
def add_enabled(module: SourceModule, call: cst.Call) -> Fix:
    """Add ``enabled=True`` to a call of ``cudnn.flags``."""
    edits = module.shared(Editor).add_first_argument(call, "enabled=True")
    return Fix("add `enabled=True`", Safety.UNSAFE, edits, "cuDNN runs inside the block, and results round differently")


def _switched_off(module: SourceModule, flag: BackendFlag, name: str) -> Edit:
    """Replace the value of a write by False."""
    if flag.other_file is not None:
        raise Unfixable
    if isinstance(flag.node, cst.Call):
        return _argument_switched_off(module, flag.node, name)
    statement = _assignment(module, flag.node)
    if literal(statement.value) is not True:
        raise Unfixable
    return module.shared(Editor).replace(statement.value, "False")


def _argument_switched_off(module: SourceModule, call: cst.Call, name: str) -> Edit:
    value = keyword(call, name)
    if module.qualified(call.func) == "builtins.setattr":
        value = call.args[2].value
    if literal(value) is not True or value is None:
        raise Unfixable
    return module.shared(Editor).replace(value, "False")


def _without_statement(module: SourceModule, flag: BackendFlag, name: str) -> Edit:
    """Delete the statement of a write; in a call with other arguments, set only this one to False."""
    if flag.other_file is not None:
        raise Unfixable
    if isinstance(flag.node, cst.Call):
        if module.qualified(flag.node.func) in known.SETTERS | known.TRAINERS:
            return _argument_switched_off(module, flag.node, name)
        return module.shared(Editor).delete_call(flag.node)
    return module.shared(Editor).delete(_assignment(module, flag.node))


def _assignment(module: SourceModule, target: cst.CSTNode) -> cst.Assign:
    """The assignment to a target. Raises :class:`Unfixable` if it has several targets."""
    around = module.parent(target)
    statement = module.parent(around) if isinstance(around, cst.AssignTarget) else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        raise Unfixable
    return statement


# -- statements without effect ---------------------------------------------------------------------


@or_none
def repair_dead_write(module: SourceModule, dead: DeadWrite) -> Fix:
    """Delete a statement that nothing reads, or give it the effect that it was meant to have."""
    if dead.kind == "obsolete":
        return _without_obsolete(module, dead)
    edits = {
        "unknown": _renamed,
        "comparison": _assigned,
        "function": _called,
        "uncalled": _with_parentheses,
    }
    repair = edits.get(dead.kind)
    if repair is None:
        raise Unfixable
    title, edit = repair(module, dead)
    return Fix(title, Safety.UNSAFE, (edit,), _TAKES_EFFECT)


def _without_obsolete(module: SourceModule, dead: DeadWrite) -> Fix:
    name = dead.name.rpartition(".")[2]
    if sum(n.value == name for n in module.nodes_of(cst.Name)) != 1:
        raise Unfixable  # something reads the attribute
    statement = _assignment(module, dead.node)
    return Fix("delete the line", Safety.UNSAFE, (module.shared(Editor).delete(statement),), _NOT_SET)


def _renamed(module: SourceModule, dead: DeadWrite) -> tuple[str, Edit]:
    if not dead.instead or not isinstance(dead.node, cst.Attribute):
        raise Unfixable
    editor = module.shared(Editor)
    owner, _, last = dead.instead.rpartition(".")
    title = f"set `{dead.instead}`"
    if module.qualified(dead.node.value) == owner:
        return title, editor.replace_inside(dead.node.attr, last)
    return title, editor.replace_inside(dead.node, module.shared(Speller).spell(dead.instead, dead.node).text)


def _assigned(module: SourceModule, dead: DeadWrite) -> tuple[str, Edit]:
    node = dead.node
    if not isinstance(node, cst.Comparison) or module.positions.is_parenthesized(node):
        raise Unfixable
    editor = module.shared(Editor)
    start, end = module.positions.outer(node.left)[1], module.positions.outer(node.comparisons[0].comparator)[0]
    between = editor.text[start:end]
    return "assign it", editor.edit(start, end, between.replace("==", "=", 1))


def _called(module: SourceModule, dead: DeadWrite) -> tuple[str, Edit]:
    statement = _assignment(module, dead.node)
    editor = module.shared(Editor)
    bare = dead.name.rpartition(".")[2] in _WITHOUT_ARGUMENTS
    if bare and literal(statement.value) is not True:
        raise Unfixable
    argument = "" if bare else editor.source(statement.value)
    return "call it", editor.replace_inside(statement, f"{editor.source(dead.node)}({argument})")


def _with_parentheses(module: SourceModule, dead: DeadWrite) -> tuple[str, Edit]:
    (edit,) = module.shared(Editor).append(dead.node, "()")
    return "call it", edit
