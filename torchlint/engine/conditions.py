"""Conditions: what they evaluate to in a normal run, how often they hold, and how the blocks that they guard end."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Sequence

from torchlint.engine.arguments import OTHERS
from torchlint.engine.frames import TRAINING
from torchlint.engine.values import NUMBER, Kind, Option, Value
from torchlint.knowledge.transfers import PASSIVE_CONTEXTS

# Names in conditions of which nothing else is known, that hold seldom in most programs.
_SELDOM = re.compile(
    r"debug|verbose|interval|_freq|freq_|freq$|_every|every_|period|should_log|do_log|log_step|print_step|"
    r"is_?nan|is_?inf\b|overflow",
    re.I,
)
_FINITE = re.compile(r"is_?finite", re.I)


def truth(test: Value) -> bool | None:
    """What a condition evaluates to; None if that is not known."""
    if test.maybe_none or test.option:
        return None
    if test.kind is Kind.CONSTANT:
        return bool(test.detail) if test.sure else None
    return True if test.kind in _TRUE else None


def usual(test: Value) -> bool:
    """Whether a condition certainly holds in a normal run."""
    return bool(test.option.on) if isinstance(test.option, Option) else truth(test) is True


def pins(named: dict[str, Value]) -> bool | None:
    """Whether a loader with these arguments pins its batches in a normal run; None if that is not known."""
    given = named.get("pin_memory")
    if given is None:
        return None if OTHERS in named else False
    if isinstance(given.option, Option):
        return given.option.on if not given.option.assumed else None
    return truth(given)


def off(test: Value, holds: bool) -> str | None:
    """The option without which a condition does not evaluate to ``holds``."""
    return test.option.name if isinstance(test.option, Option) and test.option.on is not holds else None


def usually(usual: Value | None, other: Value, *, rare: bool, option: str | None) -> Value | None:
    """What a normal run has of two values, of which one is that of a branch that it seldom or never takes.

    A flag that only such a branch sets tells whether it was taken: ``log = False; if step % 100 == 0: log = True``.
    What is a tensor seldom is a number for what decides by it. None if both may be meant.
    """
    if usual is None or usual.option is not None:
        return None
    if rare and other.kind is Kind.TENSOR and usual.kind is Kind.CONSTANT and isinstance(usual.detail, (int, float)):
        return NUMBER
    if other.kind is not Kind.CONSTANT or not isinstance(other.detail, bool):
        return None
    before = usual.detail if usual.kind is Kind.CONSTANT else {1: False, -1: True}.get(usual.rarely)
    if before is not (not other.detail):
        return None
    if rare:
        return Value(Kind.FLAG, rarely=1 if other.detail else -1)
    return Value(Kind.FLAG, option=Option(option, before)) if option is not None else None


def equality(test: ast.expr, outcome: bool) -> tuple[str, object] | None:
    """What is equal to which constant in a branch: of ``phase == "train"``, or the mode of the model of a condition."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return equality(test.operand, not outcome)
    if isinstance(test, ast.Attribute) and test.attr == TRAINING:
        return TRAINING, outcome
    if not outcome or not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
        return None
    other = test.comparators[0]
    return (ast.unparse(test.left), other.value) if isinstance(other, ast.Constant) else None


def fills(node: ast.If, loop: ast.AST | None, own: Container[str]) -> bool:
    """``if x is None: x = ..``, ``if key not in cache: cache[key] = ..``: the branch runs once.

    ``loop`` is the one around it, of whose rounds only the first may find a variable empty; ``own`` are the variables
    of the function.
    """
    return _fills_container(node, loop, own) or _fills_variable(node, loop, own)


def tested_fields(test: ast.expr) -> set[str]:
    """The attributes that a condition tests, or compares; a branch that sets one of them is seldom taken again."""
    if isinstance(test, ast.UnaryOp):
        return tested_fields(test.operand)
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    found = {side.attr for side in sides if isinstance(side, ast.Attribute)}
    calls = (side for side in sides if isinstance(side, ast.Call) and isinstance(side.func, ast.Name))
    named = (c.args[1] for c in calls if getattr(c.func, "id", "") in ("hasattr", "getattr") and len(c.args) > 1)
    return found | {name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)}


def fills_after(node: ast.If, rest: Sequence[ast.stmt], loop: ast.AST | None, own: Container[str]) -> bool:
    """``if key in cache: return cache[key]``, after which the cache is filled."""
    test = node.test
    operation = _NEGATED.get(type(test.ops[0])) if isinstance(test, ast.Compare) else None
    if isinstance(test, ast.Compare) and operation is not None:
        negated: ast.expr = ast.Compare(test.left, [operation()], test.comparators)
    else:
        negated = test.operand if isinstance(test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), test)
    targets = [t for s in rest if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Attribute)]
    kept = isinstance(negated, (ast.Compare, ast.UnaryOp)) and any(t.attr in tested_fields(negated) for t in targets)
    return bool(rest) and leaves(node.body) and (kept or fills(ast.If(negated, list(rest), []), loop, own))


