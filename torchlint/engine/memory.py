"""Which memory of the host tensors and arrays lie in: pinned or pageable."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.catalogue.functions import function_named, method_named
from torchlint.catalogue.views import CASTS
from torchlint.engine.conditions import truth
from torchlint.engine.values import SEQUENCES, UNKNOWN, Device, Kind, Origin, Value, leaves
from torchlint.knowledge.tensors import CPU_TYPES
from torchlint.knowledge.transfers import VIEW_FUNCTIONS, VIEWS

if TYPE_CHECKING:
    from torchlint.engine.frames import Scope
    from torchlint.engine.state import State

_DATA = (Kind.TENSOR, Kind.ARRAY)
# With one of these in a file, an array of which nothing else is known may lie in pinned memory.
_PINNING = (b"pin_memory", b"pinned", b"cudaHost", b"host_register")
PINNED = "pinned"


class Memory:
    """Finds the memory of what calls and subscripts give."""

    def __init__(self, state: State) -> None:
        self._state = state

    def of_call(
        self,
        function: Value,
        args: Sequence[Value],
        named: dict[str, Value],
        found: Value,
        node: ast.Call,
        scope: Scope,
    ) -> Value:
        """What a call gives, in its memory."""
        if found.kind not in _DATA or found.memory is not None or found.device is Device.ACCELERATOR:
            return found
        name = str(function.detail)
        if function.kind is Kind.METHOD and function.receiver is not None:
            return found.within(self._of_method(function.receiver, name, args, found, node))
        if function.kind is not Kind.LIBRARY:
            return found
        if name.startswith("numpy."):
            shares = name in VIEW_FUNCTIONS
            return found.within(args[0].memory if shares and args else None if shares else self._made("array", node))
        on_host = name.startswith("torch.") and found.device is Device.HOST and "out" not in named
        return found.within(self._of_torch(name, args, named, node, scope)) if on_host else found

    def part(self, owner: Value, found: Value, node: ast.Subscript) -> Value:
        """A part of a tensor or array: a view, which may skip elements, or new memory."""
        if owner.memory is None or found.kind not in _DATA:
            return found
        strided = owner.memory.kind == PINNED and _skips_elements(node.slice)
        if strided:
            return found.within(self._made("strided", node))
        varies = owner.memory.varies or (found.origin is not None and found.origin.varies)
        return found.within(owner.memory._replace(varies=varies))

    def _made(self, kind: str, node: ast.AST) -> Origin:
        return self._state.origin(kind, node)

    def _of_method(self, owner: Value, name: str, args: Sequence[Value], found: Value, node: ast.Call) -> Origin | None:
        record, held = method_named(name), owner.memory
        if record.place == PINNED:
            return self._made(PINNED, node)
        if not record.shares and name not in VIEWS:
            if found.kind is Kind.ARRAY:
                return self._made("array", node)
            return self._made("tensors", node) if owner.device is Device.HOST and owner.sure else None
        if held is None or held.kind != PINNED or record.memory == "view":
            return held
        if not (record.dtype or name == "astype"):
            return None  # perhaps a copy
        dtype = str(args[0].detail).rpartition(".")[2] if args else name
        given, known = _dtype(dtype), _made_with(held.node)
        return self._made("converted", node) if given and known and given != known else None

    def _of_torch(
        self, name: str, args: Sequence[Value], named: dict[str, Value], node: ast.Call, scope: Scope
    ) -> Origin | None:
        last = name.rpartition(".")[2]
        record, data = function_named(last), args[0] if args else named.get("data", UNKNOWN)
        if "pin_memory" in named:
            return self._made(PINNED, node) if truth(named["pin_memory"]) is not False else None
        if record.joins:
            return self._joined(data, node)
        if record.shares:
            array = data.kind is Kind.ARRAY or last == "from_numpy"
            pins = any(word in scope.module.content for word in _PINNING)
            pageable = array and data.kind is not Kind.TENSOR and data.memory is None and not pins
            return self._made("array", node) if pageable else self._shared(data, node)
        if record.made == "data" or (last in CPU_TYPES and data.kind is not Kind.NUMBER):
            few = data.kind in (Kind.TUPLE, Kind.NUMBER, Kind.CONSTANT)
            return self._made("few" if few else "data", node) if data.kind is not Kind.ARRAY else None
        return None

    def _shared(self, data: Value, node: ast.Call) -> Origin | None:
        """The memory of an array in a tensor, which is made here as far as that is told; of Python data, new one."""
        if data.kind in SEQUENCES:
            return self._made("data", node)
        held = data.memory
        return self._made(held.kind, node) if held is not None and held.kind == "array" else held

    def _joined(self, data: Value, node: ast.Call) -> Origin | None:
        """What ``torch.cat`` makes of tensors on the host: new memory, wherever the parts lie."""
        parts = list(leaves(data))
        if not parts or any(part.kind is not Kind.TENSOR or part.device is not Device.HOST for part in parts):
            return None
        of_batch = all(part.origin is not None and part.origin.kind == "batch" for part in parts)
        return self._made("batch" if of_batch else "tensors", node)


def _dtype(name: str) -> str:
    return CASTS.get(name, name) if name in CASTS or name in CASTS.values() else ""


def _made_with(node: ast.AST) -> str:
    """The dtype that is written where memory is made."""
    named = (part.value for part in ast.walk(node) if isinstance(part, ast.keyword) and part.arg == "dtype")
    return next((_dtype(ast.unparse(value).rpartition(".")[2]) for value in named), "")


def _skips_elements(index: ast.expr) -> bool:
    """Whether a view certainly skips elements of its tensor, as ``x[:, :n]`` and ``x[::2]`` do."""
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    while parts and not isinstance(parts[0], ast.Slice) and not _is_ellipsis(parts[0]):
        del parts[0]
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    if any(part.step is not None and not _is(part.step, 1) for part in slices):
        return True
    first = parts[0] if parts else None
    one = isinstance(first, ast.Slice) and first.upper is not None and _is(first.upper, 1)
    return not one and any(
        part.lower is not None or part.upper is not None
        if isinstance(part, ast.Slice)
        else not (_is_ellipsis(part) or _is(part, None))
        for part in parts[1:]
    )


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_ellipsis(node: ast.expr) -> bool:
    return _is(node, ...)
