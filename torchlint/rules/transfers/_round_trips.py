"""TL201: values that are copied from the device to the host and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import keyword, may_call, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.catalogue.views import EVERYWHERE, EVERYWHERE_FUNCTIONS, METADATA, ON_DEVICE
from torchlint.knowledge import transfers as known
from torchlint.knowledge.tensors import CPU_TYPES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_DEPTH = 40
_CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})
_CONSTRUCTOR_NAMES = frozenset(name.rpartition(".")[2] for name in _CONSTRUCTORS)


class RoundTrip(NamedTuple):
    """A value that is copied to the host by the call ``to_host``, and back to the device by the call ``to_device``.

    ``variables`` are the variables that it is assigned to in between, ``operations`` the functions applied to it, and
    ``uses_numpy`` whether it becomes an array. ``read`` is ``item`` or ``tolist`` if it comes back as Python numbers.
    """

    to_device: cst.Call
    to_host: cst.Call
    variables: tuple[str, ...] = ()
    uses_numpy: bool = False
    operations: tuple[str, ...] = ()
    read: str | None = None

    @property
    def draws(self) -> bool:
        """Whether random numbers are drawn in between, which are others on the device."""
        return not known.DRAWING.isdisjoint(self.operations)

    @property
    def direct(self) -> bool:
        """Whether both copies are in one expression."""
        return not self.variables


class RoundTrips:
    """Finds the round trips of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)

    def ending_at(self, call: cst.Call) -> RoundTrip | None:
        """The round trip that ends at a call, or None."""
        carried, target = self._moved_value(call)
        if carried is None:
            return None
        trip = self._find(call, carried)
        return trip if trip is not None and (target is None or names_accelerator(self._module, target)) else None

    def _find(self, call: cst.Call, carried: cst.BaseExpression) -> RoundTrip | None:
        if may_call(call, _CONSTRUCTOR_NAMES) and self._module.qualified(call.func) in _CONSTRUCTORS:
            read = self._host_read(call, carried)
            if read is not None:
                return read
        trip = self._trace(carried, RoundTrip(call, call), _DEPTH)
        return trip if trip is not None and not self._is_intended(trip) else None

    def _moved_value(self, call: cst.Call) -> tuple[cst.BaseExpression | None, cst.BaseExpression | None]:
        """What a call copies to a device, and the argument that names the device (None for ``cuda``).

        Whether that device is an accelerator is checked last, since this takes longest.
        """
        move = self._moves.at(call)
        if move is not None and move.method in ("to", "cuda"):
            target = move.target if move.method == "to" else None
            return (move.moved, target) if move.method == "cuda" or target is not None else (None, None)
        device = keyword(call, "device") if may_call(call, _CONSTRUCTOR_NAMES) else None
        if device is not None and self._module.qualified(call.func) in _CONSTRUCTORS:
            return positional(call, 0), device
        return None, None

    def _host_read(self, call: cst.Call, carried: cst.BaseExpression) -> RoundTrip | None:
        """The round trip of ``torch.tensor(x.item(), device=x.device)``, or None."""
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

    # -- tracing the value -------------------------------------------------------------------------

    def _trace(self, node: cst.CSTNode, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """Trace a value back to the copy to the host, through operations that torch could do on the device."""
        if depth == 0:
            return None
        if isinstance(node, cst.Call):
            return self._through_call(node, trip, depth)
        if isinstance(node, cst.Name):
            return self._through_name(node, trip, depth)
        if isinstance(node, cst.Attribute):
            traceable = node.attr.value in ("data", "T", "mT", "values", "indices") and not self._module.qualified(node)
            return self._trace(node.value, trip, depth - 1) if traceable else None
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
        """The indexed value comes from the device, or the index does, as in ``np.eye(n)[labels]``."""
        found = self._trace(node.value, trip, depth - 1)
        if found is not None or len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
            return found
        table = node.value
        if isinstance(table, cst.Call) and self._module.qualified(table.func) in known.NUMPY_TABLES:
            return self._trace(node.slice[0].slice.value, _with_operation(trip, table), depth - 1)
        return None

    def _through_operator(
        self, operands: tuple[cst.BaseExpression, ...], trip: RoundTrip, depth: int
    ) -> RoundTrip | None:
        """One operand comes from the device; the others do too, or are numbers."""
        traced = [self._trace(operand, trip, depth - 1) for operand in operands]
        found = next((one for one in traced if one is not None), None)
        others = [operand for operand, one in zip(operands, traced, strict=True) if one is None]
        if found is None or not all(_is_number(self._module.value(other)) for other in others):
            return None
        return found

    def _through_call(self, call: cst.Call, trip: RoundTrip, depth: int) -> RoundTrip | None:
        name = self._module.qualified(call.func)
        if name is not None:
            return self._through_function(call, name, trip, depth)
        source = receiver(call)
        if source is None:
            return self._through_local_function(call, trip, depth)
        if self._moves_to_host(call, source):
            return trip._replace(to_host=call)
        verb = method(call)
        if verb in ("item", "tolist") and self._on_device(source, None):
            return trip._replace(to_host=call, read=verb)
        if keyword(call, "generator") is not None:
            return None
        if verb == "numpy" or verb in EVERYWHERE | known.ARRAY_METHODS | ON_DEVICE:
            passed = trip if verb in known.FORM_METHODS else _with_operation(trip, call)
            return self._trace(source, passed._replace(uses_numpy=trip.uses_numpy or verb == "numpy"), depth - 1)
        return None

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

    def _through_function(self, call: cst.Call, name: str, trip: RoundTrip, depth: int) -> RoundTrip | None:
        if name not in _TORCH_EQUIVALENTS or not call.args or any(a.star for a in call.args):
            return None
        if keyword(call, "generator") is not None:  # of the host
            return None
        numpy = trip.uses_numpy or name.startswith("numpy.")
        operands = [a.value for a in call.args if a.keyword is None]
        if not operands:
            return None
        first = operands[0]
        if isinstance(first, (cst.List, cst.Tuple)):
            operands = [*(e.value for e in first.elements), *operands[1:]]
        passed = trip if name in _WRAPPERS else _with_operation(trip, call)
        return self._through_operator(tuple(operands), passed._replace(uses_numpy=numpy), depth)

    def _through_local_function(self, call: cst.Call, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """Trace the argument of a function of the file that only applies such operations to it."""
        function = self._module.functions.callee(call)
        if function is None or len(call.args) != 1 or len(function.params.params) != 1:
            return None
        returns = self._module.functions.body(function).returns
        parameter = self._module.binding_of(function.params.params[0].name)
        if len(returns) != 1 or returns[0].value is None or parameter is None:
            return None
        if not self._reaches_parameter(returns[0].value, parameter, depth - 1):
            return None
        return self._trace(call.args[0].value, trip, depth - 1)

    def _reaches_parameter(self, node: cst.CSTNode, parameter: Binding, depth: int) -> bool:
        """Whether an expression applies only operations that torch has to the parameter."""
        if depth == 0:
            return False
        if isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            if bindings == (parameter,):
                return True
            if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
                return False
            return self._reaches_parameter(bindings[0].value, parameter, depth - 1)
        if isinstance(node, cst.Call):
            name = self._module.qualified(node.func)
            if name is not None:
                same = name in known.NUMPY_FUNCTIONS or name in EVERYWHERE_FUNCTIONS
                return same and bool(node.args) and self._reaches_parameter(node.args[0].value, parameter, depth - 1)
            source = receiver(node)
            verb = method(node)
            same = verb in known.ARRAY_METHODS or verb in EVERYWHERE
            return source is not None and same and self._reaches_parameter(source, parameter, depth - 1)
        if isinstance(node, cst.Subscript):
            return self._reaches_parameter(node.value, parameter, depth - 1)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            kept = [self._reaches_parameter(s, parameter, depth - 1) for s in sides]
            numbers = [self._module.value(s).kind is Kind.SCALAR for s in sides]
            return any(kept) and all(k or n for k, n in zip(kept, numbers, strict=True))
        return False

    def _through_name(self, name: cst.Name, trip: RoundTrip, depth: int) -> RoundTrip | None:
        """Trace a variable that is assigned once, in the same loop, and has no other uses on the host."""
        bindings = self._module.definitions(name)
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        value = _assigned_value(binding)
        if value is None or self._loop_around(binding.node) is not self._loop_around(name):
            return None
        if not all(use is name or self._is_incidental_use(use) for use in self._module.uses(binding)):
            return None
        if self._module.function_of(binding.node) is not self._module.function_of(name):
            return None
        return self._trace(value, trip._replace(variables=(*trip.variables, name.value)), depth - 1)

    def _is_incidental_use(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        if isinstance(parent, cst.Arg):  # printing alone needs no copy to the host
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and self._module.qualified(call.func) == "builtins.print"
        return isinstance(parent, cst.Attribute) and parent.attr.value in METADATA

    def _loop_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        for around in self._module.ancestors(node):
            if isinstance(around, (cst.For, cst.While)):
                return around
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                return None
        return None

    # -- intended round trips ----------------------------------------------------------------------

    def _is_intended(self, trip: RoundTrip) -> bool:
        """Whether the round trip is intended: in a handler or an export, with a comment, or between two devices."""
        if self._between_devices(trip):
            return True
        if any(guard.kind == "handler" or self._exports(guard) for guard in self._module.guards(trip.to_device)):
            return True
        first = min(self._module.line(trip.to_host), self._module.line(trip.to_device))
        comments = self._module.comments(first, self._module.span(trip.to_device).end_line)
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


_WRAPPERS = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray", "numpy.asarray"})
# Functions that torch can run on the device.
_TORCH_EQUIVALENTS = EVERYWHERE_FUNCTIONS | known.FUNCTIONAL | known.NUMPY_FUNCTIONS
_TORCH_EQUIVALENTS |= {f"torch.{name}" for name in ON_DEVICE}


def _with_operation(trip: RoundTrip, call: cst.Call) -> RoundTrip:
    """The round trip with the name of one more function."""
    name = (dotted(call.func) or method(call) or "").rpartition(".")[2]
    return trip._replace(operations=(*trip.operations, name)) if name else trip


def _assigned_value(binding: Binding) -> cst.BaseExpression | None:
    """The value assigned by a binding, or the element of a tuple that it unpacks; None if unknown."""
    if binding.kind not in ("assign", "walrus") or binding.value is None:
        return None
    if not binding.path:
        return binding.value
    step, value = binding.path[0], binding.value
    if len(binding.path) == 1 and isinstance(step, int) and isinstance(value, (cst.Tuple, cst.List)):
        return value.elements[step].value if step < len(value.elements) else None
    return None


def _is_number(value: Value) -> bool:
    """Whether a value is a number, or a list or tuple of numbers such as the dimensions for ``flip``."""
    if value.kind in (Kind.LIST, Kind.TUPLE) and value.elements:
        return all(_is_number(e) for e in value.elements)
    return value.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR, Kind.NONE, Kind.DTYPE)
