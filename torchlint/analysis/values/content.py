"""Generated content: tensors and arrays that the CPU computes from factories and numbers alone.

``torch.triu(torch.ones(n, n)) == 1`` is an example; ``torch.eye(n)[labels]`` and padded sequences contain data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Device, Kind, Value
from torchlint.catalogue.functions import method_named
from torchlint.catalogue.views import ALONE, CONSTRUCTORS, GENERATING, METADATA, SHARING, SHARING_FUNCTIONS, functions
from torchlint.knowledge.factories import ARRAY_FACTORIES, GENERATORS, LIKE_FACTORIES
from torchlint.knowledge.tensors import LEGACY, PARAMETERS

if TYPE_CHECKING:
    from torchlint.analysis.values.protocol import Values

_NUMBERS = frozenset({Kind.SCALAR, Kind.NUMPY_SCALAR, Kind.STRING, Kind.NONE, Kind.DTYPE, Kind.DEVICE})
_FROM_DATA = LEGACY.keys() | {"torch.tensor"}
# Functions and methods that compute only with their first argument: the others are sizes, dimensions and the like.
_ALONE_FUNCTIONS = functions(lambda function: function.alone, "torch", "numpy") | {"numpy.expand_dims"}
_ALONE = ALONE | {"astype"}
# Arguments that say that the place, memory, a generator or a gradient matters, and not the content alone.
_PARTICULAR = frozenset("device out generator pin_memory requires_grad where".split())
# Functions that give a tensor for their argument, and no other copy of data than the move: TL101 reports those.
_CONVERSIONS = (CONSTRUCTORS & SHARING_FUNCTIONS) | {"torch.autograd.Variable"}
_KEPT_BY_DECORATORS = frozenset({"builtins.staticmethod", "builtins.classmethod", "builtins.property"})


def of_function(values: Values, node: cst.Call, name: str, made: Value) -> Value:
    """The result of a function of torch or NumPy, marked if its content is generated."""
    if name.partition(".")[0] not in ("torch", "numpy"):
        return made
    return _marked(made, lambda: _function_generates(values, node, name))


def of_method(values: Values, base: Value, node: cst.Call, made: Value) -> Value:
    """The result of a method, marked if its content is generated."""
    return _marked(made, lambda: _method_generates(values, base, node))


def of_operator(values: Values, operands: Iterable[cst.BaseExpression], made: Value) -> Value:
    """The result of an operator, marked if its content is generated."""
    return _marked(made, lambda: not any(may_be_data(values, operand) for operand in operands))


def of_subscript(values: Values, base: Value, node: cst.Subscript, made: Value) -> Value:
    """A part of a tensor or array, marked if its content is generated: data do not choose the part."""
    return _marked(made, lambda: base.generated and not _index_may_be_data(values, node))


def of_returned(values: Values, function: cst.FunctionDef, made: Value) -> Value:
    """The return value of a function; a decorator may return the same object each time."""
    if all(values.code.qualified(d.decorator) in _KEPT_BY_DECORATORS for d in function.decorators):
        return made
    return without_mark(made)


def is_marked(value: Value) -> bool:
    """Whether the value, or a member of it, is marked."""
    return (
        value.generated or any(map(is_marked, value.elements or ())) or bool(value.element and is_marked(value.element))
    )


def without_mark(value: Value) -> Value:
    """The value without the mark, and so its members."""
    if not is_marked(value):
        return value
    elements = tuple(map(without_mark, value.elements)) if value.elements is not None else None
    element = without_mark(value.element) if value.element is not None else None
    return value._replace(generated=False, elements=elements, element=element)


def is_factory(values: Values, node: cst.Call, name: str | None) -> bool:
    """Whether a call creates content on the CPU from sizes and numbers."""
    if name not in GENERATORS or in_device_context(values, node):
        return False
    first = values.value(positional(node, 0))
    if name in LIKE_FACTORIES:
        return first.kind is Kind.TENSOR and first.device is Device.CPU
    if name in ARRAY_FACTORIES:
        return True
    given = [values.value(arg.value) for arg in node.args]
    numbers = name != "torch.normal" or all(value.kind in (*_NUMBERS, Kind.TUPLE) for value in given)
    return numbers and not any(value.kind in (Kind.TENSOR, Kind.NDARRAY) for value in given)


def in_device_context(values: Values, node: cst.CSTNode) -> bool:
    """Whether a node is inside ``with torch.device(..):`` or ``with device:``."""
    blocks = (around for around in values.code.ancestors(node) if isinstance(around, cst.With))
    return any(values.value(item.item).kind is Kind.DEVICE for block in blocks for item in block.items)


def may_be_data(values: Values, node: cst.BaseExpression) -> bool:
    """Whether an operand may hold anything but generated content and numbers."""
    return holds_data(values.value(node)) and not _is_number(values, node)


def holds_data(value: Value) -> bool:
    """Whether a value may hold anything but generated content and numbers."""
    if value.kind in (Kind.LIST, Kind.TUPLE):
        members = value.elements if value.elements is not None else (value.element,)
        return any(member is None or holds_data(member) for member in members)
    return not value.generated and value.kind not in _NUMBERS


def _is_number(values: Values, node: cst.BaseExpression) -> bool:
    """Whether an unknown operand is a number: by its default, as a bound of ``arange``, or computed from such."""
    if values.value(node).known:
        return False
    if isinstance(node, cst.BinaryOperation):
        return not any(may_be_data(values, part) for part in (node.left, node.right))
    bindings = values.code.definitions(node) if isinstance(node, cst.Name) else ()
    defaults = [b.statement.default for b in bindings if isinstance(b.statement, cst.Param) and b.statement.default]
    by_default = len(bindings) == len(defaults) == 1 and isinstance(literal(defaults[0]), (int, float))
    return by_default or (isinstance(node, cst.Name) and _is_bound(values, node))


def _is_bound(values: Values, name: cst.Name) -> bool:
    """Whether a variable is also part of a bound of ``torch.arange`` in its statement, which takes numbers alone."""
    calls = (part for part in descendants(values.code.statement_of(name)) if isinstance(part, cst.Call))
    bounds = (arg.value for call in calls if values.code.qualified(call.func) == "torch.arange" for arg in call.args)
    return any(name.value in _operands(bound) for bound in bounds)


def _operands(node: cst.BaseExpression) -> Iterator[str]:
    """The variables from which an arithmetic expression is computed."""
    if isinstance(node, cst.BinaryOperation):
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif isinstance(node, cst.Name):
        yield node.value


def _marked(made: Value, generates: Callable[[], bool]) -> Value:
    holder = made.element if made.kind in (Kind.TUPLE, Kind.LIST) and made.element is not None else made
    on_host = (holder.kind is Kind.TENSOR and holder.device is Device.CPU) or holder.kind is Kind.NDARRAY
    mark = on_host and generates()
    if holder.generated == mark:
        return made
    changed = holder._replace(generated=mark)
    return changed if holder is made else made._replace(element=changed)


def _function_generates(values: Values, node: cst.Call, name: str) -> bool:
    if _is_particular(node) or name in PARAMETERS or name.startswith("numpy.random."):
        return False
    if name in _FROM_DATA:
        return _is_list_of_numbers(node)
    if name in _CONVERSIONS:
        return values.value(positional(node, 0)).generated
    if name in GENERATING or name in ARRAY_FACTORIES:
        return is_factory(values, node, name)
    operands = [arg.value for arg in node.args if arg.keyword is None]
    operands = operands[:1] if name in _ALONE_FUNCTIONS else operands
    return any(is_marked(values.value(one)) for one in operands) and not any(may_be_data(values, o) for o in operands)


def _is_list_of_numbers(node: cst.Call) -> bool:
    """Whether ``torch.tensor([0.5])`` or a legacy constructor gets a display of literal numbers; none is a factory."""
    given = positional(node, 0)
    elements = given.elements if isinstance(given, (cst.List, cst.Tuple)) else ()
    return bool(elements) and all(isinstance(literal(element.value), (int, float)) for element in elements)


def _method_generates(values: Values, base: Value, node: cst.Call) -> bool:
    assert isinstance(node.func, cst.Attribute)
    name = node.func.attr.value
    made = method_named(name).made
    if _is_particular(node) or made == "data" or name in ("pin_memory", "share_memory_", "requires_grad_"):
        return False
    if not (base.generated or (made and base.device is Device.CPU)):
        return False
    return name in _ALONE or not any(may_be_data(values, arg.value) for arg in node.args)


def _is_particular(node: cst.Call) -> bool:
    """Whether the call says where or how memory is allocated, or which generator draws."""
    if any(arg.star == "**" for arg in node.args):
        return True
    given = (keyword(node, word) for word in _PARTICULAR)
    return any(value is not None and literal(value) is not False for value in given)


def _index_may_be_data(values: Values, node: cst.Subscript) -> bool:
    indices = [element.slice.value for element in node.slice if isinstance(element.slice, cst.Index)]
    return any(may_be_data(values, index) for index in indices if not isinstance(index, cst.Ellipsis))


# -- stores ----------------------------------------------------------------------------------------


def stays_generated(values: Values, uses: Iterable[cst.CSTNode], read: cst.CSTNode, made: cst.CSTNode) -> bool:
    """Whether no use of an object before a read stores data in it. ``made`` is where the object is created."""
    writes = (use for use in uses if use is not read and stores_data(values, use, made))
    return not any(_may_precede(values, use, read, made) for use in writes)


def _may_precede(values: Values, use: cst.CSTNode, read: cst.CSTNode, made: cst.CSTNode) -> bool:
    """Whether a use may run before a read of the object: it is above, or both are in a loop that ``made`` is not in."""
    code = values.code
    if code.comes_before(use, read) or code.function_of(use) is not code.function_of(read):
        return True
    outside = set(code.ancestors(made))
    loops = {a for a in code.ancestors(read) if isinstance(a, (cst.For, cst.While)) and a not in outside}
    return any(around in loops for around in code.ancestors(use))


def stores_data(
    values: Values, use: cst.CSTNode, made: cst.CSTNode | None, seen: frozenset[cst.CSTNode] = frozenset()
) -> bool:
    """Whether a use of an object stores data in it, or hands it to code that may. ``made`` is where it is created."""
    node, parent = use, values.code.parent(use)
    while isinstance(parent, (cst.Subscript, cst.Attribute)):
        if isinstance(parent, cst.Attribute):
            call = values.code.parent(parent)
            called = isinstance(call, cst.Call) and call.func is parent
            name = parent.attr.value
            if name in METADATA:
                return False
            if isinstance(call, cst.Call) and called:
                if name.endswith("_") and not name.endswith("__"):
                    return _is_particular(call) or any(may_be_data(values, arg.value) for arg in call.args)
                if name not in SHARING and name != "numpy":
                    return False
                parent = call
        node, parent = parent, values.code.parent(parent)
    if isinstance(parent, cst.Arg):
        return _is_handed_over(values, parent)
    if isinstance(parent, (cst.AssignTarget, cst.AugAssign)) and parent.target is node:
        return node is not use and _target_takes_data(values, parent, node, made)
    if isinstance(parent, cst.Assign) and parent.value is node:
        return use not in seen and _alias_takes_data(values, parent, made, seen | {use})
    return False


def _is_handed_over(values: Values, arg: cst.Arg) -> bool:
    """Whether a function gets the object that may write to it."""
    call = values.code.parent(arg)
    if not isinstance(call, cst.Call) or (arg.keyword is not None and arg.keyword.value == "out"):
        return True
    name = values.code.qualified(call.func)
    if name is None:
        base = values.value(call.func.value) if isinstance(call.func, cst.Attribute) else None
        return base is None or base.kind not in (Kind.TENSOR, Kind.NDARRAY, Kind.LIST)
    root, _, last = name.rpartition(".")
    reads = name.partition(".")[0] in ("torch", "numpy", "builtins", "math") and not last.endswith("_")
    return not reads or root in ("torch.nn.init", "numpy.random") or last in ("copyto", "put", "place", "putmask")


def _target_takes_data(
    values: Values, store: cst.AssignTarget | cst.AugAssign, target: cst.CSTNode, made: cst.CSTNode | None
) -> bool:
    """Whether ``x[i] = y`` or ``x[i] += y`` stores data, at a place that data choose, or in a loop of its own."""
    statement = store if isinstance(store, cst.AugAssign) else values.code.parent(store)
    if not isinstance(statement, (cst.Assign, cst.AugAssign)) or not isinstance(target, cst.Subscript):
        return True
    outside = set(values.code.ancestors(made)) if made is not None else set()
    loops = (around for around in values.code.ancestors(statement) if isinstance(around, (cst.For, cst.While)))
    if any(loop not in outside for loop in loops):
        return True
    return may_be_data(values, statement.value) or _index_may_be_data(values, target)


def _alias_takes_data(
    values: Values, assign: cst.Assign, made: cst.CSTNode | None, seen: frozenset[cst.CSTNode]
) -> bool:
    """Whether another name for the object, or for a view of it, is used to store data."""
    names = [target.target for target in assign.targets if isinstance(target.target, cst.Name)]
    bindings = [binding for name in names if (binding := values.code.binding_of(name)) is not None]
    return any(stores_data(values, use, made, seen) for binding in bindings for use in values.code.uses(binding))
