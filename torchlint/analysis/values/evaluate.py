"""Value inference: evaluates expressions to abstract values, on demand and memoized."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import literal, method
from torchlint.analysis.values import lists
from torchlint.analysis.values.annotations import annotated
from torchlint.analysis.values.classes import LocalClasses
from torchlint.analysis.values.fixpoint import FixpointMemo
from torchlint.analysis.values.functions import Functions, Parameters
from torchlint.analysis.values.lattice import NONE, SCALAR, UNKNOWN, Device, Kind, Value, bounded, join
from torchlint.analysis.values.semantics import arrays, devices, models, operators, tensors
from torchlint.analysis.values.semantics.device_evidence import GRADIENT, DeviceEvidence
from torchlint.analysis.values.stores import AttributeStores
from torchlint.knowledge.arrays import CONSTANTS, DTYPE_NAMES
from torchlint.project.followed import ASSUMED

if TYPE_CHECKING:
    from torchlint.analysis.code import Code


# Objects whose attributes may be models or losses that are called: `self.net(x)`.
_OWNERS = (Kind.UNKNOWN, Kind.INSTANCE, Kind.MODULE)
# What a tensor is not equal to, whatever it holds.
_UNEQUAL = frozenset({Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.STRING, Kind.NONE})
_EQUALITY = (cst.Equal, cst.NotEqual)
_FEW = 8  # with more bindings than this, the join of their values is memoized


class Evaluator:
    """Infers the values of one module. A value that is being computed counts as unknown in itself."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.memo = FixpointMemo()
        self.classes = LocalClasses(self)
        self.functions = Functions(self, self.classes)
        self.device_evidence = DeviceEvidence(self)
        self.parameters = Parameters(self, self.functions, self.classes)
        self.stores = AttributeStores(self, self.parameters)

    def close(self) -> None:
        """Drop all references, so that the memory is freed at once despite reference cycles."""
        self.__dict__.clear()

    def value(self, node: cst.CSTNode | None) -> Value:
        """The inferred value of an expression; :data:`UNKNOWN` if nothing is proved."""
        known: Value | None = self.memo.known.get(node)
        if known is not None:
            return known
        handler = VALUED.get(node.__class__) if node is not None else None
        if node is None or handler is None:
            return UNKNOWN
        return self.memo.get_or_compute(node, partial(self._of, handler, node), UNKNOWN)

    def _of(self, handler: Callable[..., Value], node: cst.CSTNode) -> Value:
        found = handler(self, node)
        followed = self.code.followed.tensor(node)
        if followed is not None:
            found = _as_followed(found, followed, node)
        return bounded(found) if found.elements is not None or found.element is not None else found

    # -- names -----------------------------------------------------------------------------------

    def name(self, node: cst.Name) -> Value:
        constant = literal(node)
        if constant is None:
            return NONE
        if isinstance(constant, bool):
            return SCALAR._replace(literal=node.value)
        qualified = self.code.qualified(node)
        if qualified in DTYPE_NAMES:
            return Value(Kind.DTYPE, literal=DTYPE_NAMES[qualified])
        bindings = self.code.definitions(node)
        many = len(bindings) > _FEW
        found = (
            self.memo.get_or_compute(bindings, lambda: self._any(bindings), UNKNOWN) if many else self._any(bindings)
        )
        if lists.is_empty(found):
            found = self.memo.get_or_compute(("grown", bindings), lambda: self._grown(found, bindings), UNKNOWN)
        return found

    def _any(self, bindings: Iterable[Binding]) -> Value:
        return join(map(self.bound, bindings))

    def _grown(self, empty: Value, bindings: Iterable[Binding]) -> Value:
        return lists.grown(self, empty, (use for binding in bindings for use in self.code.uses(binding)))

    def bound(self, binding: Binding) -> Value:
        """The value that a binding assigns."""
        return self.memo.get_or_compute(binding, lambda: self._bound(binding), UNKNOWN)

    def _bound(self, binding: Binding) -> Value:
        if binding.kind in ("function", "class"):
            kind = Kind.FUNCTION if binding.kind == "function" else Kind.CLASS
            return Value(kind, node=binding.statement, origin=binding.statement)
        if binding.kind == "parameter":
            return self.parameters.value(binding)
        if binding.kind in ("augment", "annotation", "import"):
            return self._augmented(binding)
        value = self.value(binding.value)
        if isinstance(binding.statement, cst.AnnAssign) and not value.known:
            value = annotated(self.code, binding.statement.annotation)
        for step in binding.path:
            value = value.at(step) if step != "each" else self.iterated_value(binding.value, value)
        return value if value.known or value.located else self._transformed(binding)

    def _transformed(self, binding: Binding) -> Value:
        """``x, y = mixup(x, y)``: each result is on the device of the argument with its name."""
        call = binding.value
        if binding.kind != "assign" or len(binding.path) != 1 or not isinstance(call, cst.Call):
            return UNKNOWN
        target = binding.statement.targets[0].target if isinstance(binding.statement, cst.Assign) else None
        if not isinstance(target, cst.Tuple) or len(target.elements) < 2:
            return UNKNOWN
        names = [e.value.value for e in target.elements if isinstance(e.value, cst.Name)]
        given = [arg.value for arg in call.args if isinstance(arg.value, cst.Name)]
        if [name.value for name in given[: len(names)]] != names:
            return UNKNOWN
        before = next((self.value(name) for name in given if name.value == binding.name), UNKNOWN)
        return Value(Kind.UNKNOWN, before.device, origin=call) if before.accelerated else UNKNOWN

    def _augmented(self, binding: Binding) -> Value:
        if binding.kind == "annotation" and isinstance(binding.statement, cst.AnnAssign):
            return annotated(self.code, binding.statement.annotation)
        if binding.kind != "augment" or not isinstance(binding.node, cst.Name):
            return UNKNOWN
        before = [self.bound(b) for b in self.code.definitions(binding.node) if b is not binding]
        parts = [self.value(binding.value), *before]
        if before and all(map(lists.is_empty, before)):
            return before[0]  # `x = []; x += [a]`: what is added is found with the other members
        tensor = next((part for part in parts if part.accelerated), None)
        if tensor is None and all(part.located or part.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR) for part in parts):
            tensor = next((part for part in parts if part.located), None)
        if tensor is None:
            return UNKNOWN
        sure = all(part.sure or part.kind is Kind.SCALAR for part in parts)
        return tensor._replace(kind=Kind.TENSOR, sure=sure, origin=binding.statement)

    def iterated_value(self, iterable: cst.CSTNode | None, value: Value | None = None) -> Value:
        """The value that a loop over an expression yields, through ``enumerate``, ``zip`` and ``tqdm``."""
        if isinstance(iterable, cst.Call):
            yielded = tensors.iterated(self, iterable)
            if yielded is not None:
                return yielded
        known = self.value(iterable) if value is None else value
        if known.kind is Kind.LOADER:
            return tensors.batch(iterable)
        return known.iterated_value()

    # -- attributes, subscripts, calls -----------------------------------------------------------

    def attribute(self, node: cst.Attribute) -> Value:
        qualified = self.code.qualified(node)
        if qualified is not None:
            dtype = DTYPE_NAMES.get(qualified)
            if qualified in CONSTANTS:
                return SCALAR
            return Value(Kind.DTYPE, literal=dtype) if dtype else UNKNOWN
        base = self.value(node.value)
        if base.node is not None and isinstance(base.node, cst.ClassDef):
            return self.class_attribute(base.node, node.attr.value)
        if base.kind is Kind.UNKNOWN and not base.located and devices.is_device_name(node.attr.value):
            assigned = self.stores.value(node)
            if assigned.known:
                return assigned
        named = node.attr.value in ("value", "name") and base.kind is Kind.UNKNOWN and base.located
        if named and models.is_enumerated(self.code, node.value):
            return SCALAR
        found = arrays.attribute(base, node) or tensors.attribute(base, node) or UNKNOWN
        if node.attr.value == "grad" and base.kind is Kind.UNKNOWN and self.device_evidence.on_accelerator:
            return GRADIENT if not found.known else found  # only parameters and other tensors have one
        return found

    def class_attribute(self, owner: cst.ClassDef, name: str) -> Value:
        """The value of an instance attribute, joined over all assignments in the class."""
        return self.memo.get_or_compute((owner, name), lambda: self._class_attribute(owner, name), UNKNOWN)

    def _class_attribute(self, owner: cst.ClassDef, name: str) -> Value:
        stored = self.classes.module_state(owner, name) if self.device_evidence.moves_models else None
        if stored is not None:
            return stored
        # Code outside of the class may set the attribute to something else.
        found = self.classes.attribute(owner, name)._replace(fresh=False, sure=False)
        if found.device is Device.CPU and self.classes.is_state(owner, name):
            found = found._replace(device=Device.UNKNOWN)  # its module may be moved elsewhere
        if lists.is_empty(found):
            found = lists.grown(self, found, self.classes.reads(owner, name))
        return found

    def subscript(self, node: cst.Subscript) -> Value:
        base = self.value(node.value)
        index = [element.slice for element in node.slice]
        if len(index) == 1 and isinstance(index[0], cst.Index):
            key = literal(index[0].value)
            if isinstance(key, int) and base.elements is not None and -len(base.elements) <= key < len(base.elements):
                return base.elements[key]
            if base.kind in (Kind.LIST, Kind.TUPLE, Kind.DICT) and base.element is not None:
                return base.element
        return arrays.subscript(self, base, node) or tensors.subscript(base, node) or UNKNOWN

    def call(self, node: cst.Call) -> Value:
        qualified = self.code.qualified(node.func)
        if qualified is not None:
            found = arrays.call(self, node, qualified) or tensors.call(self, node, qualified)
            return found if found is not None else self._project_call(node)
        if isinstance(node.func, cst.Name) and self.device_evidence.is_cuda_type(node.func):
            return Value(Kind.TENSOR, Device.VARIABLE, fresh=True, sure=True, origin=node)
        target = self.value(node.func)
        if target.kind is Kind.FUNCTION and isinstance(target.node, cst.FunctionDef):
            return self.return_value(target.node)
        if target.kind is Kind.CLASS and isinstance(target.node, cst.ClassDef):
            return self.classes.instance(target.node, node)
        if method(node):
            assert isinstance(node.func, cst.Attribute)
            base = self.value(node.func.value)
            found = arrays.method(self, base, node) or tensors.method(self, base, node)
            if found is not None:
                return found
            if base.located or base.kind not in _OWNERS:
                return UNKNOWN
        return models.applied(self, target, node) or UNKNOWN

    def _project_call(self, node: cst.Call) -> Value:
        """A call of a function of another project file: a device, or a tensor on the device of its arguments."""
        name = self.code.project_symbol(node.func)
        if name is not None and devices.is_device_name(name.rpartition(".")[2]):
            device = self.code.project.device(name)
            if device is not None:
                return Value(Kind.DEVICE, Device(device), origin=node)
        if name is None:
            return UNKNOWN
        return models.applied(self, UNKNOWN, node) or UNKNOWN

    def return_value(self, function: cst.FunctionDef) -> Value:
        """The return value of a function of the file, joined over all callers."""
        return self.memo.get_or_compute(function, lambda: self._returned(function), UNKNOWN)

    def _returned(self, function: cst.FunctionDef) -> Value:
        info = self.functions.body(function)
        if info.is_generator or function.asynchronous:
            return UNKNOWN
        promised = annotated(self.code, function.returns)
        value = join(self.value(r.value) if r.value else NONE for r in info.returns) if info.returns else NONE
        return value if value.known else promised

    # -- operators and displays ------------------------------------------------------------------

    def binary(self, node: cst.BinaryOperation) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        found = operators.combined(left, right, node) or arrays.combined(left, right, node)
        return found or lists.combined(left, right, node) or _numbers(left, right)

    def comparison(self, node: cst.Comparison) -> Value:
        if any(isinstance(c.operator, (cst.In, cst.NotIn, cst.Is, cst.IsNot)) for c in node.comparisons):
            return SCALAR
        compared = node.comparisons[0].comparator
        left, right = self.value(node.left), self.value(compared)
        if any(models.is_module(side, value) for side, value in ((node.left, left), (compared, right))):
            return SCALAR  # modules have no `__eq__`: they are compared by identity
        equated = isinstance(node.comparisons[0].operator, _EQUALITY) and Kind.TENSOR not in (left.kind, right.kind)
        if equated and (models.is_member(node.left) or models.is_member(compared)):
            return SCALAR
        kinds = {left.kind, right.kind}
        if Kind.TENSOR in kinds and not kinds.isdisjoint(_UNEQUAL):
            return SCALAR  # without looking at any content
        found = operators.combined(left, right, node) or arrays.combined(left, right, node)
        return found._replace(dtype="bool") if found else UNKNOWN

    def unary(self, node: cst.UnaryOperation) -> Value:
        if isinstance(node.operator, cst.Not):
            return SCALAR
        inner = self.value(node.expression)
        fresh = inner.kind is Kind.NDARRAY
        return inner._replace(fresh=fresh, origin=node) if fresh or inner.kind is Kind.TENSOR else _number(inner)

    def conditional(self, node: cst.IfExp) -> Value:
        return join((self.value(node.body), self.value(node.orelse)))

    def either(self, node: cst.BooleanOperation) -> Value:
        return join((self.value(node.left), self.value(node.right)))

    def display(self, node: cst.List | cst.Tuple) -> Value:
        kind = Kind.LIST if isinstance(node, cst.List) else Kind.TUPLE
        if any(isinstance(e, cst.StarredElement) for e in node.elements):
            return Value(kind, origin=node, fresh=True)
        members = tuple(self.value(e.value) for e in node.elements)
        return Value(kind, elements=members, origin=node, fresh=True)

    def list_comprehension(self, node: cst.ListComp | cst.GeneratorExp) -> Value:
        element = self.value(node.elt)
        return Value(Kind.LIST, element=element if element.known else None, origin=node, fresh=True)

    def dictionary(self, node: cst.Dict | cst.DictComp) -> Value:
        if isinstance(node, cst.DictComp):
            found = self.value(node.value)
            return Value(Kind.DICT, element=found if found.known or found.located else None, origin=node, fresh=True)
        members = [self.value(e.value) if isinstance(e, cst.DictElement) else UNKNOWN for e in node.elements]
        alike = all(m.located for m in members) or all(m.kind is Kind.LOADER for m in members)
        element = join(members) if members and alike else None
        empty = None if members else ()
        return Value(Kind.DICT, elements=empty, element=element, origin=node, node=node, fresh=True)

    def walrus(self, node: cst.NamedExpr) -> Value:
        return self.value(node.value)

    def string(self, node: cst.CSTNode) -> Value:
        text = literal(node)
        device = Device.CUDA if _names_cuda(node) else Device.UNKNOWN
        return Value(Kind.STRING, device, literal=text if isinstance(text, str) else None, origin=node)

    def number(self, node: cst.CSTNode) -> Value:
        return Value(Kind.SCALAR, literal=str(literal(node)))


