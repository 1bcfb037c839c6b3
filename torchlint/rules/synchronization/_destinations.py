"""Destinations: where the value of a read goes, through variables, arithmetic and conversions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.scopes.bindings import targets
from torchlint.analysis.syntax.calls import keyword, method, positional, receiver
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import CONSTRUCTORS, EVERYWHERE, EVERYWHERE_FUNCTIONS, METADATA, ON_DEVICE, READING
from torchlint.knowledge import synchronization as known
from torchlint.knowledge import transfers
from torchlint.knowledge.tensors import LEGACY
from torchlint.rules.synchronization._pictures import draws

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.read import Read

# Nowhere; back to the device; only into a picture; only a question about its shape; anywhere else.
Destination = Literal["nothing", "device", "picture", "shape", "host"]
_DEPTH = 12
_METHODS = EVERYWHERE | transfers.ARRAY_METHODS | READING
# Functions whose result depends on nothing but their arguments.
_PURE = known.CONVERSIONS | known.MATH_FUNCTIONS | {f"builtins.{name}" for name in "abs round list tuple".split()}
_PASSING_ON = frozenset(f"builtins.{name}" for name in "enumerate zip reversed".split())
_PURE_MODULES = ("numpy.", "cv2.")
_OF_DEVICE = EVERYWHERE_FUNCTIONS | {f"torch.{name}" for name in ON_DEVICE}
_TEXTS = frozenset({"builtins.str", "builtins.repr", "builtins.format"})
_PEEKING = frozenset("locals vars eval exec".split())


class _Way(NamedTuple):
    """What happened to a value so far: whether only copies and conversions, which the device could do too."""

    untouched: bool = True
    portable: bool = True


class Destinations:
    """Answers for one module where the values of reads go."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._known: dict[cst.CSTNode, set[Destination]] = {}
        self._seen: set[tuple[cst.Name, _Way]] = set()  # the uses of variables that the value of one read reached

    def only(self, read: Read, destination: Destination) -> bool:
        """Whether the value of a read goes only there; a question about its shape does not count."""
        return self._of(read) - {"shape"} == {destination}

    def _of(self, read: Read) -> set[Destination]:
        if read.node not in self._known:
            self._known[read.node] = self._find(read)
        return self._known[read.node]

    def _find(self, read: Read) -> set[Destination]:
        if not _gives_value(self._module, read):
            return {"host"}
        found: set[Destination] = set()
        self._seen.clear()
        for destination in self._after(read.node, _Way(), _DEPTH):
            found.add(destination)
            if destination == "host":
                break
        return found

    def _after(self, node: cst.CSTNode, way: _Way, depth: int) -> Iterator[Destination]:
        """Where the value of an expression goes."""
        parent = self._module.parent(node)
        if depth == 0 or parent is None:
            yield "host"
        elif (call := self._module.call_with_argument(node)) is not None:
            yield from self._into_call(call, way, depth)
        elif isinstance(parent, cst.Attribute):
            yield from self._through_attribute(parent, way, depth)
        elif isinstance(parent, (cst.Assign, cst.AnnAssign)):
            yield from self._into_variables(parent, way, depth)
        elif isinstance(parent, (cst.BinaryOperation, cst.AugAssign)):
            yield from self._through_operation(node, parent, way, depth)
        elif isinstance(parent, cst.Expr):
            yield "nothing" if way.untouched else "host"
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            yield from self._into_target(parent.target, way._replace(untouched=False), depth)
        elif _is_part(parent, node):
            yield from self._after(parent, way, depth - 1)
        else:
            yield "host"

    def _through_attribute(self, attribute: cst.Attribute, way: _Way, depth: int) -> Iterator[Destination]:
        call, verb = self._module.parent(attribute), attribute.attr.value
        if verb in METADATA:
            yield "shape"
        elif not isinstance(call, cst.Call) or call.func is not attribute:
            passed = way._replace(portable=way.portable and verb in ("data", "T", "mT"))
            yield from self._after(attribute, passed, depth - 1)
        elif (move := self._module.shared(Moves).at(call)) is not None and move.to_accelerator:
            yield "device" if way.portable else "host"
        else:
            pure = (verb in _METHODS or move is not None) and not verb.endswith("_")
            yield from self._after(call, _Way(way.untouched and pure, way.portable and pure), depth - 1)

    def _through_operation(
        self, node: cst.CSTNode, operation: cst.BinaryOperation | cst.AugAssign, way: _Way, depth: int
    ) -> Iterator[Destination]:
        """Arithmetic with a tensor on the device brings a value back there."""
        if isinstance(operation, cst.AugAssign):
            other: cst.CSTNode = operation.target
        else:
            other = operation.right if node is operation.left else operation.left
        value = self._module.value(other)
        if value.kind is Kind.TENSOR and value.accelerated:
            yield "device" if way.portable else "host"
        elif isinstance(operation, cst.AugAssign) or value.kind in (Kind.LIST, Kind.STRING):  # made longer
            yield "host"
        else:
            yield from self._after(operation, way, depth - 1)

    def _into_call(self, call: cst.Call, way: _Way, depth: int) -> Iterator[Destination]:
        name = self._module.qualified(call.func)
        if draws(self._module, call):
            yield "picture"
        elif name in CONSTRUCTORS or name in LEGACY:
            device = keyword(call, "device")
            arrives = LEGACY.get(name) == "cuda" or (device is not None and names_accelerator(self._module, device))
            back: Destination = "device" if way.portable else "host"
            yield from (back,) if arrives else self._after(call, way, depth - 1)
        elif name in _OF_DEVICE:
            yield from self._after(call, way, depth - 1)
        elif name is not None and (name in _PURE or name in _PASSING_ON or name.startswith(_PURE_MODULES)):
            portable = name in transfers.NUMPY_FUNCTIONS or (name in _PURE and name not in _TEXTS)
            untouched = way.untouched and name in _PURE
            yield from self._after(call, _Way(untouched, way.portable and portable), depth - 1)
        else:
            yield "host"

    def _into_variables(self, assign: cst.Assign | cst.AnnAssign, way: _Way, depth: int) -> Iterator[Destination]:
        every = [one.target for one in assign.targets] if isinstance(assign, cst.Assign) else [assign.target]
        for target in every:
            yield from self._into_target(target, way, depth)

    def _into_target(self, target: cst.CSTNode, way: _Way, depth: int) -> Iterator[Destination]:
        names = [name for name, _ in targets(target)]
        if not names or any(isinstance(element, _STORES) for element in _elements(target)):
            yield "host"
            return
        for name in names:
            uses = uses_of(self._module, name)
            if not uses:
                yield "nothing" if way.untouched and self._is_local(name) else "host"
            for use in uses:
                if (use, way) not in self._seen:
                    self._seen.add((use, way))
                    yield from self._after(use, way, depth - 1)

    def _is_local(self, name: cst.Name) -> bool:
        """Whether nothing but the code of a function can see a variable."""
        function = self._module.function_of(name)
        scope = self._module.names.scope_at(name)
        if function is None or scope.is_class or name.value in scope.outer:
            return False
        return not any(self._module.names_spelled(word, function) for word in _PEEKING)


