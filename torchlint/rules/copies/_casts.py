"""TL107: tensors that the CPU converts to a larger dtype, computes with or enlarges right before they are moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.contradictions import Happening
from torchlint.analysis.syntax.calls import argument, literal, method, receiver
from torchlint.analysis.things.move import Move
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.catalogue.views import CASTS, ENLARGING, SHARING
from torchlint.knowledge.dtypes import SIZES
from torchlint.knowledge.tensors import LEGACY, LEGACY_DTYPES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# A conversion alone, one with arithmetic, or a larger shape.
Work = Literal["cast", "arithmetic", "enlarging"]
# Moving a tensor that was enlarged copies every repetition.
_VIEWS = SHARING - CASTS.keys() - ENLARGING - {"type"}
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
_ARITHMETIC = frozenset("add sub mul div add_ sub_ mul_ div_ divide multiply subtract".split())
_METHODS = {dtype: name for name, dtype in CASTS.items()}
_DEPTH = 8


class HostWork(NamedTuple):
    """Work on the CPU whose result is moved; ``move`` is None if that is a batch of a loader.

    ``before`` and ``after`` are the dtypes; unknown if only the shape grows. ``method`` is the one that enlarges, or
    that converts in the same way on any device; ``call`` does so now, and is None where an operator converts.
    """

    move: Move | None
    work: Work
    method: str
    call: cst.Call | None
    before: str = ""
    after: str = ""

    @property
    def factor(self) -> int:
        """How many times the bytes are copied."""
        return SIZES[self.after] // SIZES[self.before]


class HostWorks:
    """Finds such moves in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, move: Move) -> HostWork | None:
        """The work whose result a call moves to an accelerator, or None."""
        module = self._module
        if move.method not in ("to", "cuda") or not module.shared(Happening).copies_data(move.call):
            return None
        if not self._lies_on_host(move.moved):
            return None
        found = self._work(move, self.assigned(move.moved))
        if found is None or "set_default_dtype" in module.text or module.sets_default_device:
            return None
        return found

    def converted(self, node: cst.BaseExpression) -> HostWork | None:
        """The conversion whose result an expression is, or None."""
        found = self._work(None, node)
        return None if "set_default_dtype" in self._module.text or self._module.sets_default_device else found

    def _lies_on_host(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor on the CPU."""
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.device is Device.CPU and not self._is_state(node)

    def _is_state(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a view of a parameter or buffer, which may have been moved with its module."""
        while isinstance(node, (cst.Call, cst.Subscript)):
            inner = node.value if isinstance(node, cst.Subscript) else receiver(node)
            if inner is None:
                return False
            node = inner
        owner = self._module.class_of(node)
        if owner is None or not isinstance(node, cst.Attribute):
            return False
        return self._module.classes.is_state(owner, node.attr.value)

    def assigned(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """What a variable is assigned that is used nowhere else."""
        bindings = self._module.definitions(node) if isinstance(node, cst.Name) else ()
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
            return node
        same = self._module.function_of(bindings[0].node) is self._module.function_of(node)
        return bindings[0].value if same and len(self._module.uses(bindings[0])) == 1 else node

    def _work(self, move: Move | None, node: cst.BaseExpression) -> HostWork | None:
        """The outermost conversion, computation or repetition in a chain of views."""
        computes = False
        for _ in range(_DEPTH):
            inner = self._operand(node)
            if inner is not None:
                computes, widened = True, self._widened(move, node, inner)
                if widened is not None:
                    return widened
                node = inner
                continue
            base = receiver(node) if isinstance(node, cst.Call) else None
            if base is None or not isinstance(node, cst.Call) or self._module.qualified(node.func) is not None:
                return None
            if not computes and method(node) in ENLARGING:
                return self._enlarged(move, node, base) if move is not None else None
            cast = self._cast(node)
            if cast is not None:
                return self._converted(move, node, base, cast, "arithmetic" if computes else "cast")
            if method(node) not in _VIEWS:
                return None
            node = base
        return None

    # -- conversions -------------------------------------------------------------------------------

    def _cast(self, call: cst.Call) -> str | None:
        """The dtype that a call of ``float``, ``to`` or ``type`` converts to, if it does nothing else."""
        name = method(call)
        if name in CASTS:
            return None if call.args else CASTS[name]
        wanted = argument(call, "dtype", 0) if name in ("to", "type") and len(call.args) == 1 else None
        if wanted is None:
            return None
        if name == "type" and (legacy := self._legacy_dtype(wanted)) is not None:
            return legacy
        return dtype_of(self._module.evaluator, wanted)

    def _legacy_dtype(self, wanted: cst.BaseExpression) -> str | None:
        """The dtype of a tensor type of the CPU, such as ``torch.FloatTensor``."""
        name = self._module.qualified(wanted) or ""
        return LEGACY_DTYPES[name] if LEGACY.get(name) == "cpu" else None

    def _converted(
        self, move: Move | None, call: cst.Call, base: cst.BaseExpression, after: str, work: Work
    ) -> HostWork | None:
        value = self._module.value(base)
        if not self._lies_on_host(base) or not _widens(value, after):
            return None
        return HostWork(move, work, _METHODS.get(after, "to"), call, str(value.dtype), after)

    # -- arithmetic --------------------------------------------------------------------------------

    def _operand(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The tensor of ``x / 255`` or ``x.div(255)``: an operator, or method, and a number."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _OPERATORS):
            return node.left if self._is_number(node.right) else None
        if isinstance(node, cst.Call) and method(node) in _ARITHMETIC and len(node.args) == 1:
            return receiver(node) if self._is_number(node.args[0].value) else None
        return None

    def _is_number(self, node: cst.BaseExpression) -> bool:
        return isinstance(literal(node), (int, float))

    def _widened(self, move: Move | None, node: cst.BaseExpression, inner: cst.BaseExpression) -> HostWork | None:
        """``pixels / 255`` of integers, which are converted to float32."""
        value = self._module.value(inner)
        divides = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide)
        divides = divides or (isinstance(node, cst.Call) and method(node) in ("div", "divide"))
        if not divides or not self._lies_on_host(inner) or not _widens(value, "float32"):
            return None
        if str(value.dtype).startswith(("float", "bfloat")):
            return None  # stays what it is
        return HostWork(move, "arithmetic", "/", None, str(value.dtype), "float32")

    # -- shapes ------------------------------------------------------------------------------------

    def _enlarged(self, move: Move, call: cst.Call, base: cst.BaseExpression) -> HostWork | None:
        return HostWork(move, "enlarging", str(method(call)), call) if self._lies_on_host(base) else None


def _widens(value: Value, after: str) -> bool:
    """Whether a tensor has a dtype with fewer bytes than another one."""
    before = value.dtype
    return before in SIZES and after in SIZES and SIZES[before] < SIZES[after]
