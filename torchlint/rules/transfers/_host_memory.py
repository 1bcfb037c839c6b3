"""TL207: which memory of the host a tensor lies in, pageable or pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import VARIABLE_WRAPPERS
from torchlint.analysis.values.content import in_device_context
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.dtypes import dtype_of
from torchlint.catalogue.views import JOINING, SHARING
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 6
_CONVERTING = frozenset({"torch.tensor", "torch.as_tensor"})
# Methods whose result shares memory with a tensor on the host, or is new memory there, which is never pinned.
_KEEPING = SHARING | frozenset("clone div mul items values get pop".split())
# With one of these in the file, an array may lie in pinned memory.
_PINNING_WORDS = ("pin_memory", "pinned", "is_pinned", "cudaHost", "host_register")


class Pageable(NamedTuple):
    """A tensor that is proved to lie in pageable memory, and the call that made it.

    ``kind`` says from what: Python ``data``, a NumPy ``array``, parts of a ``batch`` or other ``tensors`` that are
    joined, a pinned tensor that is ``converted``, or a ``strided`` view of one, which PyTorch first makes contiguous.
    """

    kind: Literal["data", "array", "batch", "tensors", "converted", "strided"]
    call: cst.Call | cst.Subscript

    @property
    def is_small(self) -> bool:
        """Whether it is made of a few written elements, which CUDA copies without a wait."""
        if not isinstance(self.call, cst.Call):
            return False
        data = positional(self.call, 0) or keyword(self.call, "data")
        elements = data.elements if isinstance(data, (cst.List, cst.Tuple)) else None
        plain = elements is not None and all(isinstance(each, cst.Element) for each in elements)
        return self.kind == "data" and (plain or isinstance(data, (cst.Integer, cst.Float)))


class HostMemory:
    """The memory that the tensors of one module lie in."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._pins = any(word in module.text for word in _PINNING_WORDS)

    def pageable(self, node: cst.BaseExpression | None, depth: int = _DEPTH) -> Pageable | None:
        """How a tensor came into pageable memory; None if that is not proved."""
        if node is None or depth == 0 or self._module.sets_default_device:
            return None
        if isinstance(node, cst.Name):
            return self._of_name(node, depth)
        if isinstance(node, cst.Subscript):
            strided = _skips_elements(node) and self._is_pinned(node.value)
            return Pageable("strided", node) if strided else self.pageable(node.value, depth - 1)
        if not isinstance(node, cst.Call) or is_opaque(node):
            return None
        name = self._module.qualified(node.func)
        if name is None:
            return self._of_method(node, depth)
        if name in VARIABLE_WRAPPERS:
            return self.pageable(positional(node, 0), depth - 1)
        return self._of_function(node, name, depth)

    def _of_method(self, call: cst.Call, depth: int) -> Pageable | None:
        """What a method gives: memory of its tensor, or new memory, which is never pinned."""
        tensor, dtype = receiver(call), dtype_of(self._module.evaluator, positional(call, 0) or keyword(call, "dtype"))
        converts = method(call) == "to" and dtype is not None and len(call.args) == 1
        if converts and tensor is not None and self._is_pinned(tensor):
            held = self._module.value(tensor).dtype
            return Pageable("converted", call) if held not in (None, dtype) else None
        return self.pageable(tensor, depth - 1) if converts or method(call) in _KEEPING else None

    def _is_pinned(self, node: cst.BaseExpression) -> bool:
        """Whether all that a name or an attribute is assigned in the file is made in pinned memory."""
        if isinstance(node, cst.Name):
            given = [b.value if b.kind == "assign" and not b.path else None for b in self._module.definitions(node)]
        elif isinstance(node, cst.Attribute):
            stores = map(self._module.parent, self._module.attributes_named(node.attr.value))
            assigned = (self._module.parent(store) for store in stores if isinstance(store, cst.AssignTarget))
            given = [each.value for each in assigned if isinstance(each, cst.Assign)]
        else:
            given = [node]
        return bool(given) and all(isinstance(value, cst.Call) and _pins(value) for value in given)

    def _of_name(self, name: cst.Name, depth: int) -> Pageable | None:
        """The origin that all definitions of a variable share."""
        found: Pageable | None = None
        for binding in self._module.definitions(name):
            plain = binding.kind == "assign" and not binding.path
            found = self.pageable(binding.value, depth - 1) if plain else None
            if found is None:
                return None
        return found

    def _of_function(self, call: cst.Call, name: str, depth: int) -> Pageable | None:
        if name in JOINING:
            return self._joined(call, depth)
        if keyword(call, "device") is not None or in_device_context(self._module.evaluator, call):
            return None
        if keyword(call, "pin_memory") is not None:
            return None
        data = positional(call, 0) or keyword(call, "data")
        if name == "torch.from_numpy":
            return Pageable("array", call) if self._is_pageable_array(data) else None
        if name in _CONVERTING or LEGACY.get(name) == "cpu":
            return self._converted(call, data, name)
        return None

    def _converted(self, call: cst.Call, data: cst.BaseExpression | None, name: str) -> Pageable | None:
        """What ``torch.tensor`` makes of Python data, and ``torch.as_tensor`` of an array whose memory it shares."""
        value = self._module.value(data)
        if value.kind is Kind.NDARRAY:
            shares = name == "torch.as_tensor" and self._is_pageable_array(data)
            return Pageable("array", call) if shares else None
        if value.kind is Kind.TENSOR or self._module.value(call).generated:
            return None
        known = value.kind in (Kind.LIST, Kind.TUPLE) or isinstance(data, (cst.List, cst.Tuple, cst.ListComp))
        return Pageable("data", call) if known or name == "torch.tensor" else None

    def _is_pageable_array(self, data: cst.BaseExpression | None) -> bool:
        """Whether an array is certainly NumPy's own memory, and not a view of a pinned tensor."""
        if data is None or (self._pins and not self._module.value(data).fresh):
            return False
        return not any(isinstance(node, cst.Call) and method(node) == "numpy" for node in (data, *descendants(data)))

    def _joined(self, call: cst.Call, depth: int) -> Pageable | None:
        """What ``torch.cat`` makes of tensors on the host: new memory, wherever the parts lie."""
        joined = argument(call, "tensors", 0)
        if joined is None or keyword(call, "out") is not None:
            return None
        if self._is_of_host(joined):
            return Pageable("batch", call)
        parts = [e.value for e in joined.elements] if isinstance(joined, (cst.Tuple, cst.List)) else []
        if parts and all(self._is_of_host(part) for part in parts):
            return Pageable("batch", call)
        if isinstance(joined, (cst.ListComp, cst.GeneratorExp)):
            parts = [joined.elt]
        if parts:
            return Pageable("tensors", call) if all(self._on_host(part, depth) for part in parts) else None
        value = self._module.value(joined)
        member = value.iterated_value() if value.kind in (Kind.LIST, Kind.TUPLE) else value
        on_host = member is not value and member.kind is Kind.TENSOR and member.device is Device.CPU
        return Pageable("tensors", call) if on_host else None

    def _is_of_host(self, node: cst.BaseExpression) -> bool:
        return (self._module.followed.tensor(node) or "").startswith("host")

    def _on_host(self, part: cst.BaseExpression, depth: int) -> bool:
        if self._is_of_host(part) or self.pageable(part, depth - 1) is not None:
            return True
        value = self._module.value(part)
        return value.kind is Kind.TENSOR and value.device is Device.CPU


