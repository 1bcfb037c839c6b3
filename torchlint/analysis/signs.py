"""Signs of an accelerator, found without evaluating anything.

What ``backward`` is called on is a tensor, and lies where the model and its batches are; what is moved is there
afterwards; a tensor type of CUDA makes tensors there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.bindings import Binding, dotted
from torchlint.analysis.calls import argument, literal, method
from torchlint.analysis.devices import is_device_name
from torchlint.analysis.values import Device, Kind, Value
from torchlint.knowledge.tensors import LEGACY
from torchlint.knowledge.transfers import FRAMEWORKS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

LOSS = Value(Kind.TENSOR, Device.VARIABLE, source="a loss")
_STARTERS = frozenset({"backward", "manual_backward", "scale"})
_MOVES = frozenset(("to", "cuda"))


class Signs:
    """Knows these signs of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def on_accelerator(self) -> bool:
        """Something in the file is put on an accelerator, by a fixed or a variable device."""
        if any(word in self._module.text for word in FRAMEWORKS):
            return True
        return any(self._moves(call) for call in self._module.each(cst.Call, _MOVES))

    def _moves(self, call: cst.Call) -> bool:
        name = method(call)
        if name == "cuda":
            return self._module.qualified(call.func) is None
        if name != "to":
            return False
        target = argument(call, "device", 0)
        if str(literal(target)).startswith("cuda"):
            return True
        return is_device_name((dotted(target) or "").rpartition(".")[2])

    def is_moved(self, node: cst.CSTNode) -> bool:
        """``model.to(device)``, as a statement or assigned, somewhere in the file: what it gives is there too."""
        name = dotted(node)
        return name is not None and name in self._moved

    @cached_property
    def _moved(self) -> frozenset[str]:
        """The dotted names of what is moved in place, or assigned something that is moved."""
        found: set[str] = set()
        for call in self._module.nodes_of(cst.Call, _MOVES):
            if not self._moves(call):
                continue
            assert isinstance(call.func, cst.Attribute)
            parent = self._module.parent(call)
            if isinstance(parent, cst.Expr):
                found.add(dotted(call.func.value) or "")
            elif isinstance(parent, cst.Assign):
                found |= {dotted(target.target) or "" for target in parent.targets}
        return frozenset(found - {""})

    def is_cuda_type(self, node: cst.CSTNode | None, depth: int = 8) -> bool:
        """A tensor type of CUDA, also one chosen: ``torch.cuda.FloatTensor if cuda else torch.FloatTensor``."""
        if isinstance(node, cst.IfExp):
            return any(self.is_cuda_type(side, depth) for side in (node.body, node.orelse))
        if isinstance(node, cst.Attribute):
            return LEGACY.get(self._module.qualified(node) or "") == "cuda"
        if isinstance(node, cst.Name) and depth:
            values = [b.value for b in self._module.definitions(node) if b.kind == "assign" and not b.path]
            return any(isinstance(v, (cst.IfExp, cst.Attribute)) and self.is_cuda_type(v, depth - 1) for v in values)
        return False

    def is_loss(self, binding: Binding) -> bool:
        """A variable that gradients start from, in a file that uses an accelerator."""
        if binding.kind not in ("assign", "augment", "walrus") or not self._names.get(binding.name):
            return False
        return self.on_accelerator and any(
            binding in self._module.definitions(name) for name in self._names[binding.name]
        )

    def is_loss_attribute(self, owner: cst.ClassDef, name: str) -> bool:
        """``self.loss_G.backward()`` in a class of such a file."""
        return self.on_accelerator and any(
            self._module.class_of(read) is owner for read in self._attributes.get(name, ())
        )

    @cached_property
    def _starts(self) -> list[cst.BaseExpression]:
        """The expressions that ``backward`` is called on, or that are handed to something that calls it."""
        found: list[cst.BaseExpression] = []
        for call in self._module.nodes_of(cst.Call, _STARTERS):
            if method(call) not in _STARTERS:
                continue
            assert isinstance(call.func, cst.Attribute)
            if method(call) == "backward":
                found.append(call.func.value)
            if call.args and call.args[0].keyword is None:
                found.append(call.args[0].value)
        return found

    @cached_property
    def _names(self) -> dict[str, list[cst.Name]]:
        found: dict[str, list[cst.Name]] = {}
        for start in self._starts:
            if isinstance(start, cst.Name):
                found.setdefault(start.value, []).append(start)
        return found

    @cached_property
    def _attributes(self) -> dict[str, list[cst.Attribute]]:
        found: dict[str, list[cst.Attribute]] = {}
        for start in self._starts:
            if isinstance(start, cst.Attribute):
                found.setdefault(start.attr.value, []).append(start)
        return found
