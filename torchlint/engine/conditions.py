"""Conditions: what they evaluate to in a normal run, how often they hold, and how the blocks that they guard end."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchlint.engine.frames import TRAINING, Scope
from torchlint.engine.values import Kind, Option, Value

# Names in conditions of which nothing else is known, that hold seldom in most programs.
_SELDOM = re.compile(
    r"debug|verbose|interval|_freq|freq_|freq$|_every|every_|period|should_log|do_log|log_step|print_step", re.I
)


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


def off(test: Value, holds: bool) -> str | None:
    """The option without which a condition does not evaluate to ``holds``."""
    return test.option.name if isinstance(test.option, Option) and test.option.on is not holds else None


def seldom_flags(usual: dict[str, Value], rare: dict[str, Value]) -> dict[str, Value]:
    """The flags that only a branch that is seldom taken sets: ``log = False; if step % 100 == 0: log = True``."""
    found = {}
    for name, value in rare.items():
        before = usual.get(name)
        if before is not None and value.kind is Kind.CONSTANT and isinstance(value.detail, bool):
            usually = before.detail if before.kind is Kind.CONSTANT else {1: False, -1: True}.get(before.rarely)
            if usually is (not value.detail):
                found[name] = Value(Kind.FLAG, rarely=1 if value.detail else -1)
    return found


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


def moves_itself(target: ast.Attribute, value: ast.expr) -> bool:
    """``self.mask = self.mask.to(x.device)``: whether a value is the target, moved."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    moves = value.func.attr in ("to", "cuda", "type_as", "type")
    return moves and ast.unparse(value.func.value) == ast.unparse(target)


def fills(node: ast.If, scope: Scope) -> bool:
    """``if self.x is None: self.x = ..``, ``if key not in cache: cache[key] = ..``: the branch runs once."""
    if _fills_container(node, scope):
        return True
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    if isinstance(test, ast.Compare) and len(test.comparators) == 1 and isinstance(test.comparators[0], ast.Constant):
        test = test.left
    stores = [t for s in node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Attribute)]
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "hasattr":
        name = test.args[1] if len(test.args) > 1 else None
        return isinstance(name, ast.Constant) and any(store.attr == name.value for store in stores)
    return isinstance(test, ast.Attribute) and any(ast.unparse(store) == ast.unparse(test) for store in stores)


def _fills_container(node: ast.If, scope: Scope) -> bool:
    """Whether a branch is taken if a container is empty, or a field has no such key, and fills it.

    A local container may be made anew in every step.
    """
    test = node.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
        held = test.comparators[0]
        local = scope.function is not None and isinstance(held, ast.Name) and held.id in scope.names
        if local or not isinstance(held, (ast.Attribute, ast.Name)):
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
    return any(ast.dump(each) == wanted for each in (*stores, *passed))


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and bool(node.args)


def ends_program(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch ends in ``sys.exit()`` or the like."""
    last = body[-1] if body else None
    called = ast.unparse(last.value.func) if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else ""
    return called in ("sys.exit", "exit", "quit", "os._exit", "os.abort")


def may_repeat(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop may run its body more than once: nothing always leaves it in the first round."""
    return not isinstance(body[-1], (ast.Break, ast.Return, ast.Raise))


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether a branch ends by leaving the block around it."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Continue, ast.Break, ast.Raise))


def catches(node: ast.expr) -> bool:
    """Whether this is a context manager that ends exceptions, such as ``contextlib.suppress(KeyError)``."""
    function = node.func if isinstance(node, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("suppress", "raises")


def sounds_rare(node: ast.expr, test: Value) -> bool:
    """Whether the names in a condition of which nothing is known say that it holds seldom."""
    open_ = (
        isinstance(node, (ast.Compare, ast.BoolOp, ast.Name, ast.Attribute, ast.Call)) and test.kind is not Kind.TENSOR
    )
    return open_ and _SELDOM.search(ast.unparse(node)) is not None


_TRUE = frozenset(
    {
        Kind.INSTANCE, Kind.FUNCTION, Kind.CLASS, Kind.MODULE, Kind.LOADER, Kind.OPTIMIZER, Kind.LIBRARY_MODULE,
        Kind.MODULES,
    }
)  # fmt: skip
