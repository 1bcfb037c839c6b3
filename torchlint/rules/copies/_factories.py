"""Tensors of regular or random content: made in Python or NumPy, or on the CPU only to be moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, may_call, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import FirstMove, Moves
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge import factories as known
from torchlint.knowledge.arrays import ARRAYS
from torchlint.knowledge.dtypes import is_negative_zero
from torchlint.knowledge.tensors import LEGACY
from torchlint.rules.copies._idle_moves import IdleMoves

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MovedFactory(NamedTuple):
    """A factory call on the CPU whose tensor is moved to an accelerator.

    ``content`` is ``deterministic``, ``rounded`` or ``random``; ``computed`` names the methods in between that
    compute; ``leaf`` is true where the factory asks for gradients.
    """

    call: cst.Call
    name: str
    move: FirstMove
    content: str
    computed: tuple[str, ...]
    leaf: bool


class RegularData(NamedTuple):
    """A tensor converted from regular content: ``factory`` is the torch function that makes it.

    ``dtype`` is the dtype to write out to keep the values, where it is known and not torch's default;
    ``content`` as in :class:`MovedFactory`; ``costs`` is false for memory that is merely filled where it lies.
    ``data`` is the expression that makes the content, without the methods that give it a form or a dtype;
    ``constant`` what a list repeats.
    """

    call: cst.Call
    source: str
    factory: str
    content: str
    dtype: str | None = None
    costs: bool = True
    data: cst.BaseExpression | None = None
    constant: object | None = None


class Factories:
    """Finds such tensors in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    # -- made on the CPU, then moved ---------------------------------------------------------------

    def moved(self, call: cst.Call) -> MovedFactory | None:
        """What a call makes on the CPU that is then moved, if that is proved."""
        if not may_call(call, known.LAST):
            return None
        name = self._module.qualified(call.func)
        if name not in known.ALL or _is_opaque(call) or _is_placed(call):
            return None
        move = self._module.shared(Moves).first_move_of(call)
        if move is None or not self._on_cpu(call, str(name)):
            return None
        if self._module.shared(IdleMoves).gains_nothing(call, str(name), move.call):
            return None
        computed = tuple(link for link in move.methods if link not in known.FORM)
        leaf = literal(keyword(call, "requires_grad")) is True
        return MovedFactory(call, str(name), move, self._content(call, str(name)), computed, leaf)

    def _on_cpu(self, call: cst.Call, name: str) -> bool:
        """Nothing puts the tensor anywhere else."""
        if self._module.sets_default_device or self._under_device(call):
            return False
        if name in known.LIKE:
            like = self._module.value(positional(call, 0))
            return like.kind is Kind.TENSOR and like.device is Device.CPU
        return not any(self._elsewhere(arg.value) for arg in call.args)

    def _elsewhere(self, argument: cst.BaseExpression) -> bool:
        """``torch.normal(mean, std)`` takes tensors, and stays where they are."""
        value = self._module.value(argument)
        return value.kind is Kind.TENSOR and value.device is not Device.CPU

    def _under_device(self, node: cst.CSTNode) -> bool:
        """``with torch.device(..):`` or ``with device:`` around it."""
        for around in self._module.ancestors(node):
            if isinstance(around, cst.With):
                values = [self._module.value(item.item) for item in around.items]
                if any(v.kind is Kind.DEVICE for v in values):
                    return True
        return False

    def _content(self, call: cst.Call, name: str) -> str:
        if name in known.RANDOM:
            return "random"
        whole = all(literal(a.value) is ... or isinstance(literal(a.value), int) for a in call.args if not a.keyword)
        rounded = name in known.ROUNDED or (name in ("torch.arange", "torch.range") and not whole)
        return "rounded" if rounded else "deterministic"

    # -- made in Python or NumPy -------------------------------------------------------------------

    def regular(self, call: cst.Call) -> RegularData | None:
        """The regular content that a constructor converts, if a torch factory makes the same."""
        if not may_call(call, known.LAST_CONSTRUCTORS):
            return None
        name = self._module.qualified(call.func)
        legacy = name in LEGACY or self._legacy_alias(call.func)
        if (name not in known.CONSTRUCTORS and not legacy) or _is_opaque(call) or not call.args:
            return None
        data = keyword(call, "data") or positional(call, 0)
        dtype = keyword(call, "dtype")
        if data is None or (dtype is not None and self._module.value(dtype).literal == "float64"):
            return None  # NumPy's precision is wanted
        found = self._array(call, data) or (self._list(call, data) if name != "torch.from_numpy" else None)
        found = found or self._named(call, data)
        return found._replace(dtype=None) if found is not None and legacy else found

    def _legacy_alias(self, node: cst.BaseExpression) -> bool:
        """``Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor``."""
        if not isinstance(node, cst.Name):
            return False
        if not any(isinstance(b.value, cst.IfExp) for b in self._module.names.bindings(node)):
            return False
        values = [b.value for b in self._module.definitions(node) if b.kind == "assign" and not b.path]
        return bool(values) and all(isinstance(v, cst.IfExp) and self._chosen_type(v) for v in values)

    def _chosen_type(self, node: cst.IfExp) -> bool:
        return all(self._module.qualified(side) in LEGACY for side in (node.body, node.orelse))

    def _named(self, call: cst.Call, data: cst.BaseExpression) -> RegularData | None:
        """A variable that is set once, to regular content, and only for this call."""
        bindings = self._module.definitions(data) if isinstance(data, cst.Name) else ()
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
            return None
        if len(self._module.uses(bindings[0])) != 1 or not isinstance(bindings[0].value, cst.Call):
            return None
        if self._module.function_of(bindings[0].node) is not self._module.function_of(call):
            return None
        return self._array(call, bindings[0].value)

    def _array(self, call: cst.Call, data: cst.BaseExpression) -> RegularData | None:
        """``np.zeros(..)`` and its kin, through ``astype`` and ``reshape``."""
        dtypes: list[str | None] = []
        while (
            isinstance(data, cst.Call)
            and method(data) in known.ARRAY_FORM
            and self._module.qualified(data.func) is None
        ):
            if method(data) == "astype":
                dtypes.append(self._module.value(data).dtype)
            inner = receiver(data)
            assert inner is not None
            data = inner
        name = self._module.qualified(data.func) if isinstance(data, cst.Call) else None
        if not isinstance(data, cst.Call) or name not in known.ARRAYS or _is_opaque(data):
            return None
        if name == "numpy.random.permutation" and self._module.value(positional(data, 0)).kind is not Kind.SCALAR:
            return None  # it permutes an array
        if name == "numpy.arange" and not self._whole_steps(data):
            return None
        content = "random" if ".random." in str(name) else "rounded" if name == "numpy.linspace" else "deterministic"
        if content == "random" and self._seeded(call):
            return None  # numbers that are the same everywhere are wanted
        if (None in dtypes or hides_dtype(self._module, data)) and not self._exact(call, str(name)):
            return None  # of which dtype the content is, nobody can say
        made = dtypes[0] if dtypes else self._module.value(data).dtype or known.ARRAY_DTYPES.get(str(name))
        return RegularData(call, str(name), known.ARRAYS[str(name)], content, made, data=data)

    def _exact(self, call: cst.Call, name: str) -> bool:
        """The constructor asks for a dtype, and content such as zeros is the same in every one."""
        dtype = keyword(call, "dtype")
        return dtype is not None and known.ARRAYS[name] in ("torch.zeros", "torch.ones", "torch.eye")

    def _seeded(self, call: cst.Call) -> bool:
        """NumPy is seeded in the same function, right for this."""
        function = self._module.function_of(call)
        calls = [n for n in descendants(function.body) if isinstance(n, cst.Call)] if function is not None else []
        return any(self._module.qualified(c.func) == "numpy.random.seed" for c in calls)

    def _whole_steps(self, call: cst.Call) -> bool:
        """With float steps the two libraries may round the number of elements differently."""
        values = [a.value for a in call.args if a.keyword is None or a.keyword.value != "dtype"]
        if any(isinstance(n, cst.Float) for v in values for n in descendants(v)):
            return False
        return len(values) <= 2 or isinstance(literal(values[2]), int)

    def _list(self, call: cst.Call, data: cst.BaseExpression) -> RegularData | None:
        """``[0] * n``, ``[[v] * m for _ in range(n)]``, ``range(n)``, ``[i for i in range(n)]``."""
        counted = self._range_of(data)
        if counted is not None:
            return RegularData(call, "range", "torch.arange", "deterministic", "int64", data=counted)
        constant = self._repeated(data)
        if constant is None:
            return None
        factory = _factory_of(constant)
        dtype = "bool" if isinstance(constant, bool) else "int64" if isinstance(constant, int) else None
        return RegularData(call, "a list", factory, "deterministic", dtype, data=data, constant=constant)

    def _range_of(self, data: cst.BaseExpression) -> cst.Call | None:
        """The range that is counted: ``range(n)``, ``list(range(n))``, ``[i for i in range(n)]``."""
        if isinstance(data, cst.Call) and self._is_range(data):
            return data
        if isinstance(data, cst.ListComp) and self._counted(data):
            data = data.for_in.iter
            return data if isinstance(data, cst.Call) else None
        if isinstance(data, cst.Call) and self._module.qualified(data.func) == "builtins.list" and len(data.args) == 1:
            inner = data.args[0].value
            return inner if isinstance(inner, cst.Call) and self._is_range(inner) else None
        return None

    def _is_range(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._module.qualified(node.func) == "builtins.range"

    def _counted(self, node: cst.CSTNode) -> bool:
        """``[i for i in range(n)]``."""
        if not isinstance(node, cst.ListComp) or node.for_in.ifs or node.for_in.inner_for_in is not None:
            return False
        target = node.for_in.target
        same = isinstance(node.elt, cst.Name) and isinstance(target, cst.Name) and node.elt.value == target.value
        return same and self._is_range(node.for_in.iter)

    def _repeated(self, node: cst.CSTNode) -> object | None:
        """The constant that a list repeats: of ``[v] * n``, or of a comprehension over a range of such."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            display = node.left if isinstance(node.left, cst.List) else node.right
            if isinstance(display, cst.List) and len(display.elements) == 1:
                return _constant(display.elements[0].value)
        if isinstance(node, cst.ListComp) and not node.for_in.ifs and self._is_range(node.for_in.iter):
            inner = node.elt
            if node.for_in.inner_for_in is None:
                constant = _constant(inner)
                return constant if constant is not None else self._repeated(inner)
        return None

    # -- filled in place ---------------------------------------------------------------------------

    def filled(self, call: cst.Call) -> RegularData | None:
        """``torch.FloatTensor(n, m).fill_(v)``: memory of the legacy constructor, filled afterwards."""
        made = receiver(call)
        verb = method(call)
        if verb not in known.FILLS or not isinstance(made, cst.Call) or _is_opaque(made) or not made.args:
            return None
        if self._module.qualified(made.func) not in LEGACY and not self._legacy_alias(made.func):
            return None
        if not all(self._is_size(arg) for arg in made.args):
            return None
        # `torch.rand` fills new memory by `uniform_` itself, with the same generator: the numbers stay.
        factory = known.FILLS[str(verb)] if verb != "fill_" else _factory_of(literal(positional(call, 0)))
        moved = self._module.shared(Moves).first_move_of(call) is not None
        return RegularData(call, str(verb), factory, "deterministic", costs=moved, data=made)

    def _is_size(self, arg: cst.Arg) -> bool:
        """A number that is a size: tensors, arrays and lists are data."""
        value = self._module.value(arg.value)
        whole = arg.star == "*" or isinstance(arg.value, cst.Attribute)
        sized = whole and any(isinstance(n, cst.Attribute) and n.attr.value == "shape" for n in descendants(arg.value))
        call = isinstance(arg.value, cst.Call) and method(arg.value) in ("size", "numel")
        return sized or call or value.kind is Kind.SCALAR or self._is_arithmetic(arg.value)

    def _is_arithmetic(self, node: cst.CSTNode) -> bool:
        """Names and attributes that stand beside numbers are sizes in ``torch.FloatTensor(n, 2)``."""
        parent = self._module.parent(self._module.parent(node) or node)
        several = isinstance(parent, cst.Call) and len(parent.args) > 1
        return several and isinstance(node, (cst.Name, cst.Attribute, cst.BinaryOperation, cst.Subscript))


def hides_dtype(module: SourceModule, made: cst.Call) -> bool:
    """A call of NumPy asks for a dtype, and it is not known."""
    fact = ARRAYS.get(module.qualified(made.func) or "")
    given = keyword(made, "dtype") or (positional(made, fact.position) if fact and fact.position else None)
    return given is not None and literal(given) is not None and module.value(made).dtype is None


def _factory_of(constant: object) -> str:
    """What makes a tensor of one constant; only ``torch.full`` keeps the sign of ``-0.0``."""
    if not isinstance(constant, (int, float)) or is_negative_zero(constant):
        return "torch.full"
    return "torch.zeros" if constant == 0 else "torch.ones" if constant == 1 else "torch.full"


def _constant(node: cst.CSTNode) -> object | None:
    found = literal(node)
    return None if found is ... or isinstance(found, str) else found


def _is_placed(call: cst.Call) -> bool:
    """The call says where the tensor goes, pins it, or ties it to a generator of the CPU."""
    return any(keyword(call, word) is not None for word in ("device", "pin_memory", "out", "generator"))


def _is_opaque(call: cst.Call) -> bool:
    """Keywords are out of sight; a starred shape is only a shape."""
    return any(arg.star == "**" for arg in call.args)
