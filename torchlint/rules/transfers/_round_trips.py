"""TL201: chains of methods that copy a value from the device to the host and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, may_call, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.views import CONSTRUCTORS, EVERYWHERE, ON_DEVICE
from torchlint.knowledge import transfers as known
from torchlint.knowledge.tensors import CPU_TYPES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_METHODS = EVERYWHERE | ON_DEVICE
_NAMES = frozenset(name.rpartition(".")[2] for name in CONSTRUCTORS)


class RoundTrip(NamedTuple):
    """A value that the call ``to_host`` copies to the host, and ``to_device``, which is called on it, back.

    ``read`` is ``item`` or ``tolist`` if it comes back as Python numbers.
    """

    to_device: cst.Call
    to_host: cst.Call
    read: str | None = None


class RoundTrips:
    """Finds the round trips of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)

    def ending_at(self, call: cst.Call) -> RoundTrip | None:
        """The round trip that ends at a call, or None."""
        trip = self._of_move(call) or self._of_numbers(call)
        return trip if trip is not None and not self._is_intended(trip) else None

    def _of_move(self, call: cst.Call) -> RoundTrip | None:
        """``x.cpu().clamp(0, 1).to(device)``. The device is looked at last, since this takes longest."""
        move = self._moves.at(call)
        if move is None or move.method not in ("to", "cuda") or (move.method == "to" and move.target is None):
            return None
        node = receiver(call)
        while node is not None:
            if isinstance(node, cst.Subscript):
                node = node.value
                continue
            source = receiver(node) if isinstance(node, cst.Call) else None
            if source is None or not isinstance(node, cst.Call):
                return None
            if self._moves_to_host(node, source):
                there = move.method == "cuda" or (move.target and names_accelerator(self._module, move.target))
                return RoundTrip(call, node) if there else None
            if method(node) not in _METHODS or keyword(node, "generator") is not None:
                return None
            node = source
        return None

    def _of_numbers(self, call: cst.Call) -> RoundTrip | None:
        """``torch.tensor(x.item(), device=x.device)``."""
        read, device = positional(call, 0), keyword(call, "device")
        name = method(read) if isinstance(read, cst.Call) else None
        if name not in ("item", "tolist") or device is None or not may_call(call, _NAMES):
            return None
        source = receiver(read) if isinstance(read, cst.Call) else None
        if source is None or self._module.qualified(call.func) not in CONSTRUCTORS:
            return None
        there = self._on_device(source, device) and names_accelerator(self._module, device)
        return RoundTrip(call, read, name) if there and isinstance(read, cst.Call) else None

    def _on_device(self, source: cst.BaseExpression, device: cst.BaseExpression) -> bool:
        value = self._module.value(source)
        if value.kind is Kind.TENSOR:
            return value.device is not Device.CPU
        if value.kind is Kind.UNKNOWN and value.device.accelerated:
            return True
        own = isinstance(device, cst.Attribute) and device.attr.value == "device" and dotted(device.value)
        return bool(own) and own == dotted(source)

    def _moves_to_host(self, call: cst.Call, source: cst.BaseExpression) -> bool:
        """Whether a call copies a tensor to the CPU that may be on a device."""
        move = self._moves.at(call)
        if move is None or not move.to_host:
            return False
        value = self._module.value(source)
        if move.method == "type":  # mostly only a conversion
            named = dotted(move.target) if move.target is not None else None
            return value.accelerated and (named or "").rpartition(".")[2] in CPU_TYPES
        return value.device is not Device.CPU and value.kind in (Kind.UNKNOWN, Kind.TENSOR)

    # -- intended round trips ----------------------------------------------------------------------

    def _is_intended(self, trip: RoundTrip) -> bool:
        """Whether the round trip is intended: in a handler or an export, with a comment, or between two devices."""
        if self._between_devices(trip):
            return True
        if any(guard.kind == "handler" or self._exports(guard) for guard in self._module.guards(trip.to_device)):
            return True
        span = self._module.span(trip.to_device)
        comments = self._module.comments(span.line, span.end_line)
        return any(word in comments.lower() for word in known.INTENT)

    def _exports(self, guard: Guard) -> bool:
        """Whether a guard lets code run only while a program is exported or traced, where values become constants."""
        test, holds = guard.condition, guard.holds
        while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            test, holds = test.expression, not holds
        parts = descendants(test) if test is not None and holds else ()
        return any(isinstance(n, cst.Call) and self._module.qualified(n.func) in known.EXPORTING for n in parts)

    def _between_devices(self, trip: RoundTrip) -> bool:
        """Whether the value goes from one device to another through the host; there may be no direct connection."""
        target = self._module.value(positional(trip.to_device, 0)).literal
        source = receiver(trip.to_host)
        made = self._module.value(source).origin if source is not None else None
        if target is None or ":" not in target or not isinstance(made, cst.Call):
            return False
        before = self._module.value(positional(made, 0)).literal if method(made) == "to" else None
        return before is not None and before != target
