"""TL106: arrays of float64, NumPy's default, that become tensors on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, keyword, method, positional, receiver
from torchlint.analysis.things.move import Move
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import CASTS, SHAPES
from torchlint.rules.copies._factories import Factories

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

CONSTRUCTORS = ("torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray")
# With one of these, a file uses double precision on purpose, or sets what the default is.
_INTENDED = (
    "float64",
    "double",
    "Double",
    "complex",
    "f8",
    "gradcheck",
    "set_default_dtype",
    "set_default_tensor_type",
)
# Methods that convert what is on the device, or may.
_CONVERTING = (CASTS.keys() - {"double"}) | {"to", "type", "type_as"}
_DEPTH = 6


class Doubles(NamedTuple):
    """A tensor of float64 on the device. ``made`` is the call that made it of an array."""

    made: cst.Call
    name: str


class DoubleTensors:
    """Finds the tensors of one module that are float64 only because NumPy's arrays are."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._intended = any(word in module.text for word in _INTENDED)

    def moved(self, move: Move) -> Doubles | None:
        """What a move copies, if it is float64 by NumPy's default, and nothing converts it afterwards."""
        if self._intended or move.method not in ("to", "cuda") or not self._keeps_dtype(move):
            return None
        made = self._made(move.moved, _DEPTH)
        return None if made is None or self._is_converted(move.call) else made

    def created(self, call: cst.Call) -> Doubles | None:
        """What a constructor with ``device=`` creates, likewise."""
        if self._intended or keyword(call, "device") is None:
            return None
        made = self._of_array(call)
        return made if made is not None and not self._is_converted(call) else None

    def _keeps_dtype(self, move: Move) -> bool:
        """Whether a move certainly does not convert to another dtype."""
        given = [arg for arg in move.call.args if arg.keyword is None][1:]
        if given or is_opaque(move.call) or keyword(move.call, "dtype") is not None:
            return False
        return self._module.value(move.call).dtype in (None, "float64") and (
            self._module.value(move.target).kind is not Kind.TENSOR
        )

    def _made(self, node: cst.BaseExpression, depth: int) -> Doubles | None:
        """The constructor that made a tensor on the host of an array."""
        if depth == 0:
            return None
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            plain = len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path
            return self._made(bindings[0].value, depth - 1) if plain and bindings[0].value is not None else None
        if not isinstance(node, cst.Call):
            return None
        if self._module.qualified(node.func) in CONSTRUCTORS:
            return self._of_array(node)
        inner = receiver(node) if method(node) in SHAPES else None
        return self._made(inner, depth - 1) if inner is not None else None

    def _of_array(self, call: cst.Call) -> Doubles | None:
        """The record of a constructor whose argument is an array of float64."""
        array = self._module.value(positional(call, 0))
        wanted = array.kind is Kind.NDARRAY and array.dtype == "float64" and array.rank != 0
        if not wanted or keyword(call, "dtype") is not None or len(call.args) > 2:
            return None
        if self._module.shared(Factories).generated(call) is not None:
            return None  # TL103 reports the conversion
        return Doubles(call, self._module.qualified(call.func) or "")

    def _is_converted(self, node: cst.CSTNode) -> bool:
        """Whether a tensor is converted in a chain of methods, or where its variable is used."""
        while isinstance(parent := self._module.parent(node), cst.Attribute) and parent.value is node:
            if parent.attr.value in _CONVERTING:
                return True
            node = self._module.parent(parent) or parent
        if not isinstance(parent, cst.Assign) or not isinstance(parent.targets[0].target, cst.Name):
            return False
        binding = self._module.binding_of(parent.targets[0].target)
        uses = self._module.uses(binding) if binding is not None else []
        return any(self._is_cast(use) for use in uses)

    def _is_cast(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        return isinstance(parent, cst.Attribute) and parent.value is use and parent.attr.value in _CONVERTING
