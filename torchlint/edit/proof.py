"""What makes a fix safe: facts that hold whatever program is written around the changed expression.

A fix is safe if all that it relies on is proved here. Annotations, names, and attributes such as ``shape`` prove
nothing: an expression is a number if it is made of literals, lengths and counters, and a device if it is made of
literals and ``torch.device``, or is the attribute ``device`` of something.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import is_opaque, literal, positional
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.knowledge.arrays import CONSTANTS
from torchlint.model import Edit, Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# What may change where something is not proved.
HANDLED = "an exception handler may see another error, or see it earlier"
REDEFINED = "the project changes, wraps or traces what torch's functions do"
TARGET = "the target is evaluated earlier, and `device=` fails if it is a dtype or a tensor"
MERGED = "if the move raises an error, the variable does not hold the tensor of the CPU"
RESIZED = "memory of an array cannot be resized, as the file does with tensors (`resize_`, `out=`, `.data`)"
ON_META = "with `meta` as the default device the move fails, while `device=` succeeds"

_RESIZES = re.compile(r"resiz|\bout\s*=|\.data\b|\.set_\(|\.shape\s*=(?!=)")
# Code that records calls, or transforms them: what it shows of a program changes with the calls.
_TRACES = re.compile(r"\bjit\.(?:script|trace)|_fx\b|\bfx\b|\bexport\(|\bvmap\b|\bcompile\([^)\n]{0,80}backend=\w")
_OUT_OF_SIGHT = re.compile(r"(?<![\w.])(?:locals|vars|exec|eval|globals)\(|sys\.modules")
_DEPTH = 8
_WHOLE = (cst.Add, cst.Subtract, cst.FloorDivide, cst.Modulo)
_GROWING = (cst.Add, cst.FloorDivide, cst.Modulo)
# Numbers that every dtype holds or rounds alike: the largest of float16, and of integers that int8 has, too.
_LARGEST, _SMALL = 65504, 127


def fix(title: str, edits: Iterable[Edit], caveats: Iterable[str]) -> Fix:
    """A fix that is safe unless there are caveats."""
    caveat = "; ".join(caveats) or None
    return Fix(title, Safety.UNSAFE if caveat else Safety.SAFE, tuple(edits), caveat)


class Proof:
    """Proves facts about the expressions of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def around(self, place: cst.CSTNode) -> list[str]:
        """What may change because of the code around a place: nothing if no handler and no redefinition is there."""
        handled = any(guard.kind == "try" for guard in self._module.guards(place))
        handled = handled or any(map(self._may_handle, self._module.ancestors(place)))
        return [*([HANDLED] if handled else []), *([REDEFINED] if self._redefined else [])]

    @cached_property
    def _redefined(self) -> bool:
        """Whether calls of torch's functions may do more than torch's own do."""
        return self._module.redefines_torch or _TRACES.search(self._module.text) is not None

    def _may_handle(self, around: cst.CSTNode) -> bool:
        """Whether a ``with`` may swallow errors or change what runs in it: none of torch's own does."""
        items = around.items if isinstance(around, cst.With) else ()
        names = [item.item.func if isinstance(item.item, cst.Call) else item.item for item in items]
        return any(not (self._module.qualified(name) or "").startswith("torch.") for name in names)

    def with_new_memory(self) -> list[str]:
        """What may change if a tensor gets the memory of an array, or has it no longer: it cannot be resized."""
        return [RESIZED] if self._resizes else []

    @cached_property
    def _resizes(self) -> bool:
        return _RESIZES.search(self._module.text) is not None

    @cached_property
    def _bound_out_of_sight(self) -> bool:
        """Whether names may be bound by what no binding shows."""
        return _OUT_OF_SIGHT.search(self._module.text) is not None

    # -- devices and dtypes ------------------------------------------------------------------------

    def is_device(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is certainly a device, or names one, and has no effect."""
        constant = literal(node)
        if constant is not ...:
            return isinstance(constant, (str, int)) and not isinstance(constant, bool)
        if isinstance(node, cst.IfExp):
            return self._is_pure(node.test) and all(self.is_device(side, depth) for side in (node.body, node.orelse))
        if isinstance(node, cst.Call):
            given = [arg.value for arg in node.args]
            made = self._module.qualified(node.func) == "torch.device" and not is_opaque(node)
            return made and all(self._is_pure(value) or self.is_device(value, depth) for value in given)
        if isinstance(node, cst.Attribute):
            return node.attr.value == "device" and dotted(node.value) is not None and self._names_devices
        return self._by_definition(node, self.is_device, depth)

    @property
    def _names_devices(self) -> bool:
        """Whether whatever the file itself stores as ``device`` of an object is one."""
        return self._module.shared(_stores_only_devices)

    def dtype(self, node: cst.BaseExpression | None) -> str | None:
        """The dtype that an expression such as ``torch.long`` names, as ``int64``; None for any other expression."""
        named = node is not None and (self._module.qualified(node) or "").startswith("torch.")
        return dtype_of(self._module.evaluator, node) if named else None

    def _is_pure(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a name, a literal, or a question whether there is an accelerator."""
        if isinstance(node, cst.Call):
            return not node.args and (self._module.qualified(node.func) or "").endswith(".is_available")
        return isinstance(node, cst.Name) or literal(node) is not ...

    # -- numbers -----------------------------------------------------------------------------------

    def is_whole(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is certainly an ``int`` below 2**53."""
        return self._is_integer(node, _WHOLE, depth)

    def is_size(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether an expression is certainly an ``int`` that is not negative."""
        return self._is_integer(node, _GROWING, depth)

    def _is_integer(self, node: cst.BaseExpression, operators: tuple[type, ...], depth: int) -> bool:
        def proved(part: cst.BaseExpression, left: int = depth) -> bool:
            return self._is_integer(part, operators, left)

        constant = literal(node)
        if constant is not ...:
            least = -(2**31) if operators is _WHOLE else 0
            return isinstance(constant, int) and not isinstance(constant, bool) and least <= constant < 2**31
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, operators):
            return depth > 0 and proved(node.left, depth - 1) and proved(node.right, depth - 1)
        if isinstance(node, cst.Call) and len(node.args) == 1:
            name, given = self._module.qualified(node.func), node.args[0].value
            if name == "builtins.sum" and isinstance(given, (cst.GeneratorExp, cst.ListComp)):
                return proved(given.elt)
            return name == "builtins.len"
        return self._is_counter(node) or self._by_definition(node, proved, depth)

    def _is_counter(self, node: cst.BaseExpression) -> bool:
        """Whether a name is always the variable of a loop over ``range(n)``."""
        bindings = self._definitions(node)
        return bool(bindings) and all(map(self._counts, bindings))

    def _counts(self, binding: Binding) -> bool:
        made = binding.value if binding.kind == "loop" and binding.path == ("each",) else None
        return isinstance(made, cst.Call) and len(made.args) == 1 and self._names(made.func, "builtins.range")

    def is_number(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is certainly a Python number that torch converts and fills in alike."""
        constant = literal(node)
        if isinstance(constant, float):
            return abs(constant) <= _LARGEST or math.isinf(constant)
        if isinstance(constant, bool):
            return True
        if isinstance(node, cst.IfExp):
            return self.is_number(node.body) and self.is_number(node.orelse)
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
            return self.is_number(node.expression)
        return self.is_whole(node) or self._is_special(node)

    def is_small(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a literal that every dtype holds, or from which it drops the fraction."""
        if isinstance(node, cst.IfExp):
            return self.is_small(node.body) and self.is_small(node.orelse)
        constant = literal(node)
        return isinstance(constant, (bool, int, float)) and 0 <= constant <= _SMALL

    def _is_special(self, node: cst.BaseExpression) -> bool:
        """``math.pi``, ``math.inf``, ``float("inf")``."""
        if isinstance(node, cst.Call):
            text = literal(positional(node, 0)) if len(node.args) == 1 else None
            infinite = isinstance(text, str) and text.lower().lstrip("+-") in ("inf", "infinity", "nan")
            return infinite and self._names(node.func, "builtins.float")
        return isinstance(node, (cst.Name, cst.Attribute)) and self._module.qualified(node) in CONSTANTS

    # -- names -------------------------------------------------------------------------------------

    def _names(self, node: cst.BaseExpression, name: str) -> bool:
        return self._module.qualified(node) == name

    def _definitions(self, node: cst.BaseExpression) -> Sequence[Binding]:
        """All that a name may be bound to; nothing where code in a string may bind it as well."""
        if not isinstance(node, cst.Name) or self._bound_out_of_sight:
            return ()
        return self._module.definitions(node)

    def _by_definition(
        self, node: cst.BaseExpression, proved: Callable[[cst.BaseExpression, int], bool], depth: int
    ) -> bool:
        """Whether a name is only ever assigned what is proved."""
        bindings = self._definitions(node) if depth else ()
        values = [b.value if b.kind == "assign" and not b.path else None for b in bindings]
        return bool(values) and all(value is not None and proved(value, depth - 1) for value in values)


def _stores_only_devices(module: SourceModule) -> bool:
    """Whether the file stores nothing but devices as attributes ``device``, and defines no such property."""
    if re.search(r"namedtuple\([^)\n]{0,200}\bdevice\b", module.text):
        return False
    names = module.nodes_of(cst.Name, frozenset(("device",)))
    return all(_is_harmless(module, name) for name in names if name.value == "device")


def _is_harmless(module: SourceModule, name: cst.Name) -> bool:
    """Whether one occurrence of ``device`` is no definition of an attribute, or one that is certainly a device."""
    parent = module.parent(name)
    if isinstance(parent, cst.FunctionDef):
        return module.class_of(parent) is None
    target = parent if isinstance(parent, cst.Attribute) and parent.attr is name else name
    around = module.parent(target)
    if isinstance(around, cst.AnnAssign) and around.target is target:
        return target is name and module.class_of(name) is None
    if not isinstance(around, cst.AssignTarget) or (target is name and not _is_class_variable(module, name)):
        return True
    statement = module.parent(around)
    value = statement.value if isinstance(statement, cst.Assign) else None
    copied = isinstance(value, cst.Attribute) and value.attr.value == "device"
    return copied or (value is not None and module.shared(Proof).is_device(value))


def _is_class_variable(module: SourceModule, name: cst.Name) -> bool:
    return module.class_of(name) is not None and module.function_of(name) is None