def _pins(call: cst.Call) -> bool:
    """Whether a call is meant to give pinned memory, at least where there is a device."""
    given = keyword(call, "pin_memory")
    return method(call) == "pin_memory" or (given is not None and literal(given) not in (None, False))


def _skips_elements(node: cst.Subscript) -> bool:
    """Whether a view certainly skips elements of its tensor, as ``x[:, :n]`` and ``x[::2]`` do."""
    parts = [each.slice for each in node.slice]
    while parts and isinstance(parts[0], cst.Index) and not isinstance(parts[0].value, cst.Ellipsis):
        del parts[0]
    steps = [part.step for part in parts if isinstance(part, cst.Slice)]
    if any(step is not None and literal(step) != 1 for step in steps):
        return True
    one = bool(parts) and isinstance(parts[0], cst.Slice) and literal(parts[0].upper) == 1
    return not one and any(
        part.lower is not None or part.upper is not None if isinstance(part, cst.Slice) else _selects(part.value)
        for part in parts[1:]
        if isinstance(part, (cst.Slice, cst.Index))
    )


def _selects(index: cst.BaseExpression) -> bool:
    return not isinstance(index, cst.Ellipsis) and not (isinstance(index, cst.Name) and index.value == "None")


def is_read_at_once(module: SourceModule, call: cst.Call) -> bool:
    """Whether the host reads the result of a move at once, as in ``x.to(device).sum().item()``, and so waits anyway."""
    node: cst.CSTNode = call
    while isinstance(parent := module.parent(node), cst.Attribute) and parent.value is node:
        if parent.attr.value in ("item", "tolist"):
            return True
        node = module.parent(parent) or parent
    return False