def _names_cuda(node: cst.CSTNode) -> bool:
    """Whether this is ``f"cuda:{rank}"``."""
    first = node.parts[0] if isinstance(node, cst.FormattedString) and node.parts else None
    return isinstance(first, cst.FormattedStringText) and first.value.startswith("cuda:")


def _numbers(left: Value, right: Value) -> Value:
    plain = (Kind.SCALAR, Kind.NUMPY_SCALAR)
    if left.kind in plain and right.kind in plain:
        return Value(Kind.NUMPY_SCALAR) if Kind.NUMPY_SCALAR in (left.kind, right.kind) else SCALAR
    return UNKNOWN


def _number(value: Value) -> Value:
    return value._replace(literal=None) if value.kind in (Kind.SCALAR, Kind.NUMPY_SCALAR) else UNKNOWN


# The evaluation method for each class of expression.
VALUED: dict[type[cst.CSTNode], Callable[..., Value]] = {
    cst.Name: Evaluator.name,
    cst.Attribute: Evaluator.attribute,
    cst.Subscript: Evaluator.subscript,
    cst.Call: Evaluator.call,
    cst.BinaryOperation: Evaluator.binary,
    cst.Comparison: Evaluator.comparison,
    cst.UnaryOperation: Evaluator.unary,
    cst.IfExp: Evaluator.conditional,
    cst.BooleanOperation: Evaluator.either,
    cst.List: Evaluator.display,
    cst.Tuple: Evaluator.display,
    cst.ListComp: Evaluator.list_comprehension,
    cst.GeneratorExp: Evaluator.list_comprehension,
    cst.Dict: Evaluator.dictionary,
    cst.DictComp: Evaluator.dictionary,
    cst.NamedExpr: Evaluator.walrus,
    cst.SimpleString: Evaluator.string,
    cst.ConcatenatedString: Evaluator.string,
    cst.FormattedString: Evaluator.string,
    cst.Integer: Evaluator.number,
    cst.Float: Evaluator.number,
}


def _as_followed(found: Value, followed: str, node: cst.CSTNode) -> Value:
    """The value of an expression that following the program knows to be a tensor: its device, and that of a mask."""
    where, *more = followed.split()
    if ASSUMED in more and found.device is not Device.UNKNOWN:
        return found
    if found.kind not in (Kind.UNKNOWN, Kind.TENSOR):
        return found
    if where == "host":
        return found._replace(kind=Kind.TENSOR, device=Device.CPU)
    dtype = found.dtype or ("bool" if "mask" in more else None)
    device = found.device if found.accelerated else Device.VARIABLE
    return found._replace(kind=Kind.TENSOR, device=device, dtype=dtype, origin=found.origin or node)
