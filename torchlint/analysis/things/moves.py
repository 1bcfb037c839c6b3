"""What happens to a new tensor next: the move to a device that it is put through."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument
from torchlint.analysis.things.transfers import Transfers
from torchlint.analysis.values.lattice import Device, Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

WRAPPERS = frozenset({"torch.autograd.Variable"})


class Move(NamedTuple):
    """A tensor's first move to an accelerator.

    ``links`` are the methods it is put through on the way, ``named`` is true when it is kept in a variable
    that nothing else uses.
    """

    call: cst.Call
    links: tuple[str, ...] = ()
    named: bool = False


class Moves:
    """Follows new tensors of one module to their first move."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._transfers = Transfers(module)

    def of(self, made: cst.CSTNode) -> Move | None:
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

    def _in_chain(self, node: cst.CSTNode) -> Move | None:
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
            if self.is_move(call):
                return Move(call, tuple(links))
            links.append(parent.attr.value)
            node = call

    def _wrapped(self, node: cst.CSTNode) -> bool:
        """``Variable(node)`` has meant ``node`` since torch 0.4."""
        arg = self._module.parent(node)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        return isinstance(call, cst.Call) and self._module.qualified(call.func) in WRAPPERS

    def is_move(self, call: cst.Call) -> bool:
        """``x.cuda()``, ``x.to(device)`` or ``x.type_as(y)`` to an accelerator."""
        name = call.func.attr.value if isinstance(call.func, cst.Attribute) else None
        if name == "cuda":
            return True
        if name == "to":
            return self._transfers.to_accelerator(argument(call, "device", 0) or argument(call, "other", 0))
        if name == "type_as":
            other = self._module.value(argument(call, "other", 0))
            return other.kind in (Kind.TENSOR, Kind.UNKNOWN) and other.device is not Device.CPU
        return name == "type" and self._module.device_evidence.is_cuda_type(argument(call, "dtype", 0))
