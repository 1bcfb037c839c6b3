"""TL103 and TL104: tensors with generated content, created in Python or NumPy, or on the CPU and then moved.

Generated content is constant, sequential or random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, may_call, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.move import FirstMove, Moves
from torchlint.analysis.values.content import in_device_context
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.views import CONSTRUCTORS, FORMS, GENERATING, RANDOM, ROUNDED
from torchlint.knowledge import factories as known
from torchlint.knowledge.arrays import ARRAYS
from torchlint.knowledge.dtypes import is_negative_zero
from torchlint.knowledge.tensors import LEGACY
from torchlint.rules.copies._move_gains import MoveGains

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MovedFactory(NamedTuple):
    """A call of a factory on the CPU whose tensor is moved to an accelerator.

    ``content`` is ``deterministic``, ``rounded`` or ``random``. ``computed`` are the names of the methods called in
    between that compute something. ``requires_grad`` is true if the factory gets that argument.
    """

    call: cst.Call
    name: str
    move: FirstMove
    content: str
    computed: tuple[str, ...]
    requires_grad: bool


class GeneratedData(NamedTuple):
    """A tensor converted from generated content; ``factory`` is the torch function that can create it directly.

    ``dtype`` is the dtype that keeps the values, if it is known and not torch's default. ``content`` is as in
    :class:`MovedFactory`. ``data`` is the expression that generates the content, without methods that change its shape
    or dtype; ``constant`` is the repeated element of a list.
    """

    call: cst.Call
    source: str
    factory: str
    content: str
    dtype: str | None = None
    data: cst.BaseExpression | None = None
    constant: object | None = None


class Factories:
    """Finds such tensors in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    # -- made on the CPU, then moved ---------------------------------------------------------------

    def moved(self, call: cst.Call) -> MovedFactory | None:
        """The tensor that a call creates on the CPU and that is then moved, or None."""
        if not may_call(call, known.FACTORY_NAMES):
            return None
        name = self._module.qualified(call.func)
        if name not in GENERATING or _has_unknown_keywords(call) or _has_placement(call):
            return None
        move = self._module.shared(Moves).first_move_of(call)
        if move is None or not self.on_cpu(call, str(name)):
            return None
        if self._module.shared(MoveGains).gains_nothing(call, str(name), move.call):
            return None
        computed = tuple(link for link in move.methods if link not in FORMS)
        requires_grad = literal(keyword(call, "requires_grad")) is True
        return MovedFactory(call, str(name), move, self._content(call, str(name)), computed, requires_grad)

    def on_cpu(self, call: cst.Call, name: str) -> bool:
        """Whether the tensor is certainly created on the CPU."""
        if self._module.sets_default_device or in_device_context(self._module.evaluator, call):
            return False
        if self._module.value(call).accelerated:
            return False  # another file sets the default device
        if name in known.LIKE_FACTORIES:
            like = self._module.value(positional(call, 0))
            return like.kind is Kind.TENSOR and like.device is Device.CPU
        return not any(self._may_be_on_device(arg.value) for arg in call.args)

    def _may_be_on_device(self, argument: cst.BaseExpression) -> bool:
        """Whether an argument is a tensor on the device, as in ``torch.normal(mean, std)``."""
        value = self._module.value(argument)
        return value.kind is Kind.TENSOR and value.device is not Device.CPU

    def _content(self, call: cst.Call, name: str) -> str:
        if name in RANDOM:
            return "random"
        whole = all(literal(a.value) is ... or isinstance(literal(a.value), int) for a in call.args if not a.keyword)
        rounded = name in ROUNDED or (name in ("torch.arange", "torch.range") and not whole)
        return "rounded" if rounded else "deterministic"

    # -- made in Python or NumPy -------------------------------------------------------------------

    def generated(self, call: cst.Call) -> GeneratedData | None:
        """The generated content that a constructor converts, if a torch factory can create it; otherwise None."""
        if not may_call(call, known.CONSTRUCTOR_NAMES):
            return None
        name = self._module.qualified(call.func)
        legacy = name in LEGACY or self._chooses_legacy_type(call.func)
        if (name not in CONSTRUCTORS and not legacy) or _has_unknown_keywords(call) or not call.args:
            return None
        data = keyword(call, "data") or positional(call, 0)
        dtype = keyword(call, "dtype")
        if data is None or (dtype is not None and self._module.value(dtype).literal == "float64"):
            return None  # float64 is requested explicitly
        found = self._from_numpy(call, data) or (self._from_list(call, data) if name != "torch.from_numpy" else None)
        found = found or self._from_variable(call, data)
        return found._replace(dtype=None) if found is not None and legacy else found

    def _chooses_legacy_type(self, node: cst.BaseExpression) -> bool:
        """Whether a variable holds ``torch.cuda.FloatTensor if cuda else torch.FloatTensor``."""
        if not isinstance(node, cst.Name):
            return False
        if not any(isinstance(b.value, cst.IfExp) for b in self._module.names.bindings(node)):
            return False
        values = [b.value for b in self._module.definitions(node) if b.kind == "assign" and not b.path]
        return bool(values) and all(isinstance(v, cst.IfExp) and self._has_legacy_branches(v) for v in values)

    def _has_legacy_branches(self, node: cst.IfExp) -> bool:
        return all(self._module.qualified(side) in LEGACY for side in (node.body, node.orelse))

    def _from_variable(self, call: cst.Call, data: cst.BaseExpression) -> GeneratedData | None:
        """The content of a variable that is assigned once, and used only for this call."""
        bindings = self._module.definitions(data) if isinstance(data, cst.Name) else ()
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or bindings[0].value is None:
            return None
        if len(self._module.uses(bindings[0])) != 1 or not isinstance(bindings[0].value, cst.Call):
            return None
        if self._module.function_of(bindings[0].node) is not self._module.function_of(call):
            return None
        return self._from_numpy(call, bindings[0].value)

    def _from_numpy(self, call: cst.Call, data: cst.BaseExpression) -> GeneratedData | None:
        """The content of ``np.zeros(..)`` and similar calls, through ``astype`` and ``reshape``."""
        dtypes: list[str | None] = []
        while (
            isinstance(data, cst.Call)
            and method(data) in known.ARRAY_FORM_METHODS
            and self._module.qualified(data.func) is None
        ):
            if method(data) == "astype":
                dtypes.append(self._module.value(data).dtype)
            inner = receiver(data)
            assert inner is not None
            data = inner
        name = self._module.qualified(data.func) if isinstance(data, cst.Call) else None
        if not isinstance(data, cst.Call) or name not in known.TORCH_FACTORIES or _has_unknown_keywords(data):
            return None
        if name == "numpy.random.permutation" and self._module.value(positional(data, 0)).kind is not Kind.SCALAR:
            return None  # it permutes an array
        if name == "numpy.arange" and not self._has_integer_steps(data):
            return None
        content = "random" if ".random." in str(name) else "rounded" if name == "numpy.linspace" else "deterministic"
        if content == "random" and self._seeds_numpy(call):
            return None  # reproducible numbers are wanted
        if (None in dtypes or has_unknown_dtype(self._module, data)) and not self._is_exact(call, str(name)):
            return None  # the dtype of the content is unknown
        made = dtypes[0] if dtypes else self._module.value(data).dtype or known.NUMPY_DTYPES.get(str(name))
        return GeneratedData(call, str(name), known.TORCH_FACTORIES[str(name)], content, made, data=data)

    def _is_exact(self, call: cst.Call, name: str) -> bool:
        """Whether a dtype is given, and the content, such as zeros, is the same in every dtype."""
        dtype = keyword(call, "dtype")
        return dtype is not None and known.TORCH_FACTORIES[name] in ("torch.zeros", "torch.ones", "torch.eye")

    def _seeds_numpy(self, call: cst.Call) -> bool:
        """Whether the same function seeds NumPy."""
        function = self._module.function_of(call)
        calls = [n for n in descendants(function.body) if isinstance(n, cst.Call)] if function is not None else []
        return any(self._module.qualified(c.func) == "numpy.random.seed" for c in calls)

    def _has_integer_steps(self, call: cst.Call) -> bool:
        """Whether a range has integer steps; with float steps, NumPy and torch may round its length differently."""
        values = [a.value for a in call.args if a.keyword is None or a.keyword.value != "dtype"]
        if any(isinstance(n, cst.Float) for v in values for n in descendants(v)):
            return False
        return len(values) <= 2 or isinstance(literal(values[2]), int)

    def _from_list(self, call: cst.Call, data: cst.BaseExpression) -> GeneratedData | None:
        """The content of ``[0] * n``, ``[[v] * m for _ in range(n)]``, ``range(n)``, ``[i for i in range(n)]``."""
        counted = self._range_of(data)
        if counted is not None:
            return GeneratedData(call, "range", "torch.arange", "deterministic", "int64", data=counted)
        constant = self._repeated_constant(data)
        if constant is None:
            return None
        factory = _factory_for(constant)
        dtype = "bool" if isinstance(constant, bool) else "int64" if isinstance(constant, int) else None
        return GeneratedData(call, "a list", factory, "deterministic", dtype, data=data, constant=constant)

    def _range_of(self, data: cst.BaseExpression) -> cst.Call | None:
        """The range of ``range(n)``, ``list(range(n))`` or ``[i for i in range(n)]``, or None."""
        if isinstance(data, cst.Call) and self._is_range(data):
            return data
        if isinstance(data, cst.ListComp) and self._lists_range(data):
            data = data.for_in.iter
            return data if isinstance(data, cst.Call) else None
        if isinstance(data, cst.Call) and self._module.qualified(data.func) == "builtins.list" and len(data.args) == 1:
            inner = data.args[0].value
            return inner if isinstance(inner, cst.Call) and self._is_range(inner) else None
        return None

    def _is_range(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Call) and self._module.qualified(node.func) == "builtins.range"

    def _lists_range(self, node: cst.CSTNode) -> bool:
        """Whether a node is ``[i for i in range(n)]``."""
        if not isinstance(node, cst.ListComp) or node.for_in.ifs or node.for_in.inner_for_in is not None:
            return False
        target = node.for_in.target
        same = isinstance(node.elt, cst.Name) and isinstance(target, cst.Name) and node.elt.value == target.value
        return same and self._is_range(node.for_in.iter)

    def _repeated_constant(self, node: cst.CSTNode) -> object | None:
        """The constant in ``[v] * n``, or in a comprehension of such lists over a range."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            display = node.left if isinstance(node.left, cst.List) else node.right
            if isinstance(display, cst.List) and len(display.elements) == 1:
                return _constant(display.elements[0].value)
        if isinstance(node, cst.ListComp) and not node.for_in.ifs and self._is_range(node.for_in.iter):
            inner = node.elt
            if node.for_in.inner_for_in is None:
                constant = _constant(inner)
                return constant if constant is not None else self._repeated_constant(inner)
        return None


def has_unknown_dtype(module: SourceModule, made: cst.Call) -> bool:
    """Whether a call of NumPy has a dtype argument whose value is unknown."""
    fact = ARRAYS.get(module.qualified(made.func) or "")
    given = keyword(made, "dtype") or (positional(made, fact.position) if fact and fact.position else None)
    return given is not None and literal(given) is not None and module.value(made).dtype is None


def _factory_for(constant: object) -> str:
    """The factory for a constant; only ``torch.full`` keeps the sign of ``-0.0``."""
    if not isinstance(constant, (int, float)) or is_negative_zero(constant):
        return "torch.full"
    return "torch.zeros" if constant == 0 else "torch.ones" if constant == 1 else "torch.full"


def _constant(node: cst.CSTNode) -> object | None:
    found = literal(node)
    return None if found is ... or isinstance(found, str) else found


def _has_placement(call: cst.Call) -> bool:
    """Whether a call has an argument for the device, pinned memory, the output or the generator."""
    return any(keyword(call, word) is not None for word in ("device", "pin_memory", "out", "generator"))


def _has_unknown_keywords(call: cst.Call) -> bool:
    """Whether a call has ``**kwargs``; starred positional arguments are shapes."""
    return any(arg.star == "**" for arg in call.args)
