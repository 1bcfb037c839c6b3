"""TL302: reads in loops over parameters, over the elements of a tensor, or over something made from either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.read import Read, Reads
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.semantics.models import is_loss_name
from torchlint.knowledge import synchronization as known
from torchlint.rules.synchronization._required_reads import RequiredReads

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = frozenset(("for",))
# Functions whose iterators give the members of their arguments, one by one.
_PASSING_ON = frozenset(f"builtins.{name}" for name in "enumerate zip reversed list tuple set iter sorted".split())
LoopKind = Literal["parameters", "buffers", "gradients", "elements", "indices", "masks", "iterations"]


class ElementReads(NamedTuple):
    """The reads in one loop.

    ``kind`` is ``parameters`` or ``buffers``, ``elements`` for a loop over a tensor, ``indices`` for a loop over the
    indices of a tensor, ``masks`` for a loop over values that select elements of a tensor, such as classes,
    ``gradients`` for a loop that reads the gradient of each of its values, or ``iterations`` if it is not known what
    the loop iterates over: a function that gets a tensor may yield whole batches.
    """

    loop: cst.CSTNode
    reads: tuple[Read, ...]
    kind: LoopKind


class ElementLoops:
    """Finds the loops of one module that read single elements."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._required = RequiredReads(module)
        self._kinds: dict[cst.CSTNode, LoopKind | None] = {}

    def all(self) -> list[ElementReads]:
        """The loops with reads, one record for each loop."""
        found: dict[cst.CSTNode, tuple[LoopKind, list[Read]]] = {}
        for read in self._module.shared(Reads).find(self._may_be_in_loop, _LOOPS):
            inner = self._innermost_loop(read.node)
            kind = self._kind_for_read(inner, read) if inner is not None else None
            if inner is None or kind is None or self._required.is_required(read.node, inner):
                continue
            if not self._module.heat_analysis.runs_rarely(read.node):
                found.setdefault(inner, (kind, []))[1].append(read)
        return [ElementReads(loop, tuple(reads), kind) for loop, (kind, reads) in found.items()]

    def covers(self, read: Read) -> bool:
        """Whether the loop around a read goes through parameters or elements, so that TL302 reports it."""
        inner = self._innermost_loop(read.node)
        return inner is not None and self._kind_for_read(inner, read) is not None

    def _innermost_loop(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The innermost loop around a node."""
        loops, _ = self._module.heat_analysis.enclosing_loops(node)
        return loops[0] if loops else None

    def _may_be_in_loop(self, node: cst.BaseExpression) -> bool:
        """Whether the loop around a node iterates over parameters or elements, or the node indexes a tensor in it."""
        inner = self._innermost_loop(node)
        if inner is None:
            return False
        return self._kind_of(inner) is not None or any(_indexed_by(inner, node))

    def _kind_for_read(self, loop: cst.CSTNode, read: Read) -> LoopKind | None:
        """The kind of the loop around a read, as :class:`ElementReads` names it; None for other loops."""
        iterable = _iterable(loop)
        if iterable is None or self._module.heat_analysis.iterates_batches(iterable):
            return None
        found = self._kind_of(loop)
        if found is not None:
            return found
        indexed = [node for node in _indexed_by(loop, read.tensor) if self._may_be_tensor(node.value)]
        if not indexed:
            return None
        if all(map(_is_masked, indexed)):
            return "masks"
        return "indices" if all(self._on_device(node.value) for node in indexed) else "iterations"

    def _may_be_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an indexed expression may be a tensor on an accelerator.

        What a loss function returns is usually one number, so a result that is indexed is a tuple of losses.
        """
        if not self._module.value(node).accelerated:
            return False
        made = [b.value for b in self._module.definitions(node)] if isinstance(node, cst.Name) else [node]
        return not any(isinstance(value, cst.Call) and is_loss_name(value.func) for value in made)

    def _kind_of(self, loop: cst.CSTNode) -> LoopKind | None:
        """The kind of a loop by its iterable, and by the gradients that it reads; None for other loops."""
        if loop not in self._kinds:
            self._kinds[loop] = self._compute_kind(loop)
        return self._kinds[loop]

    def _compute_kind(self, loop: cst.CSTNode) -> LoopKind | None:
        iterable = _iterable(loop)
        if iterable is None:
            return None
        known_kind = self._kind_of_members(iterable)
        if known_kind is not None:
            return known_kind
        if self._reads_gradients(loop):
            return "gradients"
        given = [a.value for a in iterable.args] if isinstance(iterable, cst.Call) else []
        gets_parameters = any(method(n) in known.PARAMETER_METHODS for n in descendants(iterable))
        return "iterations" if gets_parameters or any(map(self._on_device, (iterable, *given))) else None

    def _kind_of_members(self, iterable: cst.BaseExpression) -> LoopKind | None:
        """What a loop gets from an iterable, also through ``enumerate``, ``filter`` and the like."""
        verb = method(iterable)
        if verb in known.PARAMETER_METHODS:
            return "buffers" if verb.endswith("buffers") else "parameters"
        if self._is_tensor(iterable):
            return "elements"
        if not isinstance(iterable, cst.Call):
            return None
        name = self._module.qualified(iterable.func)
        inner = [a.value for a in iterable.args] if name in _PASSING_ON else []
        if name == "builtins.filter":
            inner = [a.value for a in iterable.args[1:]]
        return next((kind for kind in map(self._kind_of_members, inner) if kind is not None), None)

    def _reads_gradients(self, loop: cst.CSTNode) -> bool:
        """Whether the loop reads ``p.grad`` of its variable."""
        target = loop.for_in.target if isinstance(loop, COMPREHENSIONS) else getattr(loop, "target", None)
        body = getattr(loop, "elt", None) or getattr(loop, "body", None)
        if not isinstance(target, cst.Name) or body is None:
            return False
        reads = self._module.attributes_named("grad", body)
        return any(isinstance(read.value, cst.Name) and read.value.value == target.value for read in reads)

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is known to be a tensor on an accelerator, and not only used like one."""
        return self._on_device(node) and self._module.value(node).sure

    def _on_device(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.accelerated


def _iterable(loop: cst.CSTNode) -> cst.BaseExpression | None:
    found: cst.BaseExpression | None = (
        loop.for_in.iter if isinstance(loop, COMPREHENSIONS) else getattr(loop, "iter", None)
    )
    return found


def _is_masked(node: cst.Subscript) -> bool:
    """``t[target == label]``: the loop goes through the labels."""
    return any(isinstance(part, cst.Comparison) for index in node.slice for part in descendants(index))


def _indexed_by(loop: cst.CSTNode, node: cst.CSTNode) -> Iterator[cst.Subscript]:
    """Subscripts below a node that use the loop variable as an index: ``for i in range(n): t[i].item()``."""
    target = loop.for_in.target if isinstance(loop, COMPREHENSIONS) else getattr(loop, "target", None)
    names = {n.value for n in descendants(target) if isinstance(n, cst.Name)} if target is not None else set()
    for part in descendants(node) if names else ():
        if isinstance(part, cst.Subscript):
            index = {n.value for s in part.slice for n in descendants(s) if isinstance(n, cst.Name)}
            if names & index:
                yield part
