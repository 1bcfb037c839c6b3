"""Moves: calls that put a tensor, a batch or a module on another device."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method
from torchlint.analysis.values.devices import device_of, is_device_of, moved_to
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.values.evaluate import Evaluator

# `Variable(x)` has been `x` since torch 0.4.
WRAPPERS = frozenset({"torch.autograd.Variable"})
VERBS = frozenset({"to", "cuda", "cpu", "type_as", "type"})


def names_accelerator(module: SourceModule, node: cst.CSTNode | None) -> bool:
    """An argument names an accelerator that may be a CUDA device; ``x.to(y)`` names the device of the tensor ``y``.

    Of others, such as MPS, less is certain: operations are missing there, and pinned memory plays no part.
    """
    if node is None:
        return False
    device = device_of(module.evaluator, node)
    if device is not Device.UNKNOWN:
        return device.may_be_cuda
    value = module.value(node)
    return value.kind is Kind.TENSOR and value.device not in (Device.CPU, Device.OTHER)


class Move:
    """One call of ``to``, ``cuda``, ``cpu``, ``type_as`` or ``type`` as a method.

    ``moved`` is what the method is called on, ``target`` the argument that says where it goes. Such a call may turn
    out to move nothing, for example ``x.to(torch.float16)``: neither :attr:`to_accelerator` nor :attr:`to_host` is
    true then.
    """

    def __init__(self, module: SourceModule, call: cst.Call) -> None:
        assert isinstance(call.func, cst.Attribute)
        self._module = module
        self.call = call
        self.verb = call.func.attr.value
        self.moved = call.func.value

    @cached_property
    def target(self) -> cst.BaseExpression | None:
        """The argument that names a device, a tensor, or a tensor type."""
        name = {"type_as": "other", "type": "dtype"}.get(self.verb, "device")
        found = argument(self.call, name, 0)
        return argument(self.call, "other", 0) if found is None and self.verb == "to" else found

    @cached_property
    def device(self) -> Device:
        """Where ``to``, ``cuda`` and ``cpu`` put it; UNKNOWN for what is not known, or moves nothing."""
        return moved_to(self._module.evaluator, self.call) or Device.UNKNOWN

    @cached_property
    def to_accelerator(self) -> bool:
        """It goes to an accelerator that may be a CUDA device."""
        if self.verb == "cuda":
            return True
        if self.verb == "type":
            return self._module.device_evidence.is_cuda_type(self.target)
        return self.verb == "to" and names_accelerator(self._module, self.target)

    @property
    def may_follow_tensor(self) -> bool:
        """``x.type_as(y)``, where ``y`` may lie on an accelerator."""
        if self.verb != "type_as":
            return False
        other = self._module.value(self.target)
        return other.kind in (Kind.TENSOR, Kind.UNKNOWN) and other.device is not Device.CPU

    @cached_property
    def to_cuda(self) -> bool:
        """It certainly goes to CUDA."""
        return self.verb == "cuda" or (self.verb == "to" and device_of(self._values, self.target) is Device.CUDA)

    @cached_property
    def to_host(self) -> bool:
        """It goes to the CPU. ``x.to(y.device)`` does not count: it brings two tensors together."""
        if self.verb == "type":
            return LEGACY.get(self._module.qualified(self.target) or "") == "cpu" if self.target is not None else False
        if self.verb != "to":
            return self.verb == "cpu"
        named = self.target is not None and not is_device_of(self._values, self.target)
        return named and device_of(self._values, self.target) is Device.CPU

    @cached_property
    def blocking(self) -> bool:
        """The host waits for the copy: ``non_blocking`` is certainly not set."""
        if is_opaque(self.call):
            return False
        asked = keyword(self.call, "non_blocking") or keyword(self.call, "async")
        # The third argument of `to`, or the second one of `cuda` and of `to` without a dtype.
        by_position = [arg.value for arg in self.call.args[1:3] if arg.keyword is None]
        return all(literal(value) is not True for value in by_position) and (asked is None or literal(asked) is False)

    @property
    def _values(self) -> Evaluator:
        return self._module.evaluator


class FirstMove(NamedTuple):
    """The first move of a new tensor to an accelerator.

    ``links`` are the methods that it is put through on the way; ``named`` is true when it is kept in a variable that
    nothing else uses.
    """

    call: cst.Call
    links: tuple[str, ...] = ()
    named: bool = False


class Moves:
    """The moves of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._found: dict[cst.Call, Move | None] = {}

    def all(self) -> list[Move]:
        """Every call that may move something, in source order."""
        calls = self._module.nodes_of(cst.Call, VERBS)
        return [move for call in calls if (move := self.at(call)) is not None]

    def at(self, call: cst.CSTNode) -> Move | None:
        """The move that a call may be, by its form; None for other nodes."""
        if method(call) not in VERBS or not isinstance(call, cst.Call):
            return None
        if call not in self._found:
            is_method = self._module.qualified(call.func) is None
            self._found[call] = Move(self._module, call) if is_method else None
        return self._found[call]

    def to_accelerator(self, call: cst.CSTNode) -> bool:
        """The node is a call that moves something to an accelerator."""
        move = self.at(call)
        return move is not None and move.to_accelerator

    def first_of(self, made: cst.CSTNode) -> FirstMove | None:
        """The move that a new tensor is put through at once, or through the only use of its variable."""
        move = self._in_chain(made)
        if move is not None:
            return move
        while self._wrapped(made):
            made = self._module.parent(self._module.parent(made))  # type: ignore[arg-type, assignment]
        parent = self._module.parent(made)
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return None
        target = parent.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding else []
        single = len(uses) == 1 and len(self._module.definitions(uses[0])) == 1
        found = self._in_chain(uses[0]) if single else None
        return found._replace(named=True) if found is not None else None

    def _in_chain(self, node: cst.CSTNode) -> FirstMove | None:
        """``node.unsqueeze(0).to(device)``: the first move among the methods called on it."""
        links: list[str] = []
        while True:
            parent = self._module.parent(node)
            if self._wrapped(node):
                node = self._module.parent(parent)  # type: ignore[arg-type, assignment]
                continue
            if not isinstance(parent, cst.Attribute) or parent.value is not node:
                return None
            call = self._module.parent(parent)
            if not isinstance(call, cst.Call) or call.func is not parent:
                return None
            move = self.at(call)
            if move is not None and (move.to_accelerator or move.may_follow_tensor):
                return FirstMove(call, tuple(links))
            links.append(parent.attr.value)
            node = call

    def _wrapped(self, node: cst.CSTNode) -> bool:
        """``Variable(node)``."""
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        return isinstance(call, cst.Call) and self._module.qualified(call.func) in WRAPPERS
