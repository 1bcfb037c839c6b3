"""CUDA guards: conditions, decorators and checks that let code run only where CUDA is available."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.scopes.guards import Guard, implied
from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.checks import CudaChecks
from torchlint.analysis.things.cuda.fixtures import CudaFixtures
from torchlint.knowledge import portability as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 6
_GREATER = (cst.GreaterThan, cst.GreaterThanEqual, cst.NotEqual, cst.IsNot)
_LESS_OR_EQUAL = (cst.LessThan, cst.LessThanEqual, cst.Equal, cst.Is)


_CUDA_PREFIXES = ("cuda", "gpu", "torch.cuda.")  # devices, and the prefix of `x.type()` of CUDA tensors


class CudaGuards:
    """Decides whether code in one module runs only where CUDA is available, or where the user chose it."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self.checks = CudaChecks(module, self)
        self._fixtures = CudaFixtures(module, self.checks)
        self._guarded_functions: dict[cst.CSTNode, bool] = {}

    def is_guarded(self, node: cst.CSTNode) -> bool:
        """Whether a guard or a check dominates the node, in its function or in all callers of that in the file."""
        if self.file_requires_cuda:
            return True
        if self._module.any_guard(node, self._accepts) or self._is_multiplied(node):
            return True
        if self.checks.precedes(node):
            return True
        function = self._module.function_of(node)
        return function is not None and (
            self._all_calls_guarded(function)
            or self.checks.constructor_checks(function)
            or self._fixtures.precede(function)
        )

    def _is_multiplied(self, node: cst.CSTNode) -> bool:
        """Whether a list with the node is empty without CUDA: ``["cuda"] * torch.cuda.is_available()``."""
        if not self.checks.may_check:
            return False
        products = (a for a in self._module.ancestors(node) if isinstance(a, cst.BinaryOperation))
        return any(isinstance(one.operator, cst.Multiply) and self.checks_cuda(one.right) for one in products)

    def is_fake(self, node: cst.CSTNode) -> bool:
        """Whether a node runs under ``FakeTensorMode``, where factories allocate no memory on any device."""
        withs = [around for around in self._module.ancestors(node) if isinstance(around, cst.With)]
        entered = [item.item for around in withs for item in around.items]
        made = [b.value for one in entered if isinstance(one, cst.Name) for b in self._module.definitions(one)]
        calls = [one for one in (*entered, *made) if isinstance(one, cst.Call)]
        return any(self._module.qualified(call.func) in known.FAKE_MODES for call in calls)

    def _all_calls_guarded(self, function: cst.FunctionDef) -> bool:
        if function not in self._guarded_functions:
            self._guarded_functions[function] = False
            callers = self._module.functions.callers(function)
            places: list[cst.CSTNode] = [site.call for site in callers.sites]
            places += callers.escapes
            self._guarded_functions[function] = bool(places) and all(self.is_guarded(place) for place in places)
        return self._guarded_functions[function]

    @cached_property
    def file_requires_cuda(self) -> bool:
        """Whether the tests of the file are skipped without CUDA, or the file cannot be imported.

        A check at module level counts for the whole file, wherever it is: the rest runs only after it, or fails first.
        """
        bindings = self._module.names.module.bindings.get("pytestmark", [])
        skipped = any(b.value is not None and self.checks_cuda(b.value) for b in bindings)
        return skipped or self.checks.at_end_of(self._module.tree) or self._fixtures.for_all_tests

    def _accepts(self, guard: Guard) -> bool:
        if guard.kind == "test":
            assert guard.condition is not None
            return self.implies_cuda(guard.condition, guard.holds)
        if guard.kind == "case":
            return guard.pattern is not None and any(
                str(literal(n)).startswith("cuda")
                for n in descendants(guard.pattern)
                if isinstance(n, cst.SimpleString)
            )
        if guard.kind == "try":
            assert isinstance(guard.node, (cst.Try, cst.TryStar))
            return any(_catches_missing_cuda(handler) for handler in guard.node.handlers)
        return guard.kind == "decorator" and guard.condition is not None and self._decorator_checks(guard.condition)

    def _decorator_checks(self, node: cst.BaseExpression) -> bool:
        if self.checks_cuda(node):
            return True
        name = (dotted(node.func if isinstance(node, cst.Call) else node) or "").lower()
        if not known.POSITIVE_WORDS.isdisjoint(name.replace(".", "_").split("_")):
            return True
        defined = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        if any(b.value is not None and self.checks_cuda(b.value) for b in defined):
            return True
        definition = self._module.value(node.func if isinstance(node, cst.Call) else node).node
        return isinstance(definition, cst.FunctionDef) and self.checks_cuda(definition.body)

    def checks_cuda(self, node: cst.CSTNode, *, follow_names: bool = True) -> bool:
        """Whether code checks for CUDA, directly or through a variable that was assigned the result of a check."""
        found = [n for n in descendants(node) if isinstance(n, (cst.Name, cst.Attribute))]
        if any(self._module.qualified(n) in known.AVAILABILITY_CHECKS for n in found):
            return True
        variables = [n for n in found if follow_names and isinstance(n, cst.Name)]
        values = (b.value for n in variables for b in self._module.definitions(n) if b.kind == "assign")
        return any(value is not None and self.checks_cuda(value, follow_names=False) for value in values)

    # -- conditions --------------------------------------------------------------------------------

    def implies_cuda(self, test: cst.BaseExpression, holds: bool, depth: int = _DEPTH) -> bool:
        """Whether a condition that evaluates to ``holds`` implies that CUDA is available or was chosen by the user."""
        return depth > 0 and implied(test, holds, lambda part, outcome: self._operand_implies(part, outcome, depth))

    def _operand_implies(self, test: cst.BaseExpression, holds: bool, depth: int) -> bool:
        if isinstance(test, cst.Call):
            return self._call_implies_cuda(test, holds, depth)
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            return self._comparison_implies_cuda(test.left, test.comparisons[0], holds, depth)
        if isinstance(test, (cst.Name, cst.Attribute, cst.Subscript)):
            return self._name_implies_cuda(test, holds, depth)
        return False

    def _call_implies_cuda(self, call: cst.Call, holds: bool, depth: int) -> bool:
        name = self._module.qualified(call.func)
        if name in known.AVAILABILITY_CHECKS:
            return holds
        if name in ("builtins.bool", "builtins.int", "builtins.len", "builtins.all", "builtins.any") and call.args:
            return self.implies_cuda(call.args[0].value, holds, depth - 1)
        if method(call) == "startswith" and call.args:
            return holds and str(literal(call.args[0].value)).startswith(_CUDA_PREFIXES)
        if name == "builtins.isinstance" and len(call.args) == 2:
            return holds and (self._module.qualified(call.args[1].value) or "").startswith("torch.cuda.")
        definition = self._module.value(call.func).node
        if isinstance(definition, cst.FunctionDef):
            returns = [r.value for r in self._module.functions.body(definition).returns]
            if returns and all(r is not None and self.implies_cuda(r, True, depth - 1) for r in returns):
                return holds
        return _word_implies_cuda((dotted(call.func) or "").rpartition(".")[2], holds)

    def _name_implies_cuda(self, node: cst.BaseExpression, holds: bool, depth: int) -> bool:
        values = self._assigned_values(node)
        if values and all(self.implies_cuda(value, True, depth - 1) for value in values):
            return holds
        if values and all(self.implies_cuda(value, False, depth - 1) for value in values):
            return not holds
        if isinstance(node, cst.Subscript):
            index = node.slice[0].slice
            key = literal(index.value) if isinstance(index, cst.Index) else ""
            return _word_implies_cuda(str(key), holds)
        last = node.attr if isinstance(node, cst.Attribute) else node
        return isinstance(last, cst.Name) and _word_implies_cuda(last.value, holds)

    def _assigned_values(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The values assigned to a variable or attribute, as far as they are known."""
        if isinstance(node, cst.Name):
            return [b.value for b in self._module.definitions(node) if b.value is not None and not b.path]
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
            owner = self._module.value(node.value).node
            if isinstance(owner, cst.ClassDef):
                assigned = self._module.classes.assignments(owner, node.attr.value)
                return [v for v, path in assigned if isinstance(v, cst.BaseExpression) and not path]
        return []

    def _comparison_implies_cuda(
        self, left: cst.BaseExpression, target: cst.ComparisonTarget, holds: bool, depth: int
    ) -> bool:
        operator, right = target.operator, target.comparator
        named = [str(literal(side)) for side in (left, right) if isinstance(literal(side), str)]
        if any(name.startswith(_CUDA_PREFIXES) for name in named):
            return holds is isinstance(operator, (cst.Equal, cst.In))
        if any(name in ("cpu", "mps") for name in named):
            return holds is isinstance(operator, (cst.NotEqual, cst.NotIn))
        if literal(right) is None and self._exists_only_with_cuda(left, depth):
            return holds is isinstance(operator, cst.IsNot)
        if literal(right) is True or literal(right) is False:
            positive = isinstance(operator, (cst.Equal, cst.Is)) is literal(right)
            return self.implies_cuda(left, holds is positive, depth - 1)
        if holds and isinstance(operator, cst.Equal) and isinstance(count := literal(right), int) and count > 0:
            return self.implies_cuda(left, True, depth - 1)  # `num_gpus == 1`
        if isinstance(operator, _GREATER):
            return self.implies_cuda(left, holds, depth - 1)
        return isinstance(operator, _LESS_OR_EQUAL) and not holds and self.implies_cuda(left, True, depth - 1)

    def _exists_only_with_cuda(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether a variable is None without CUDA: ``torch.cuda.Stream() if torch.cuda.is_available() else None``."""
        return any(
            isinstance(value, cst.IfExp)
            and literal(value.orelse) is None
            and self.implies_cuda(value.test, True, depth - 1)
            for value in self._assigned_values(node)
        )


def _word_implies_cuda(name: str, holds: bool) -> bool:
    """Whether a name such as ``use_cuda``, or the negation of ``no_cuda`` or ``cpu``, implies that CUDA was chosen."""
    words = set(name.lower().strip("_").split("_"))
    if words & known.NEGATIVE_WORDS or (words & known.POSITIVE_WORDS and words & known.NEGATIONS):
        return not holds
    return holds and bool(words & known.POSITIVE_WORDS)


def _catches_missing_cuda(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(n, cst.Name) and n.value in known.MISSING_CUDA_EXCEPTIONS for n in descendants(handler.type))
