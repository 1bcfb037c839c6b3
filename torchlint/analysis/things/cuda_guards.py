"""Is CUDA known to be there? Guards that ask for it, in all their spellings, here and in the callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.guards import Guard
from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda_checks import CudaChecks
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 6
_MORE = (cst.GreaterThan, cst.GreaterThanEqual, cst.NotEqual, cst.IsNot)
_LESS = (cst.LessThan, cst.LessThanEqual, cst.Equal, cst.Is)


_CUDA = ("cuda", "gpu", "torch.cuda.")  # devices, and what `x.type()` says of tensors there


class CudaGuards:
    """Answers for one module whether a line runs only where CUDA is there, or where the user asked for it."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self.checks = CudaChecks(module, self)
        self._functions: dict[cst.CSTNode, bool] = {}
        self._marked: bool | None = None

    def guarded(self, node: cst.CSTNode) -> bool:
        """A guard or a check dominates the node, in its function or in every caller of it in the file."""
        if self._whole_file():
            return True
        if self._module.any_guard(node, self._accepts):
            return True
        if self.checks.passed(node):
            return True
        function = self._module.function_of(node)
        return function is not None and (self._called_guarded(function) or self.checks.made_after(function))

    def is_fake(self, node: cst.CSTNode) -> bool:
        """Under ``FakeTensorMode`` factories make tensors without memory, on any device, wherever they run."""
        withs = [around for around in self._module.ancestors(node) if isinstance(around, cst.With)]
        entered = [item.item for around in withs for item in around.items]
        made = [b.value for one in entered if isinstance(one, cst.Name) for b in self._module.definitions(one)]
        calls = [one for one in (*entered, *made) if isinstance(one, cst.Call)]
        return any(self._module.qualified(call.func) in known.FAKE_MODES for call in calls)

    def _called_guarded(self, function: cst.FunctionDef) -> bool:
        if function not in self._functions:
            self._functions[function] = False
            callers = self._module.functions.callers(function)
            places: list[cst.CSTNode] = [site.call for site in callers.sites]
            places += callers.escapes
            self._functions[function] = bool(places) and all(self.guarded(place) for place in places)
        return self._functions[function]

    def _whole_file(self) -> bool:
        """``pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), ..)``."""
        if self._marked is None:
            bindings = self._module.names.module.bindings.get("pytestmark", [])
            self._marked = any(b.value is not None and self.asks(b.value) for b in bindings)
        return self._marked

    def _accepts(self, guard: Guard) -> bool:
        if guard.kind == "test":
            assert guard.condition is not None
            return self.implies(guard.condition, guard.holds)
        if guard.kind == "case":
            return guard.pattern is not None and any(
                str(literal(n)).startswith("cuda")
                for n in descendants(guard.pattern)
                if isinstance(n, cst.SimpleString)
            )
        if guard.kind == "try":
            assert isinstance(guard.node, (cst.Try, cst.TryStar))
            return any(_catches(handler) for handler in guard.node.handlers)
        return guard.kind == "decorator" and guard.condition is not None and self._decorator_asks(guard.condition)

    def _decorator_asks(self, node: cst.BaseExpression) -> bool:
        if self.asks(node):
            return True
        name = (dotted(node.func if isinstance(node, cst.Call) else node) or "").lower()
        if not known.POSITIVE_WORDS.isdisjoint(name.replace(".", "_").split("_")):
            return True
        defined = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        if any(b.value is not None and self.asks(b.value) for b in defined):
            return True
        definition = self._module.value(node.func if isinstance(node, cst.Call) else node).node
        return isinstance(definition, cst.FunctionDef) and self.asks(definition.body)

    def asks(self, node: cst.CSTNode, *, names: bool = True) -> bool:
        """Somewhere in the code CUDA is asked for, or was where a variable in it was set."""
        found = [n for n in descendants(node) if isinstance(n, (cst.Name, cst.Attribute))]
        if any(self._module.qualified(n) in known.AVAILABLE for n in found):
            return True
        variables = [n for n in found if names and isinstance(n, cst.Name)]
        values = (b.value for n in variables for b in self._module.definitions(n) if b.kind == "assign")
        return any(value is not None and self.asks(value, names=False) for value in values)

    # -- conditions ------------------------------------------------------------------------------

    def implies(self, test: cst.BaseExpression, holds: bool, depth: int = _DEPTH) -> bool:
        """A condition that came out as ``holds`` means that CUDA is there, or that the user chose it."""
        if depth == 0:
            return False
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.implies(test.expression, not holds, depth)
        if isinstance(test, cst.BooleanOperation):
            sides = [self.implies(side, holds, depth) for side in (test.left, test.right)]
            return any(sides) if isinstance(test.operator, cst.And) is holds else all(sides)
        if isinstance(test, cst.NamedExpr):
            return self.implies(test.value, holds, depth)
        if isinstance(test, cst.Call):
            return self._call_implies(test, holds, depth)
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._comparison_implies(test.left, test.comparisons[0], holds, depth)
        if isinstance(test, (cst.Name, cst.Attribute, cst.Subscript)):
            return self._name_implies(test, holds, depth)
        return False

    def _call_implies(self, call: cst.Call, holds: bool, depth: int) -> bool:
        name = self._module.qualified(call.func)
        if name in known.AVAILABLE:
            return holds
        if name in ("builtins.bool", "builtins.int", "builtins.len", "builtins.all", "builtins.any") and call.args:
            return self.implies(call.args[0].value, holds, depth - 1)
        if method(call) == "startswith" and call.args:
            return holds and str(literal(call.args[0].value)).startswith(_CUDA)
        if name == "builtins.isinstance" and len(call.args) == 2:
            return holds and (self._module.qualified(call.args[1].value) or "").startswith("torch.cuda.")
        definition = self._module.value(call.func).node
        if isinstance(definition, cst.FunctionDef):
            returns = [r.value for r in self._module.functions.body(definition).returns]
            if returns and all(r is not None and self.implies(r, True, depth - 1) for r in returns):
                return holds
        return _by_words((dotted(call.func) or "").rpartition(".")[2], holds)

    def _name_implies(self, node: cst.BaseExpression, holds: bool, depth: int) -> bool:
        values = self._values(node)
        if values and all(self.implies(value, True, depth - 1) for value in values):
            return holds
        if values and all(self.implies(value, False, depth - 1) for value in values):
            return not holds
        if isinstance(node, cst.Subscript):
            index = node.slice[0].slice
            key = literal(index.value) if isinstance(index, cst.Index) else ""
            return _by_words(str(key), holds)
        last = node.attr if isinstance(node, cst.Attribute) else node
        return isinstance(last, cst.Name) and _by_words(last.value, holds)

    def _values(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What a name or attribute was given, where that is in sight."""
        if isinstance(node, cst.Name):
            return [b.value for b in self._module.definitions(node) if b.value is not None and not b.path]
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            owner = self._module.value(node.value).node
            if isinstance(owner, cst.ClassDef):
                assigned = self._module.classes.assignments(owner, node.attr.value)
                return [v for v, path in assigned if isinstance(v, cst.BaseExpression) and not path]
        return []

    def _comparison_implies(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, holds: bool, depth: int
    ) -> bool:
        operator, right = target.operator, target.comparator
        named = [str(literal(side)) for side in (left, right) if isinstance(literal(side), str)]
        if any(name.startswith(_CUDA) for name in named):
            return holds is isinstance(operator, (cst.Equal, cst.In))
        if any(name in ("cpu", "mps") for name in named):
            return holds is isinstance(operator, (cst.NotEqual, cst.NotIn))
        if literal(right) is None and self._made_where_available(left, depth):
            return holds is isinstance(operator, cst.IsNot)
        if literal(right) is True or literal(right) is False:
            positive = isinstance(operator, (cst.Equal, cst.Is)) is literal(right)
            return self.implies(left, holds is positive, depth - 1)
        if isinstance(operator, _MORE):
            return self.implies(left, holds, depth - 1)
        return isinstance(operator, _LESS) and not holds and self.implies(left, True, depth - 1)

    def _made_where_available(self, node: cst.BaseExpression, depth: int) -> bool:
        """``stream = torch.cuda.Stream() if torch.cuda.is_available() else None`` carries the guard."""
        return any(
            isinstance(value, cst.IfExp) and literal(value.orelse) is None and self.implies(value.test, True, depth - 1)
            for value in self._values(node)
        )


def _by_words(name: str, holds: bool) -> bool:
    """``use_cuda`` asks for it, ``no_cuda`` and ``cpu`` for its absence."""
    words = set(name.lower().strip("_").split("_"))
    if words & known.NEGATIVE_WORDS or (words & known.POSITIVE_WORDS and words & known.NEGATIONS):
        return not holds
    return holds and bool(words & known.POSITIVE_WORDS)


def _catches(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(n, cst.Name) and n.value in known.RAISED for n in descendants(handler.type))
