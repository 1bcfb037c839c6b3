"""Reads: expressions that copy content of a tensor from the device to the host, which waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, literal, method, positional, receiver
from torchlint.analysis.things.move import Moves
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import synchronisation as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Read(NamedTuple):
    """An expression that brings content of a tensor on the device to the host.

    ``tensor`` is what is read, ``how`` the way in words: ``.item()``, ``float()``, ``print``, a log call.
    """

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    how: str


class Reads:
    """Finds reads in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def found(
        self,
        wanted: Callable[[cst.BaseExpression], bool],
        *groups: frozenset[str],
    ) -> list[Read]:
        """The reads of tensors that are proved to lie on an accelerator, at wanted places, in source order.

        They are in functions with an identifier of each group, or outside all; there are none in a file in which
        nothing is put on an accelerator. Which tensors lie where is asked last, since it takes longest.
        """
        if not self._module.device_evidence.on_accelerator:
            return []
        found: dict[cst.CSTNode, Read] = {}
        for node in self._candidates(*groups):
            for read in self._at(node) if wanted(node) else ():
                found.setdefault(read.node, read)
        reads = [read for read in found.values() if not self._module.never_runs(read.node)]
        return sorted(reads, key=lambda read: self._module.order(read.node))

    def _candidates(self, *groups: frozenset[str]) -> list[cst.BaseExpression]:
        """What may be a read by its form, calls first."""
        nodes_of = self._module.nodes_of
        every: list[cst.BaseExpression] = [
            *(call for call in nodes_of(cst.Call, self._names, *groups) if self._may_read(call)),
            *nodes_of(cst.FormattedString, known.FORMATTED, *groups),
            *(operation for operation in nodes_of(cst.BinaryOperation, _PERCENT, *groups) if _shows(operation)),
        ]
        return [node for node in every if not self._fails(node)]

    def _at(self, node: cst.BaseExpression) -> Iterator[Read]:
        if isinstance(node, cst.Call):
            return self._of_call(node)
        if isinstance(node, cst.FormattedString):
            return self._of_string(node)
        assert isinstance(node, cst.BinaryOperation)
        return self._of_percent(node)

    @cached_property
    def _names(self) -> frozenset[str]:
        """One of these stands in every function with a call that reads."""
        return self._module.aliases(known.READ_NAMES)

    def _may_read(self, call: cst.Call) -> bool:
        """By its name alone, the call may be a read: most are not."""
        verb = method(call)
        name = self._module.qualified(call.func)
        if name is None:
            return verb in _READERS
        return name in known.CONVERSIONS or name in known.MATHS or self._logs(call, name)

    def _fails(self, node: cst.CSTNode) -> bool:
        """The read words an error or a warning: in ``raise``, in the message of an ``assert``, in ``warnings.warn``."""
        below = node
        for around in (node, *self._module.ancestors(node)):
            if isinstance(around, cst.Call) and self._module.qualified(around.func) == "warnings.warn":
                return True
            if isinstance(around, cst.Raise) or (isinstance(around, cst.Assert) and below is around.msg):
                return True
            if isinstance(around, cst.BaseStatement):
                return False
            below = around
        return False

    def _on_device(self, node: cst.CSTNode | None) -> bool:
        return node is not None and self._module.value(node).accelerated

    def _of_call(self, call: cst.Call) -> Iterator[Read]:
        name = self._module.qualified(call.func)
        if name is None:
            yield from self._of_method(call)
        elif name in known.CONVERSIONS or name in known.MATHS:
            first = positional(call, 0)
            if first is not None and self._on_device(first) and not self._is_text(call):
                yield Read(call, first, f"`{name.removeprefix('builtins.')}(...)`")
        if self._logs(call, name):
            yield from self._logged(call)

    def _is_text(self, call: cst.Call) -> bool:
        """``str(x.device)`` was judged by its argument; ``str`` of a model's output may print no content."""
        value = self._module.value(positional(call, 0))
        return self._module.qualified(call.func) in ("builtins.str", "builtins.repr") and value.kind is not Kind.TENSOR

    def _of_method(self, call: cst.Call) -> Iterator[Read]:
        verb, source = method(call), receiver(call)
        if source is None:
            return
        if verb == "format":
            for arg in call.args:
                if self._is_tensor(arg.value):
                    yield Read(call, arg.value, "formatting a tensor")
        reads = verb in known.READS or self._to_host(call)
        if verb == "numpy" and literal(keyword(call, "force")) is not True:
            return  # of a tensor on the device this raises: where it runs, the tensor lies on the host
        if reads and self._on_device(source) and not self._of_module(call):
            yield Read(call, source, f"`.{verb}()`" if verb in known.READS else f"`.{verb}(...)` to the CPU")

    def _of_module(self, call: cst.Call) -> bool:
        """``model.cpu().state_dict()`` moves a module."""
        parent = self._module.parent(call)
        return isinstance(parent, cst.Attribute) and parent.attr.value in known.MODULE_MEMBERS

    def _to_host(self, call: cst.Call) -> bool:
        """``x.to("cpu")`` without ``non_blocking=True``, ``x.type(torch.FloatTensor)``."""
        move = self._module.shared(Moves).at(call)
        return move is not None and move.verb != "cpu" and move.blocking and move.to_host

    def _is_tensor(self, node: cst.CSTNode) -> bool:
        """A tensor proper: of other things that come from the device, printing may show no content."""
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.accelerated

    def _logs(self, call: cst.Call, name: str | None) -> bool:
        if name in known.PRINTERS:
            return True
        verb = method(call)
        if verb in known.LOG_METHODS:
            return True
        owner = (dotted(receiver(call)) or "").rpartition(".")[2].lower()
        if verb in known.LEVELS:
            return owner.endswith(known.LOGGER_WORDS)
        return verb == "log" and owner in ("wandb", "run", "experiment")

    def _logged(self, call: cst.Call) -> Iterator[Read]:
        """The tensors among the arguments of a call that prints or logs, also inside a dict or list."""
        for arg in call.args:
            for part in _parts(arg.value):
                if self._is_tensor(part):
                    yield Read(call, part, f"`{(dotted(call.func) or method(call) or '').rpartition('.')[2]}(...)`")

    def _of_string(self, string: cst.FormattedString) -> Iterator[Read]:
        for part in string.parts:
            if isinstance(part, cst.FormattedStringExpression) and self._is_tensor(part.expression):
                yield Read(self._shown(string), part.expression, "formatting a tensor")

    def _of_percent(self, operation: cst.BinaryOperation) -> Iterator[Read]:
        for part in _parts(operation.right):
            if self._is_tensor(part):
                yield Read(self._shown(operation), part, "formatting a tensor")

    def _shown(self, text: cst.BaseExpression) -> cst.BaseExpression:
        """The call that a text is made for, or the text."""
        arg = self._module.parent(text)
        call = self._module.parent(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) else text


def _shows(operation: cst.BinaryOperation) -> bool:
    """``"%f" % loss``."""
    return isinstance(operation.operator, cst.Modulo) and isinstance(operation.left, _TEXTS)


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression, or the members of the tuple, list or dict that it is."""
    if isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from _parts(element.value)
    elif isinstance(node, cst.Dict):
        for item in node.elements:
            if isinstance(item, cst.DictElement):
                yield from _parts(item.value)
    else:
        yield node


_PERCENT = frozenset("%")
_TEXTS = (cst.SimpleString, cst.ConcatenatedString)
_READERS = known.READS | known.LOG_METHODS | known.LEVELS | {"to", "type", "format", "log"}
