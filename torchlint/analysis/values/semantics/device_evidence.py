"""Evidence that a file uses an accelerator. It relies on names; only the targets of moves are evaluated.

A moved object is on the target device; CUDA tensor types create tensors on a CUDA device.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, literal, method
from torchlint.analysis.values.lattice import Device, Kind, Value, device_named
from torchlint.analysis.values.semantics.devices import device_of, is_device_name
from torchlint.knowledge.portability import FRAMEWORKS
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values

GRADIENT = Value(Kind.TENSOR, Device.VARIABLE, source="a gradient")
_MOVES = frozenset(("to", "cuda", "cpu"))


class DeviceEvidence:
    """Collects this evidence for one module."""

    def __init__(self, values: Values) -> None:
        self._values, self._code = values, values.code

    @property
    def on_accelerator(self) -> bool:
        """Whether something in the file is moved to an accelerator, be the device fixed or variable."""
        return self._values.memo.get_or_compute("on accelerator", self._uses_accelerator, False)

    def _uses_accelerator(self) -> bool:
        if any(word in self._code.text for word in FRAMEWORKS):
            return True
        every = self._code.iter_nodes(cst.Call, _MOVES)
        return any(self._target(call).accelerated and not self._code.never_runs(call) for call in every)

    def _target(self, call: cst.Call) -> Device:
        """The device to which a call moves its receiver; UNKNOWN if the call does not move it."""
        if not self._may_move(call):
            return Device.UNKNOWN
        target = argument(call, "device", 0)
        if method(call) == "cpu":
            return Device.CPU
        if method(call) == "cuda" or target is None:
            return Device.CUDA
        memo = self._values.memo
        return memo.get_or_compute(("target", call), lambda: self._device_of(target), Device.UNKNOWN)

    def _device_of(self, target: cst.BaseExpression) -> Device:
        device = device_of(self._values, target)
        named = device is Device.UNKNOWN and is_device_name((dotted(target) or "").rpartition(".")[2])
        return Device.VARIABLE if named and self._values.value(target).literal is None else device

    def _may_move(self, call: cst.Call) -> bool:
        """``x.cuda()``, or ``x.to`` with an argument that may be a device. Decided from names, without evaluation."""
        name = method(call)
        if name in ("cuda", "cpu"):
            return self._code.qualified(call.func) is None
        target = argument(call, "device", 0) if name == "to" else None
        return target is not None and (isinstance(literal(target), str) or self._may_be_device(target))

    def _may_be_device(self, target: cst.BaseExpression) -> bool:
        """Whether an expression is named like a device, or is a variable to which a device is assigned."""
        called = target.func if isinstance(target, cst.Call) else target
        last = called.attr.value if isinstance(called, cst.Attribute) else (dotted(called) or "")
        if is_device_name(last) or not isinstance(target, cst.Name):
            return is_device_name(last)
        given = [b.value for b in self._code.definitions(target) if b.kind == "assign" and not b.path]
        return any(value is not None and _makes_device(value) for value in given)

    def moved_to(self, node: cst.CSTNode) -> Device:
        """The device to which the file moves the object with this name, in a statement or an assignment.

        Moves in the same function take precedence. UNKNOWN if nothing moves it.
        """
        name = dotted(node)
        calls = self._moved.get(name, ()) if name is not None else ()
        calls = [call for call in calls if self._target(call) is not Device.CPU or self._has_moved(call, node)]
        function = self._code.function_of(node) if calls else None
        here = [call for call in calls if self._code.function_of(call) is function]
        return self._agreed(here or calls)

    def moved_nearby(self, node: cst.CSTNode) -> Device:
        """Like :meth:`moved_to`, by moves in the same function alone; for ``self.name``, in the same class."""
        name = dotted(node) or ""
        calls = [call for call in self._moved.get(name, ()) if self._is_near(call, node)]
        return self._agreed(
            call for call in calls if self._target(call) is not Device.CPU or self._has_moved(call, node)
        )

    def _is_near(self, call: cst.Call, node: cst.CSTNode) -> bool:
        one, other = self._code.function_of(call), self._code.function_of(node)
        if one is other or one is None or other is None or not (dotted(node) or "").startswith("self."):
            return one is other
        return self._code.class_of(one) is self._code.class_of(other)

    def is_moved_module(self, node: cst.CSTNode) -> bool:
        """Whether a statement such as ``net.to(device)`` moves this object in place: only modules are moved so."""
        name = dotted(node)
        moves = self._moved.get(name, ()) if name is not None else ()
        return any(isinstance(self._code.parent(call), cst.Expr) and self._target(call).accelerated for call in moves)

    @cached_property
    def moves_models(self) -> bool:
        """Whether the file moves a model to an accelerator: in place, or where a model is made or kept."""
        calls = {call for calls in self._moved.values() for call in calls if self._target(call).accelerated}
        return any(isinstance(self._code.parent(call), cst.Expr) or self._is_model(call) for call in calls)

    def _is_model(self, call: cst.Call) -> bool:
        assert isinstance(call.func, cst.Attribute)
        return self._values.value(call.func.value).kind in (Kind.MODULE, Kind.INSTANCE)

    def _has_moved(self, call: cst.Call, node: cst.CSTNode) -> bool:
        """Whether a move to the CPU counts at a node: it must come before it, since it may be made to save a model.

        A move in another function counts if it is in the same class; a move at module level always counts.
        """
        function = self._code.function_of(call)
        if function is self._code.function_of(node):
            return self._code.comes_before(call, node)
        own = (dotted(node) or "").startswith("self.") and self._code.class_of(call) is self._code.class_of(node)
        return function is None or own

    def _agreed(self, calls: Iterable[cst.Call]) -> Device:
        devices = {self._target(call) for call in calls if not self._code.never_runs(call)}
        if any(device.may_be_cuda for device in devices):
            return Device.VARIABLE
        return next((device for device in (Device.OTHER, Device.CPU) if device in devices), Device.UNKNOWN)

    @cached_property
    def _moved(self) -> dict[str, list[cst.Call]]:
        """The moves by dotted name of the object moved in place, or of the variable that the result is assigned to."""
        found: dict[str, list[cst.Call]] = {}
        for call in self._code.nodes_of(cst.Call, _MOVES):
            if not self._may_move(call):
                continue
            assert isinstance(call.func, cst.Attribute)
            parent = self._code.parent(call)
            moved: list[cst.CSTNode] = [call.func.value] if isinstance(parent, cst.Expr) else []
            if isinstance(parent, cst.Assign):
                moved = [target.target for target in parent.targets]
            for name in filter(None, map(dotted, moved)):
                found.setdefault(name, []).append(call)
        return found

    def is_cuda_type(self, node: cst.CSTNode | None, depth: int = 8) -> bool:
        """Whether this may be a CUDA tensor type: ``torch.cuda.FloatTensor if cuda else torch.FloatTensor``."""
        if isinstance(node, cst.IfExp):
            return any(self.is_cuda_type(side, depth) for side in (node.body, node.orelse))
        if isinstance(node, cst.Attribute):
            return LEGACY.get(self._code.qualified(node) or "") == "cuda"
        if isinstance(node, cst.Name) and depth:
            values = [b.value for b in self._code.definitions(node) if b.kind == "assign" and not b.path]
            return any(isinstance(v, (cst.IfExp, cst.Attribute)) and self.is_cuda_type(v, depth - 1) for v in values)
        return False


def _makes_device(node: cst.BaseExpression) -> bool:
    """``x.device``, ``torch.device(..)``, ``"cuda"``, or a conditional expression that may evaluate to one of these."""
    if isinstance(node, cst.IfExp):
        return _makes_device(node.body) or _makes_device(node.orelse)
    called = node.func if isinstance(node, cst.Call) else node
    if isinstance(called, (cst.Attribute, cst.Name)):
        return (dotted(called) or f".{getattr(called, 'attr', called).value}").rpartition(".")[2] == "device"
    text = literal(node)
    return isinstance(text, str) and device_named(Value(Kind.STRING, literal=text)).accelerated
