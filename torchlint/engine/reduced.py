"""What the host needs of a tensor that it copies whole: only what a reduction leaves of it, or a part."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from torchlint.catalogue.views import ENLARGING, FORMS, REDUCING
from torchlint.engine.names import Names
from torchlint.knowledge.transfers import REDUCING_FUNCTIONS

# What comes between the copy and the reduction, and leaves the number of elements.
_PASSING = (FORMS - ENLARGING) | {"numpy", "tolist"}
_PASSING_ATTRIBUTES = frozenset({"data", "T"})
_BUILTIN = frozenset(name.removeprefix("builtins.") for name in REDUCING_FUNCTIONS if name.startswith("builtins."))
PART = "a part"


class Reduced:
    """Answers for one file."""

    def __init__(self, parents: Mapping[ast.AST, ast.AST], names: Names) -> None:
        self._parents, self._names = parents, names

    def of(self, copy: ast.AST) -> str:
        """The function or method that reduces what a call copies to the host, as it is called; empty if none does."""
        if not isinstance(copy, ast.Call) or not isinstance(copy.func, ast.Attribute) or self._is_loss(copy.func):
            return ""
        node: ast.AST | None = copy
        while node is not None:
            if name := self._reduces(node):
                return name
            node = self._next(node)
        return ""

    def _is_loss(self, node: ast.expr) -> bool:
        """Whether ``backward`` is called on the variable that something is made of, so that it is one number."""
        while isinstance(node, (ast.Attribute, ast.Call)):
            node = node.value if isinstance(node, ast.Attribute) else node.func
        function = self._names.function(node) if isinstance(node, ast.Name) else None
        calls = ast.walk(function) if function is not None else ()
        starts = (part.value for part in calls if isinstance(part, ast.Attribute) and part.attr == "backward")
        return any(isinstance(start, ast.Name) and start.id == getattr(node, "id", "") for start in starts)

    def _reduces(self, node: ast.AST) -> str:
        outer = self._parents.get(node)
        if isinstance(outer, ast.Attribute):
            call = self._parents.get(outer)
            called = isinstance(call, ast.Call) and call.func is outer
            return f"`.{outer.attr}()`" if called and outer.attr in REDUCING else ""
        if isinstance(outer, ast.Subscript) and outer.value is node:
            return PART if isinstance(outer.ctx, ast.Load) and _selects(outer.slice) else ""
        if isinstance(outer, ast.Call) and outer.args[:1] == [node]:
            name = self._names.dotted(outer.func)
            return f"`{name.rpartition('.')[2]}()`" if name in REDUCING_FUNCTIONS or name in _BUILTIN else ""
        return ""

    def _next(self, node: ast.AST) -> ast.AST | None:
        """The expression that holds all elements of another one: a view, or a variable that is used once."""
        outer = self._parents.get(node)
        if isinstance(outer, ast.Attribute):
            call = self._parents.get(outer)
            called = isinstance(call, ast.Call) and call.func is outer and outer.attr in _PASSING
            return call if called else outer if outer.attr in _PASSING_ATTRIBUTES else None
        if isinstance(outer, ast.Compare):
            first = node is outer.left and all(map(_is_copied, (outer.left, *outer.comparators)))
            return outer if first else None
        if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
            loads = self._names.loads(outer.targets[0]) or ()
            return loads[0] if len(loads) == 1 else None
        return None


def _is_copied(side: ast.expr) -> bool:
    """``pred.cpu() == y.cpu()``, ``pred.cpu() > 0``: a side comes from the device, or is a number."""
    while isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute):
        if side.func.attr == "cpu":
            return True
        if side.func.attr not in _PASSING:
            return False
        side = side.func.value
    return isinstance(side, ast.Constant)


def _selects(index: ast.expr) -> bool:
    """``[:, -1]``: a fixed part; the first one may be all there is."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    fixed = [part for part in parts if not isinstance(part, ast.Slice)]
    try:
        numbers = [ast.literal_eval(part) for part in fixed]
    except ValueError:
        return False
    return all(isinstance(number, int) for number in numbers) and any(numbers)
