"""TL302: reads in loops over parameters, samples or elements of a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.heat.heat import COMPREHENSIONS
from torchlint.analysis.syntax.calls import method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.read import Read, Reads
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import synchronisation as known
from torchlint.rules.synchronisation._intent import Intents

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = frozenset(("for",))


class ElementReads(NamedTuple):
    """The reads of one loop that goes through ``parameters``, ``elements`` of a tensor or ``indices`` into one."""

    loop: cst.CSTNode
    reads: tuple[Read, ...]
    through: str


class ElementLoops:
    """Finds such loops in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._intents = Intents(module)
        self._through: dict[cst.CSTNode, str | None] = {}

    def all(self) -> list[ElementReads]:
        """One record for each loop."""
        found: dict[cst.CSTNode, tuple[str, list[Read]]] = {}
        for read in self._module.shared(Reads).find(self._may_go_through, _LOOPS):
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
        if found is None and any(self._module.value(node.value).accelerated for node in _indexed(loop, read.tensor)):
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
        return "elements" if any(map(self._on_device, (iterable, *given))) else None

    def _on_device(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        return value.kind is Kind.TENSOR and value.accelerated


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
