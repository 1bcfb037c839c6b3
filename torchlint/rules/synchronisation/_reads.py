"""Reads: places where the host waits for a tensor of the device, and the loop or function in which they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword, literal, method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.devices import device_of, is_device_of
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.knowledge import synchronisation as known
from torchlint.knowledge.tensors import LEGACY
from torchlint.model import Heat
from torchlint.rules.synchronisation._intent import Intents
from torchlint.rules.synchronisation._rereads import read_again

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class Read(NamedTuple):
    """An expression that brings content of a tensor on the device to the host.

    ``tensor`` is what is read, ``how`` the way in words: ``.item()``, ``float()``, ``print``, a log call.
    """

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    how: str


class HotReads(NamedTuple):
    """The reads of one step. ``place`` is the loop, or the function that somebody calls every step.

    ``again`` holds the reads of a value that was read before in the same step; ``evaluation`` is true where no
    training happens.
    """

    place: cst.CSTNode
    reads: tuple[Read, ...]
    again: frozenset[Read]
    evaluation: bool


class ElementReads(NamedTuple):
    """The reads of one loop that goes through ``parameters``, ``elements`` of a tensor or ``indices`` into one."""

    loop: cst.CSTNode
    reads: tuple[Read, ...]
    through: str


class Syncs:
    """Finds reads in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._intents = Intents(module)
        self._through: dict[cst.CSTNode, str | None] = {}
        self._steps: dict[cst.CSTNode, list[cst.CSTNode]] = {}

    # -- single reads ----------------------------------------------------------------------------

    def _reads(
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

    def _repeats(self, node: cst.BaseExpression) -> bool:
        """The expression may be evaluated again and again."""
        loops, function = self._module.heat_analysis.enclosing_loops(node)
        return bool(loops) or (function is not None and self._is_hot(function))

    def _is_hot(self, function: cst.FunctionDef) -> bool:
        return self._module.heat_analysis.function_heat(function).rank >= Heat.STEP.rank

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
        """``x.to("cpu")``, ``x.type(torch.FloatTensor)``."""
        if method(call) == "to":
            if literal(keyword(call, "non_blocking")) is True:
                return False  # it does not wait
            where = argument(call, "device", 0)
            named = where is not None and not is_device_of(self._module.evaluator, where)
            return named and device_of(self._module.evaluator, where) is Device.CPU
        kind = positional(call, 0) if method(call) == "type" else None
        return kind is not None and LEGACY.get(self._module.qualified(kind) or "") == "cpu"

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

    # -- reads of a step -------------------------------------------------------------------------

    def hot(self) -> list[HotReads]:
        """The reads that happen every step, one record for each loop or function."""
        groups: dict[cst.CSTNode, list[Read]] = {}
        for read in self._reads(self._repeats):
            place = self._place(read.node)
            if place is not None and not self._intents.needed(read.node, place):
                groups.setdefault(place, []).append(read)
        ordered = sorted(groups.items(), key=lambda item: self._module.order(item[1][0].node))
        return [self._grouped(place, reads) for place, reads in ordered]

    def _place(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The loop or function whose every step reaches a read; None for reads that happen more or less often."""
        if self._module.heat(node) is not Heat.STEP:
            return None
        place = self._module.heat_analysis.enclosing_step(node)
        return None if place is node else place

    def _grouped(self, place: cst.CSTNode, reads: list[Read]) -> HotReads:
        again = read_again(self._module, [(read.node, _root(read.tensor)) for read in reads])
        evaluation = not self._trains(place)
        return HotReads(place, tuple(reads), frozenset(r for r in reads if r.node in again), evaluation)

    def _trains(self, place: cst.CSTNode) -> bool:
        if self._module.heat_analysis.trains(place):
            return True
        if isinstance(place, cst.FunctionDef):
            return not self._module.heat_analysis.evaluates(place) and place.name.value not in _EVALUATION_STEPS
        return False

    def position(self, place: cst.CSTNode, read: Read) -> str:
        """Where in the step a read stands: before, between or after the work that is queued."""
        if place not in self._steps:
            self._steps[place] = [
                n for n in descendants(getattr(place, "body", place)) if self._module.heat_analysis.is_step_call(n)
            ]
        steps = self._steps[place]
        backward = [n for n in steps if method(n) != "step"]
        if backward and self._module.comes_before(read.node, backward[0]):
            return "before the backward pass, which is queued only afterwards"
        if steps and self._module.comes_before(read.node, steps[-1]):
            return "between the backward pass and the optimizer step"
        return "after the step" if steps else "in every step"

    # -- reads of single elements ----------------------------------------------------------------

    def per_element(self) -> list[ElementReads]:
        """Reads in loops over parameters, samples or elements, one record for each loop."""
        found: dict[cst.CSTNode, tuple[str, list[Read]]] = {}
        for read in self._reads(self._may_go_through, _LOOPS):
            inner, function = self._inner(read.node)
            through = self._goes_through(inner, read) if inner is not None else None
            if inner is None or through is None or self._intents.needed(read.node, inner):
                continue
            if not self._module.heat_analysis.is_throttled(read.node, function):
                found.setdefault(inner, (through, []))[1].append(read)
        return [ElementReads(loop, tuple(reads), through) for loop, (through, reads) in found.items()]

    def _inner(self, node: cst.CSTNode) -> tuple[cst.CSTNode | None, cst.FunctionDef | None]:
        """The innermost loop around a node, and its function."""
        loops, function = self._module.heat_analysis.enclosing_loops(node)
        return loops[0] if loops else None, function

    def _may_go_through(self, node: cst.BaseExpression) -> bool:
        """The loop around a read goes through parameters or elements, or the read takes an element itself."""
        inner, _ = self._inner(node)
        if inner is None:
            return False
        return self._content(inner) is not None or any(_indexed(inner, node))

    def _goes_through(self, loop: cst.CSTNode, read: Read) -> str | None:
        """``parameters``, ``elements`` or ``indices`` for such a loop; None for another one."""
        iterable = _iterable(loop)
        if iterable is None or self._module.heat_analysis.iterates_batches(iterable):
            return None
        found = self._content(loop)
        if found is None and any(self._on_device(node.value) for node in _indexed(loop, read.tensor)):
            return "indices"
        return found

    def _content(self, loop: cst.CSTNode) -> str | None:
        """``parameters`` or ``elements`` for a loop that goes through these."""
        if loop not in self._through:
            self._through[loop] = self._found_in(loop)
        return self._through[loop]

    def _found_in(self, loop: cst.CSTNode) -> str | None:
        iterable = _iterable(loop)
        if iterable is None:
            return None
        if any(method(n) in known.PARAMETER_METHODS for n in descendants(iterable)):
            return "parameters"
        given = [a.value for a in iterable.args] if isinstance(iterable, cst.Call) else []
        return "elements" if any(map(self._is_tensor, (iterable, *given))) else None


def _shows(operation: cst.BinaryOperation) -> bool:
    """``"%f" % loss``."""
    return isinstance(operation.operator, cst.Modulo) and isinstance(operation.left, _TEXTS)


def _iterable(loop: cst.CSTNode) -> cst.BaseExpression | None:
    found: cst.BaseExpression | None = (
        loop.for_in.iter if isinstance(loop, COMPREHENSIONS) else getattr(loop, "iter", None)
    )
    return found


def _indexed(loop: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.Subscript]:
    """What is indexed below a node by a variable of the loop: ``for i in range(n): t[i].item()``."""
    target = loop.for_in.target if isinstance(loop, COMPREHENSIONS) else getattr(loop, "target", None)
    names = {n.value for n in descendants(target) if isinstance(n, cst.Name)} if target is not None else set()
    for part in descendants(node) if names else ():
        if isinstance(part, cst.Subscript):
            index = {n.value for s in part.slice for n in descendants(s) if isinstance(n, cst.Name)}
            if names & index:
                yield part


_LOOPS, _PERCENT = frozenset(("for",)), frozenset("%")
_TEXTS = (cst.SimpleString, cst.ConcatenatedString)
_READERS = known.READS | known.LOG_METHODS | known.LEVELS | {"to", "type", "format", "log"}
_EVALUATION_STEPS = frozenset({"validation_step", "test_step", "predict_step"})


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


def _root(node: cst.BaseExpression) -> cst.BaseExpression:
    """What is read, without the forms it is put into: ``loss`` of ``loss.detach()``."""
    while isinstance(node, cst.Call) and method(node) in ("detach", "mean", "data", "float", "squeeze"):
        inner = receiver(node)
        assert inner is not None
        node = inner
    while isinstance(node, cst.Attribute) and node.attr.value == "data":
        node = node.value
    return node
