"""TL103 and TL104: calls that make tensors on the host, of content that the device can make, as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, may_call, positional, receiver
from torchlint.analysis.things.move import VARIABLE_WRAPPERS, FirstMove, Moves
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.views import CONSTRUCTORS, GENERATING, READING
from torchlint.knowledge import factories as known
from torchlint.knowledge.dtypes import is_negative_zero
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MovedFactory(NamedTuple):
    """A call of a factory whose tensor is moved to an accelerator."""

    call: cst.Call
    name: str
    move: FirstMove


class GeneratedData(NamedTuple):
    """A constructor that converts generated content; ``factory`` is the torch function that makes it directly.

    ``data`` is the expression that generates the content, and ``constant`` the repeated element of a list.
    """

    call: cst.Call
    source: str
    factory: str
    data: cst.BaseExpression
    constant: object | None = None


def makers(module: SourceModule, copy: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls that make what an expression copies: this one, or those of its chain or variable."""
    node: cst.BaseExpression | None = copy
    while isinstance(node, cst.Call):
        yield node
        wraps = module.qualified(node.func) in VARIABLE_WRAPPERS and node.args
        node = node.args[0].value if wraps else receiver(node)
        made = module.definitions(node) if isinstance(node, cst.Name) else ()
        node = made[0].value if len(made) == 1 else node


def happens_once(module: SourceModule, copy: cst.CSTNode) -> bool:
    """Whether a copy is made, but in no step: not where following the programs tells of it, never or in tests."""
    function = module.function_of(copy)
    reached = function is None or module.followed.is_reached(function)
    return reached and not module.followed.events_in(copy) and not module.in_test(copy)


def gains_nothing(module: SourceModule, found: MovedFactory) -> bool:
    """Whether a tensor may be empty, or is read on the host at once."""
    sizes = [part.value for part in found.call.args if part.keyword is None]
    sizes += [each.value for size in sizes if isinstance(size, (cst.Tuple, cst.List)) for each in size.elements]
    outer = module.parent(found.move.call)
    reads = isinstance(outer, cst.Attribute) and outer.attr.value in READING
    return reads or isinstance(outer, (cst.For, cst.CompFor)) or any(literal(size) == 0 for size in sizes)


class Factories:
    """Finds such calls in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    # -- made by torch, then moved -----------------------------------------------------------------

    def moved(self, call: cst.Call) -> MovedFactory | None:
        """A call of a factory whose tensor is then moved, or None."""
        name = self._module.qualified(call.func) if may_call(call, known.FACTORY_NAMES) else None
        if name is None or name not in GENERATING or _has_unknown_keywords(call) or _has_placement(call):
            return None
        move = self._module.shared(Moves).first_move_of(call)
        return MovedFactory(call, name, move) if move is not None else None

    def on_cpu(self, call: cst.Call) -> bool:
        """Whether the tensor is certainly created on the CPU."""
        if self._module.sets_default_device or self._is_in_device_context(call):
            return False
        if self._module.value(call).accelerated:
            return False  # another file sets the default device
        if self._module.qualified(call.func) in known.LIKE_FACTORIES:
            like = self._module.value(positional(call, 0))
            return like.kind is Kind.TENSOR and like.device is Device.CPU
        return not any(self._may_be_on_device(arg.value) for arg in call.args)

    def _is_in_device_context(self, node: cst.CSTNode) -> bool:
        """Whether a node is inside ``with torch.device(..):`` or ``with device:``."""
        blocks = (around for around in self._module.ancestors(node) if isinstance(around, cst.With))
        return any(self._module.value(item.item).kind is Kind.DEVICE for block in blocks for item in block.items)

    def _may_be_on_device(self, argument: cst.BaseExpression) -> bool:
        """Whether an argument is a tensor on the device, as in ``torch.normal(mean, std)``."""
        value = self._module.value(argument)
        return value.kind is Kind.TENSOR and value.device is not Device.CPU

    # -- made in Python or NumPy -------------------------------------------------------------------

    def generated(self, call: cst.Call) -> GeneratedData | None:
        """The generated content that a constructor converts, if a torch factory can create it; otherwise None."""
        name = self._module.qualified(call.func) if may_call(call, known.CONSTRUCTOR_NAMES) else None
        if (name not in CONSTRUCTORS and name not in LEGACY) or _has_unknown_keywords(call) or not call.args:
            return None
        data = keyword(call, "data") or positional(call, 0)
        made = self._module.qualified(data.func) if isinstance(data, cst.Call) else None
        if isinstance(data, cst.Call) and made in known.TORCH_FACTORIES and not _has_unknown_keywords(data):
            return GeneratedData(call, str(made), known.TORCH_FACTORIES[str(made)], data)
        return self._from_list(call, data) if data is not None and name != "torch.from_numpy" else None

    def _from_list(self, call: cst.Call, data: cst.BaseExpression) -> GeneratedData | None:
        """The content of ``[0] * n``, ``range(n)``, ``[i for i in range(n)]``."""
        counted = self._range_of(data)
        if counted is not None:
            return GeneratedData(call, "range", "torch.arange", counted)
        constant = _repeated_constant(data)
        return GeneratedData(call, "a list", _factory_for(constant), data, constant) if constant is not None else None

    def _range_of(self, data: cst.BaseExpression) -> cst.Call | None:
        """The range of ``range(n)``, ``list(range(n))`` or ``[i for i in range(n)]``, or None."""
        if isinstance(data, cst.ListComp):
            data = data.for_in.iter if _lists(data) else data
        elif (
            isinstance(data, cst.Call) and self._module.qualified(data.func) == "builtins.list" and len(data.args) == 1
        ):
            data = data.args[0].value
        ranges = isinstance(data, cst.Call) and self._module.qualified(data.func) == "builtins.range"
        return data if ranges else None  # type: ignore[return-value]


def _lists(node: cst.ListComp) -> bool:
    """Whether a comprehension is ``[i for i in ..]``."""
    target, plain = node.for_in.target, not node.for_in.ifs and node.for_in.inner_for_in is None
    return plain and isinstance(node.elt, cst.Name) and isinstance(target, cst.Name) and node.elt.value == target.value


def _repeated_constant(node: cst.BaseExpression) -> object | None:
    """The constant in ``[v] * n``."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
        return None
    display = node.left if isinstance(node.left, cst.List) else node.right
    found = literal(display.elements[0].value) if isinstance(display, cst.List) and len(display.elements) == 1 else ...
    return None if found is ... or isinstance(found, str) else found


def _factory_for(constant: object) -> str:
    """The factory for a constant; only ``torch.full`` keeps the sign of ``-0.0``."""
    if not isinstance(constant, (int, float)) or is_negative_zero(constant):
        return "torch.full"
    return "torch.zeros" if constant == 0 else "torch.ones" if constant == 1 else "torch.full"


def _has_placement(call: cst.Call) -> bool:
    """Whether a call has an argument for the device, pinned memory, the output or the generator."""
    return any(keyword(call, word) is not None for word in ("device", "pin_memory", "out", "generator"))


def _has_unknown_keywords(call: cst.Call) -> bool:
    """Whether a call has ``**kwargs``; starred positional arguments are shapes."""
    return any(arg.star == "**" for arg in call.args)
