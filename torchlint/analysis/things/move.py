"""Moves: calls that copy a tensor, a batch or a module to another device."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, method, receiver
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.devices import device_of, is_device_of, target_value
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.values.evaluate import Evaluator

# Since torch 0.4, `Variable(x)` returns `x`.
VARIABLE_WRAPPERS = frozenset({"torch.autograd.Variable"})
# `copy_` moves its argument into an existing tensor.
MOVE_METHODS = frozenset({"to", "cuda", "cpu", "type_as", "type", "copy_"})


def names_accelerator(module: SourceModule, node: cst.CSTNode | None) -> bool:
    """Whether an argument names an accelerator that may be a CUDA device, or a tensor on one, as in ``x.to(y)``.

    Other accelerators, such as MPS, do not count: they lack some operations, and pinned memory does not help there.
    """
    if node is None:
        return False
    value = target_value(module.evaluator, node)
    device = device_of(module.evaluator, node) if value.kind is not Kind.TENSOR else Device.UNKNOWN
    if device is not Device.UNKNOWN:
        return device.may_be_cuda
    return value.kind is Kind.TENSOR and value.device not in (Device.CPU, Device.OTHER)


class Move:
    """A call of the method ``to``, ``cuda``, ``cpu``, ``type_as``, ``type`` or ``copy_``.

    ``moved`` is the receiver, ``target`` the argument that specifies the destination; of ``copy_`` it is the reverse.
    Such a call may not move anything, as in ``x.to(torch.float16)``: then neither :attr:`to_accelerator` nor
    :attr:`to_host` is true.
    """

    def __init__(self, module: SourceModule, call: cst.Call) -> None:
        assert isinstance(call.func, cst.Attribute)
        self._module = module
        self.call = call
        self.method = call.func.attr.value
        copied = argument(call, "src", 0) if self.method == "copy_" else None
        self.moved = copied if copied is not None else call.func.value

    @cached_property
    def target(self) -> cst.BaseExpression | None:
        """The argument that names a device, a tensor or a tensor type, or None."""
        if self.method == "copy_":
            return receiver(self.call)
        name = {"type_as": "other", "type": "dtype"}.get(self.method, "device")
        found = argument(self.call, name, 0)
        return argument(self.call, "other", 0) if found is None and self.method == "to" else found

    @cached_property
    def to_accelerator(self) -> bool:
        """Whether the move goes to an accelerator that may be a CUDA device."""
        if self.method == "cuda":
            return True
        if self.method == "type":
            return self._module.device_evidence.is_cuda_type(self.target)
        if self.method == "copy_":
            target = self._module.value(self.target)
            return target.kind is Kind.TENSOR and target.device.may_be_cuda
        return self.method == "to" and names_accelerator(self._module, self.target)

    @property
    def may_reach_accelerator(self) -> bool:
        """Whether the move is ``x.type_as(y)``, where ``y`` may be on an accelerator."""
        if self.method != "type_as":
            return False
        other = self._module.value(self.target)
        return other.kind in (Kind.TENSOR, Kind.UNKNOWN) and other.device is not Device.CPU

    @cached_property
    def to_cuda(self) -> bool:
        """Whether the move certainly goes to CUDA."""
        return self.method == "cuda" or (self.method == "to" and device_of(self._values, self.target) is Device.CUDA)

    @cached_property
    def to_host(self) -> bool:
        """Whether the move goes to the CPU. ``x.to(y.device)`` does not count: it brings two tensors together."""
        if self.method == "type":
            return LEGACY.get(self._module.qualified(self.target) or "") == "cpu" if self.target is not None else False
        if self.method != "to":
            return self.method == "cpu"
        named = self.target is not None and not is_device_of(self._values, self.target)
        return named and device_of(self._values, self.target) is Device.CPU

    @property
    def _values(self) -> Evaluator:
        return self._module.evaluator


class FirstMove(NamedTuple):
    """The first move of a new tensor to an accelerator.

    ``methods`` are the methods called on the tensor before the move; ``in_variable`` is true if the tensor is assigned
    to a variable whose only use is the move.
    """

    call: cst.Call
    methods: tuple[str, ...] = ()
    in_variable: bool = False


class Moves:
    """The moves of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._found: dict[cst.Call, Move | None] = {}

    def all(self) -> list[Move]:
        """All calls that may be moves, in source order."""
        calls = self._module.nodes_of(cst.Call, MOVE_METHODS)
        return [move for call in calls if (move := self.at(call)) is not None]

    def at(self, call: cst.CSTNode) -> Move | None:
        """The move that a node may be, judging by the name of the method; None for other nodes."""
        if method(call) not in MOVE_METHODS or not isinstance(call, cst.Call):
            return None
        if call not in self._found:
            is_method = self._module.qualified(call.func) is None
            self._found[call] = Move(self._module, call) if is_method else None
        return self._found[call]

    def first_move_of(self, made: cst.CSTNode) -> FirstMove | None:
        """The first move of a new tensor, in a chain of methods or in the only use of its variable, or None."""
        move = self._first_move_in_chain(made)
        if move is not None:
            return move
        while (wrapper := self._wrapper_of(made)) is not None:
            made = wrapper
        parent = self._module.parent(made)
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return None
        target = parent.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding else []
        single = len(uses) == 1 and len(self._module.definitions(uses[0])) == 1
        found = self._first_move_in_chain(uses[0]) if single else None
        return found._replace(in_variable=True) if found is not None else None

    def _first_move_in_chain(self, node: cst.CSTNode) -> FirstMove | None:
        """The first move in a chain of methods, as in ``node.unsqueeze(0).to(device)``."""
        methods: list[str] = []
        while True:
            wrapper = self._wrapper_of(node)
            if wrapper is not None:
                node = wrapper
                continue
            parent = self._module.parent(node)
            if not isinstance(parent, cst.Attribute) or parent.value is not node:
                return None
            call = self._module.parent(parent)
            if not isinstance(call, cst.Call) or call.func is not parent:
                return None
            move = self.at(call)
            if move is not None and (move.to_accelerator or move.may_reach_accelerator):
                return FirstMove(call, tuple(methods))
            methods.append(parent.attr.value)
            node = call

    def _wrapper_of(self, node: cst.CSTNode) -> cst.Call | None:
        """The call ``Variable(node)``, or None."""
        call = self._module.call_with_argument(node)
        return call if call is not None and self._module.qualified(call.func) in VARIABLE_WRAPPERS else None