_NEGATED: dict[type, type[ast.cmpop]] = {
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _fills_variable(node: ast.If, loop: ast.AST | None, own: Container[str]) -> bool:
    """``if best is None: best = ..``, ``if first: first = False``, where nothing else in the loop sets the variable."""
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and _is_none(test.comparators[0]):
        test = test.left
    if not isinstance(test, ast.Name) or not any(_stores(s, test.id) for s in node.body):
        return False
    if loop is None:
        return test.id not in own
    inside = {part for statement in (*node.body, *node.orelse) for part in ast.walk(statement)}
    stores = (part for part in ast.walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    return all(store in inside for store in stores if store.id == test.id)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _stores(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _stays(node: ast.AST, loop: ast.AST | None, own: Container[str]) -> bool:
    """Whether a variable is that of the round before: of the file, or one that a loop neither sets nor empties."""
    if not isinstance(node, ast.Name) or (loop is None and node.id in own):
        return False
    return loop is None or not any(_changes(part, node.id) for part in ast.walk(loop))


def _changes(part: ast.AST, name: str) -> bool:
    if isinstance(part, ast.Attribute) and part.attr in _EMPTYING:
        return getattr(part.value, "id", "") == name
    return isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)


_EMPTYING = frozenset("clear pop popitem popleft remove discard".split())


def _fills_container(node: ast.If, loop: ast.AST | None, own: Container[str]) -> bool:
    """Whether a branch is taken if a container is empty, or has no such key, and fills it.

    A local container may be made anew in every step.
    """
    test = node.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
        held = owner = test.comparators[0]
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        if not isinstance(owner, ast.Attribute):
            counted = isinstance(test.left, ast.Name) and loop is not None and not _stays(test.left, loop, own)
            if counted or not _stays(owner, loop, own):
                return False
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        held = test.operand
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and _is_length(test.left):
        held = test.left.args[0]  # type: ignore[attr-defined]
    else:
        return False
    wanted = ast.dump(held)
    stores = [
        t.value for s in node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Subscript)
    ]
    calls = [s.value for s in node.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    passed = [argument for call in calls for argument in call.args] if not isinstance(test, ast.UnaryOp) else []
    called = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLING]
    return any(ast.dump(each) == wanted for each in (*stores, *passed, *called))


_FILLING = frozenset("add append update setdefault".split())


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and bool(node.args)


def ends_program(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch ends in ``sys.exit()`` or the like."""
    last = body[-1] if body else None
    called = ast.unparse(last.value.func) if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else ""
    return called in ("sys.exit", "exit", "quit", "os._exit", "os.abort")


def may_repeat(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop may run its body more than once: nothing always leaves it in the first round."""
    return not _always_ends(body) or any(map(_continues, body))


def _always_ends(body: Sequence[ast.stmt]) -> bool:
    """Whether a block always leaves the loop around it."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_ends(last.body) and _always_ends(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _always_ends(last.body)
    if isinstance(last, ast.Try):
        bodies = [last.orelse or last.body, *(handler.body for handler in last.handlers)]
        return _always_ends(last.finalbody) or all(map(_always_ends, bodies))
    return isinstance(last, (ast.Break, ast.Return, ast.Raise)) or ends_program(body)


def _continues(node: ast.AST) -> bool:
    """Whether a statement contains a ``continue`` of the loop around it."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return any(map(_continues, node.orelse))
    statements = (child for child in ast.iter_child_nodes(node) if not isinstance(child, (ast.expr, ast.FunctionDef)))
    return isinstance(node, ast.Continue) or any(map(_continues, statements))


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch ends by leaving the block around it."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise))


def catches(node: ast.expr) -> bool:
    """Whether this is a context manager that ends exceptions, such as ``contextlib.suppress(KeyError)``."""
    function = node.func if isinstance(node, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("suppress", "raises")


def passive(item: ast.withitem) -> bool:
    """Whether the end of a context does not wait for a device, by its name."""
    function = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
    return getattr(function, "attr", getattr(function, "id", "")) in PASSIVE_CONTEXTS


def sounds_rare(node: ast.expr, test: Value) -> int:
    """Whether the names in a condition say that it holds seldom, 1, or fails seldom, -1."""
    text = ast.unparse(node)
    if _FINITE.search(text) is not None:
        return 1 if isinstance(node, ast.UnaryOp) else -1
    open_ = isinstance(node, (ast.Compare, ast.BoolOp, ast.Name, ast.Attribute, ast.Call))
    return int(open_ and test.kind is not Kind.TENSOR and _SELDOM.search(text) is not None)


_TRUE = frozenset(
    {
        Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.MODULE, Kind.LOADER, Kind.OPTIMIZER, Kind.LIBRARY_MODULE,
        Kind.MODULES,
    }
)  # fmt: skip
