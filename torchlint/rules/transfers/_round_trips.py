"""TL201: values that go from the device to the host and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import keyword, may_call, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.knowledge import transfers as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_DEPTH = 40
_CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
_LAST = frozenset(name.rpartition(".")[2] for name in _CONSTRUCTORS)


class RoundTrip(NamedTuple):
    """A value that leaves the device at ``down`` and is brought back at ``up``.

    ``names`` are the variables it passes through, ``arrays`` whether NumPy has it in between, ``through`` the
    functions it is put through there, and ``read`` the host read (``item`` or ``tolist``) when it comes back
    as Python numbers.
    """

    up: cst.Call
    down: cst.Call
    names: tuple[str, ...] = ()
    arrays: bool = False
    through: tuple[str, ...] = ()
    read: str | None = None

    @property
    def direct(self) -> bool:
        """Down and up stand in one expression."""
        return not self.names


class RoundTrips:
    """Finds round trips in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)

    def ending_at(self, call: cst.Call) -> RoundTrip | None:
        """The round trip that ends at a call, if the call brings a value to a device and one is proved."""
        carried, target = self._brought(call)
        if carried is None:
            return None
        trip = self._trip(call, carried)
        return trip if trip is not None and (target is None or names_accelerator(self._module, target)) else None

    def _trip(self, call: cst.Call, carried: cst.BaseExpression) -> RoundTrip | None:
        if may_call(call, _LAST) and self._module.qualified(call.func) in _CONSTRUCTORS:
            read = self._host_read(call, carried)
            if read is not None:
                return read
        trip = self._trace(carried, RoundTrip(call, call), _DEPTH)
        return trip if trip is not None and not self._meant(trip) else None

    def _brought(self, call: cst.Call) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
        """What a call brings to a device, and the argument that says which; none for what goes to CUDA anyway.

        Whether that is an accelerator takes longest to find out, so it is asked last.
        """
        move = self._moves.at(call)
        if move is not None and move.method in ("to", "cuda"):
            target = move.target if move.method == "to" else None
            return (move.moved, target) if move.method == "cuda" or target is not None else (None, None)
        device = keyword(call, "device") if may_call(call, _LAST) else None
        if device is not None and self._module.qualified(call.func) in _CONSTRUCTORS:
            return positional(call, 0), device
        return None, None

    def _host_read(self, call: cst.Call, carried: cst.BaseExpression) -> RoundTrip | None:
        """``torch.tensor(x.item(), device=x.device)``: read to the host, wrapped, sent back."""
        name = method(carried)
        if name not in ("item", "tolist") or not isinstance(carried, cst.Call):
            return None
        source = receiver(carried)
        if source is None or not self._on_device(source, keyword(call, "device")):
            return None
        return RoundTrip(call, carried, read=name)

    def _on_device(self, source: cst.BaseExpression, device: cst.BaseExpression | None) -> bool:
        value = self._module.value(source)
        if value.kind is Kind.TENSOR:
            return value.device is not Device.CPU
        if value.kind is Kind.UNKNOWN and value.device.accelerated:
            return True
        if not isinstance(device, cst.Attribute) or device.attr.value != "device":
            return False
        name = dotted(device.value)
        return name is not None and name == dotted(source)

    # -- following the value back ----------------------------------------------------------------

    def _trace(self, node: cst.CSTNode, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """Follow a value back to the move that took it off the device, through what torch can do there."""
        if depth == 0:
            return None
        if isinstance(node, cst.Call):
            return self._through_call(node, trip, depth)
        if isinstance(node, cst.Name):
            return self._through_name(node, trip, depth)
        if isinstance(node, cst.Attribute):
            plain = node.attr.value in ("data", "T", "mT", "values", "indices") and not self._module.qualified(node)
            return self._trace(node.value, trip, depth - 1) if plain else None
        if isinstance(node, cst.Subscript):
            return self._through_subscript(node, trip, depth)
        if isinstance(node, cst.UnaryOperation):
            return self._trace(node.expression, trip, depth - 1)
        if isinstance(node, cst.BinaryOperation):
            return self._through_operator((node.left, node.right), trip, depth)
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            return self._through_operator((node.left, node.comparisons[0].comparator), trip, depth)
        return None

    def _through_subscript(self, node: cst.Subscript, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """The value indexed comes from the device, or, as in ``np.eye(n)[labels]``, the index does."""
        found = self._trace(node.value, trip, depth - 1)
        if found is not None or len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return found
        table = node.value
        if isinstance(table, cst.Call) and self._module.qualified(table.func) in known.NUMPY_TABLES:
            return self._trace(node.slice[0].slice.value, _passing(trip, table), depth - 1)
        return None

    def _through_operator(
        self, operands: tuple[cst.BaseExpression, ...], trip: RoundTrip, depth: int
    ) -> RoundTrip | None:
        """One operand comes from the device; the others do too, or are numbers."""
        traced = [self._trace(operand, trip, depth - 1) for operand in operands]
        found = next((one for one in traced if one is not None), None)
        others = [operand for operand, one in zip(operands, traced, strict=True) if one is None]
        if found is None or not all(_is_plain(self._module.value(other)) for other in others):
            return None
        return found

    def _through_call(self, call: cst.Call, trip: RoundTrip, depth: int) -> RoundTrip | None:
        name = self._module.qualified(call.func)
        if name is not None:
            return self._through_function(call, name, trip, depth)
        source = receiver(call)
        if source is None:
            return self._through_local(call, trip, depth)
        if self._goes_down(call, source):
            return trip._replace(down=call)
        verb = method(call)
        if verb in ("item", "tolist") and self._on_device(source, None):
            return trip._replace(down=call, read=verb)
        if verb == "numpy" or verb in known.TENSOR_METHODS or verb in known.ARRAY_METHODS:
            passed = trip if verb in known.FORM_METHODS else _passing(trip, call)
            return self._trace(source, passed._replace(arrays=trip.arrays or verb == "numpy"), depth - 1)
        return None

    def _goes_down(self, call: cst.Call, source: cst.BaseExpression) -> bool:
        """The call moves a tensor that may be on a device to the CPU."""
        move = self._moves.at(call)
        if move is None or move.method == "type" or not move.to_host:
            return False
        value = self._module.value(source)
        return value.device is not Device.CPU and value.kind in (Kind.UNKNOWN, Kind.TENSOR)

    def _through_function(self, call: cst.Call, name: str, trip: RoundTrip, depth: int) -> RoundTrip | None:
        if name not in _EQUAL or not call.args or any(a.star for a in call.args):
            return None
        numpy = trip.arrays or name.startswith("numpy.")
        operands = [a.value for a in call.args if a.keyword is None]
        if not operands:
            return None
        first = operands[0]
        if isinstance(first, (cst.List, cst.Tuple)):
            operands = [*(e.value for e in first.elements), *operands[1:]]
        passed = trip if name in _WRAPPERS else _passing(trip, call)
        return self._through_operator(tuple(operands), passed._replace(arrays=numpy), depth)

    def _through_local(self, call: cst.Call, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """A function of the file that does nothing but such operations to its only argument."""
        function = self._module.functions.callee(call)
        if function is None or len(call.args) != 1 or len(function.params.params) != 1:
            return None
        returns = self._module.functions.body(function).returns
        parameter = self._module.binding_of(function.params.params[0].name)
        if len(returns) != 1 or returns[0].value is None or parameter is None:
            return None
        if not self._keeps_to(returns[0].value, parameter, depth - 1):
            return None
        return self._trace(call.args[0].value, trip, depth - 1)

    def _keeps_to(self, node: cst.CSTNode, parameter: Binding, depth: int) -> bool:
        """An expression reaches the parameter through operations that torch has."""
        if depth == 0:
            return False
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            if bindings == (parameter,):
                return True
            single = bindings[0] if len(bindings) == 1 else None
            plain = single is not None and single.kind == "assign" and not single.path
            return bool(plain and single and single.value and self._keeps_to(single.value, parameter, depth - 1))
        if isinstance(node, cst.Call):
            name = self._module.qualified(node.func)
            if name is not None:
                same = name in known.NUMPY_FUNCTIONS or name in known.TORCH_FUNCTIONS
                return same and bool(node.args) and self._keeps_to(node.args[0].value, parameter, depth - 1)
            source = receiver(node)
            verb = method(node)
            same = verb in known.ARRAY_METHODS or verb in known.TENSOR_METHODS
            return source is not None and same and self._keeps_to(source, parameter, depth - 1)
        if isinstance(node, cst.Subscript):
            return self._keeps_to(node.value, parameter, depth - 1)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            kept = [self._keeps_to(s, parameter, depth - 1) for s in sides]
            numbers = [self._module.value(s).kind is Kind.SCALAR for s in sides]
            return any(kept) and all(k or n for k, n in zip(kept, numbers, strict=True))
        return False

    def _through_name(self, name: cst.Name, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """A variable set once for this read, in the same loop, and not wanted on the host otherwise."""
        bindings = self._module.definitions(name)
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        value = _member(binding)
        if value is None or self._loop(binding.node) is not self._loop(name):
            return None
        if not all(use is name or self._neutral(use) for use in self._module.uses(binding)):
            return None
        if self._module.function_of(binding.node) is not self._module.function_of(name):
            return None
        return self._trace(value, trip._replace(names=(*trip.names, name.value)), depth - 1)

    def _neutral(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        if isinstance(parent, cst.Arg):  # printing alone does not need the detour
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and self._module.qualified(call.func) == "builtins.print"
        return isinstance(parent, cst.Attribute) and parent.attr.value in known.NEUTRAL_READS

    def _loop(self, node: cst.CSTNode) -> cst.CSTNode | None:
        for around in self._module.ancestors(node):
            if isinstance(around, (cst.For, cst.While)):
                return around
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                return None
        return None

    # -- what is meant ---------------------------------------------------------------------------

    def _meant(self, trip: RoundTrip) -> bool:
        """An exception handler, an export, a comment on the lines or two devices say that the detour is meant."""
        if self._between_devices(trip):
            return True
        if any(guard.kind == "handler" or self._exports(guard) for guard in self._module.guards(trip.up)):
            return True
        first = min(self._module.line(trip.down), self._module.line(trip.up))
        comments = self._module.comments(first, self._module.span(trip.up).end_line)
        return any(word in comments.lower() for word in known.INTENT)

    def _exports(self, guard: Guard) -> bool:
        """The code runs while a program is exported or traced, once: what it makes becomes a constant there."""
        test, holds = guard.condition, guard.holds
        while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            test, holds = test.expression, not holds
        parts = descendants(test) if test is not None and holds else ()
        return any(isinstance(n, cst.Call) and self._module.qualified(n.func) in known.EXPORTING for n in parts)

    def _between_devices(self, trip: RoundTrip) -> bool:
        """Staging on the way from one device to another, which may lack a direct connection."""
        target = self._module.value(positional(trip.up, 0)).literal
        source = receiver(trip.down)
        made = self._module.value(source).origin if source is not None else None
        if target is None or ":" not in target or not isinstance(made, cst.Call):
            return False
        before = self._module.value(positional(made, 0)).literal if method(made) == "to" else None
        return before is not None and before != target


_WRAPPERS = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray", "numpy.asarray"})
# What torch can do on the device, too.
_EQUAL = known.TORCH_FUNCTIONS | known.FUNCTIONAL | known.NUMPY_FUNCTIONS


def _passing(trip: RoundTrip, call: cst.Call) -> RoundTrip:
    """The trip, noting the name of a function it passes."""
    name = (dotted(call.func) or method(call) or "").rpartition(".")[2]
    return trip._replace(through=(*trip.through, name)) if name else trip


def _member(binding: Binding) -> cst.BaseExpression | None:
    """What a binding gives its name: the value, or the member of a display that it unpacks."""
    if binding.kind not in ("assign", "walrus") or binding.value is None:
        return None
    if not binding.path:
        return binding.value
    step, value = binding.path[0], binding.value
    if len(binding.path) == 1 and isinstance(step, int) and isinstance(value, (cst.Tuple, cst.List)):
        return value.elements[step].value if step < len(value.elements) else None
    return None


def _is_plain(value: Value) -> bool:
    """A number, or a display of numbers such as the dimensions of ``flip``."""
    if value.kind in (Kind.LIST, Kind.TUPLE) and value.elements:
        return all(_is_plain(e) for e in value.elements)
    return value.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR, Kind.NONE, Kind.DTYPE)