def uses_of(module: SourceModule, target: cst.CSTNode) -> list[cst.Name]:
    """The uses of a variable that get what is assigned to it here; none if the target is no variable."""
    binding = module.binding_of(target) if isinstance(target, cst.Name) else None
    return module.uses(binding) if binding is not None else []


_STORES = (cst.Attribute, cst.Subscript)
_PARTS = (cst.Tuple, cst.List, cst.Element, cst.Dict, cst.DictElement)


def _is_part(parent: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the value of an expression contains, or is computed from, the value of a part of it."""
    if isinstance(parent, cst.IfExp):
        return node is not parent.test
    if isinstance(parent, cst.Subscript):
        return node is parent.value
    if isinstance(parent, COMPREHENSIONS):
        return node is getattr(parent, "elt", None)
    if isinstance(parent, cst.UnaryOperation):
        return not isinstance(parent.operator, cst.Not)
    return isinstance(parent, _PARTS)


def _elements(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The single targets of an assignment."""
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _elements(element.value)
    else:
        yield target


def _gives_value(module: SourceModule, read: Read) -> bool:
    """Whether the value of a read is that of the tensor, and no text or result of logging."""
    if not isinstance(read.node, cst.Call):
        return False
    name = module.qualified(read.node.func)
    if name is not None:
        return name in (known.CONVERSIONS | known.MATH_FUNCTIONS) - _TEXTS and positional(read.node, 0) is read.tensor
    return receiver(read.node) is read.tensor and method(read.node) not in known.LOG_METHODS
