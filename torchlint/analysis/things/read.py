"""Reads: expressions that copy the content of a tensor from the device to the host, and so synchronize."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import keyword, literal, method, positional, receiver
from torchlint.analysis.things.move import Moves
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import READING
from torchlint.knowledge import synchronization as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Read(NamedTuple):
    """An expression that copies the content of a tensor from the device to the host.

    ``tensor`` is the tensor expression, ``how`` describes the read for messages: ``.item()``, ``float()``, ``print``.
    """

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    how: str


class Reads:
    """The reads of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def find(
        self,
        is_wanted: Callable[[cst.BaseExpression], bool],
        *groups: frozenset[str],
    ) -> list[Read]:
        """The reads of tensors that are certainly on an accelerator, where ``is_wanted`` accepts the node.

        They are in source order. Functions are searched only if they contain an identifier of each group. A file that
        puts nothing on an accelerator has no reads. The devices of tensors are inferred last, since this takes longest.
        """
        if not self._module.device_evidence.any_on_accelerator:
            return []
        found: dict[cst.CSTNode, Read] = {}
        for node in self._candidates(*groups):
            for read in self._reads_of(node) if is_wanted(node) else ():
                found.setdefault(read.node, read)
        reads = [read for read in found.values() if not self._module.never_runs(read.node)]
        return sorted(reads, key=lambda read: self._module.order(read.node))

    def _candidates(self, *groups: frozenset[str]) -> list[cst.BaseExpression]:
        """The nodes that may be reads, judging by their form; calls come first."""
        nodes_of = self._module.nodes_of
        every: list[cst.BaseExpression] = [
            *(call for call in nodes_of(cst.Call, self._read_names, *groups) if self._may_read(call)),
            *nodes_of(cst.FormattedString, known.F_STRING_PREFIXES, *groups),
            *(operation for operation in nodes_of(cst.BinaryOperation, _PERCENT, *groups) if _is_formatting(operation)),
        ]
        return [node for node in every if not self._reports_error(node)]

    def _reads_of(self, node: cst.BaseExpression) -> Iterator[Read]:
        if isinstance(node, cst.Call):
            return self._of_call(node)
        if isinstance(node, cst.FormattedString):
            return self._of_string(node)
        assert isinstance(node, cst.BinaryOperation)
        return self._of_percent(node)

    @cached_property
    def _read_names(self) -> frozenset[str]:
        """Names of which every function with a call that reads contains at least one."""
        return self._module.aliases(known.READ_NAMES)

    def _may_read(self, call: cst.Call) -> bool:
        """Whether a call may be a read, judging by the name of the function alone; most are not."""
        verb = method(call)
        name = self._module.qualified(call.func)
        if name is None:
            return verb in _READ_METHODS
        return name in known.CONVERSIONS or name in known.MATH_FUNCTIONS or self._logs(call, name)

    def _reports_error(self, node: cst.CSTNode) -> bool:
        """Whether a read is part of an error or warning: ``raise``, ``warnings.warn``, an ``assert`` message."""
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
        elif name in known.CONVERSIONS or name in known.MATH_FUNCTIONS:
            first = positional(call, 0)
            if first is not None and self._on_device(first) and not self._is_text(call):
                yield Read(call, first, f"`{name.removeprefix('builtins.')}(...)`")
        if self._logs(call, name):
            yield from self._logged(call)

    def _is_text(self, call: cst.Call) -> bool:
        """Whether a call is ``str(..)`` or ``repr(..)`` of what may not be a tensor, and so may print no content."""
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
        reads = verb in READING or self._to_host(call)
        if verb == "numpy" and literal(keyword(call, "force")) is not True:
            return  # a tensor on the device has no `numpy()`, so this tensor is on the host
        if reads and self._on_device(source) and not self._of_module(call):
            yield Read(call, source, f"`.{verb}()`" if verb in READING else f"`.{verb}(...)` to the CPU")

    def _of_module(self, call: cst.Call) -> bool:
        """Whether the method is called on a module: ``model.cpu().state_dict()``."""
        parent = self._module.parent(call)
        return isinstance(parent, cst.Attribute) and parent.attr.value in known.MODULE_MEMBERS

    def _to_host(self, call: cst.Call) -> bool:
        """Whether a call is a blocking copy to the host: ``x.to("cpu")``, ``x.type(torch.FloatTensor)``."""
        move = self._module.shared(Moves).at(call)
        return move is not None and move.method != "cpu" and move.blocking and move.to_host

    def _is_tensor(self, node: cst.CSTNode) -> bool:
        """Whether an expression is a tensor on an accelerator; printing other objects may show no content."""
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.accelerated

    def _logs(self, call: cst.Call, name: str | None) -> bool:
        if name in known.PRINTING_FUNCTIONS:
            return True
        verb = method(call)
        if verb in known.LOG_METHODS:
            return True
        owner = (dotted(receiver(call)) or "").rpartition(".")[2].lower()
        if verb in known.LOG_LEVELS:
            return owner.endswith(known.LOGGER_WORDS)
        return verb == "log" and owner in ("wandb", "run", "experiment")

    def _logged(self, call: cst.Call) -> Iterator[Read]:
        """The tensors that a call prints or logs, including those inside a dict or list."""
        for arg in call.args:
            for part in _members(arg.value):
                if self._is_tensor(part):
                    yield Read(call, part, f"`{(dotted(call.func) or method(call) or '').rpartition('.')[2]}(...)`")

    def _of_string(self, string: cst.FormattedString) -> Iterator[Read]:
        for part in string.parts:
            if isinstance(part, cst.FormattedStringExpression) and self._is_tensor(part.expression):
                yield Read(self._enclosing_call(string), part.expression, "formatting a tensor")

    def _of_percent(self, operation: cst.BinaryOperation) -> Iterator[Read]:
        for part in _members(operation.right):
            if self._is_tensor(part):
                yield Read(self._enclosing_call(operation), part, "formatting a tensor")

    def _enclosing_call(self, text: cst.BaseExpression) -> cst.BaseExpression:
        """The call that a string is an argument of, or else the string."""
        return self._module.call_with_argument(text) or text


def _is_formatting(operation: cst.BinaryOperation) -> bool:
    """Whether an operation formats a string: ``"%f" % loss``."""
    return isinstance(operation.operator, cst.Modulo) and isinstance(operation.left, _STRINGS)


def _members(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The elements of a tuple, list or dict; for any other expression, the expression itself."""
    if isinstance(node, (cst.Tuple, cst.List)):
        for element in node.elements:
            yield from _members(element.value)
    elif isinstance(node, cst.Dict):
        for item in node.elements:
            if isinstance(item, cst.DictElement):
                yield from _members(item.value)
    else:
        yield node


_PERCENT = frozenset("%")
_STRINGS = (cst.SimpleString, cst.ConcatenatedString)
_READ_METHODS = READING | known.LOG_METHODS | known.LOG_LEVELS | {"to", "type", "format", "log"}
