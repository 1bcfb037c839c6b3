"""Iterators of data loaders from which one batch is taken: where they are made, and whether in every step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.rounds import rounds
from torchlint.analysis.syntax.calls import method, positional, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.loader import DataLoaders, Loader
from torchlint.analysis.values.lattice import Kind
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

# A loop over so few batches shows pictures, or warms something up.
_FEW = 10
# Functions that pass the items of one iterable on, each with something beside it.
_PASSING_ON = frozenset({"builtins.enumerate", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm"})


class Restart(NamedTuple):
    """An iterator that is made in every step; ``place`` is the expression for the loader.

    ``node`` is what takes the batch: ``next(iter(loader))``, ``iter(loader)`` or the iterable of a loop.
    """

    node: cst.CSTNode
    place: cst.BaseExpression
    loader: Loader | None


class Restarts:
    """The iterators of loaders in one module that are made in every step, each for a single batch."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._loaders = module.shared(DataLoaders)

    def at_call(self, call: cst.Call) -> Restart | None:
        """The restart that ``iter(loader)`` or ``loader.__iter__()`` is."""
        place = self._iterated(call)
        if place is None or not self._is_loader(place) or not self._in_every_step(call, place):
            return None
        taking = self._taking(call)
        return Restart(taking, place, self._loader(place)) if taking is not None else None

    def loops_over(self, loader: Loader) -> list[Restart]:
        """The loops over a loader in every step whose first iteration ends with ``break``."""
        return [found for found in self._loops if found.loader is loader]

    @cached_property
    def _loops(self) -> list[Restart]:
        found = (self._at_loop(loop) for loop in self._module.nodes_of(cst.For))
        return [restart for restart in found if restart is not None]

    def _at_loop(self, loop: cst.For) -> Restart | None:
        heat = self._module.heat_analysis
        if heat.may_repeat(loop) or not _has_more_than_break(loop):
            return None
        place = self._passed_on(loop.iter)
        loader = self._loader(place)
        if loader is None or not self._is_loader(place) or not self._in_every_step(loop, place):
            return None
        return Restart(loop.iter, place, loader)

    def made_again(self, loader: Loader) -> Heat | None:
        """How often a loader is constructed with the same arguments; None if only once, or with others each time."""
        loop = self._loop_around(loader.call)
        heat = self._module.heat(loader.call)
        if loop is None or heat is Heat.ONCE or self._is_short(loop) or self._is_conditional(loader.call, loop):
            return None
        values = [arg.value for arg in loader.call.args]
        return heat if all(self._stays(value, loop) for value in values) else None

    # -- which loader ------------------------------------------------------------------------------

    def _iterated(self, call: cst.Call) -> cst.BaseExpression | None:
        if self._module.qualified(call.func) == "builtins.iter" and len(call.args) == 1:
            return positional(call, 0)
        return receiver(call) if method(call) == "__iter__" and not call.args else None

    def _is_loader(self, place: cst.BaseExpression) -> bool:
        return isinstance(place, (cst.Name, cst.Attribute)) and self._module.value(place).kind is Kind.LOADER

    def _loader(self, place: cst.BaseExpression) -> Loader | None:
        return self._loaders.iterated_by(place)

    def _passed_on(self, iterable: cst.BaseExpression) -> cst.BaseExpression:
        """The loader in ``enumerate(tqdm(loader))``."""
        while isinstance(iterable, cst.Call) and self._module.qualified(iterable.func) in _PASSING_ON:
            first = positional(iterable, 0)
            if first is None:
                break
            iterable = first
        return iterable

    # -- what is taken from the iterator -----------------------------------------------------------

    def _taking(self, call: cst.Call) -> cst.CSTNode | None:
        """What takes single batches from a new iterator; None if something may take all of them."""
        taken = self._next_of(call)
        if taken is not None:
            return taken
        parent = self._module.parent(call)
        target = parent.targets[0].target if isinstance(parent, cst.Assign) and len(parent.targets) == 1 else None
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self._module.uses(binding) if binding is not None else []
        loop = self._loop_around(call)
        own = [self._next_of(use) is not None and self._loop_around(use) is loop for use in uses]
        return call if own and all(own) else None

    def _next_of(self, iterator: cst.CSTNode) -> cst.Call | None:
        """The call ``next(iterator)`` or ``iterator.__next__()``."""
        call = self._module.call_with_argument(iterator)
        if call is not None:
            return call if self._module.qualified(call.func) == "builtins.next" and len(call.args) == 1 else None
        attribute = self._module.parent(iterator)
        called = self._module.parent(attribute) if isinstance(attribute, cst.Attribute) else None
        return called if isinstance(called, cst.Call) and method(called) in ("__next__", "next") else None

    # -- how often ---------------------------------------------------------------------------------

    def _loop_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        loops, _ = self._module.heat_analysis.enclosing_loops(node)
        return loops[0] if loops else None

    def _in_every_step(self, node: cst.CSTNode, place: cst.BaseExpression) -> bool:
        """Whether a node runs in every step, unconditionally, and for the same loader each time."""
        if self._module.heat(node).rank < Heat.STEP.rank or self._module.in_test(node):
            return False
        loops, function = self._module.heat_analysis.enclosing_loops(node)
        around = loops[0] if loops else function
        if around is None or any(map(self._is_short, loops)) or self._is_conditional(node, around):
            return False
        return self._stays(place, around)

    def _is_short(self, loop: cst.CSTNode) -> bool:
        count = rounds(self._module, loop)
        return count is not None and count <= _FEW

    def _is_conditional(self, node: cst.CSTNode, around: cst.CSTNode) -> bool:
        """Whether a condition within a loop or function decides whether a node runs."""
        return any(self._decides(guard, around) for guard in self._module.guards(node, stop=around))

    def _decides(self, guard: Guard, around: cst.CSTNode) -> bool:
        return guard.node is not around and guard.kind not in ("try", "decorator")

    def _stays(self, value: cst.BaseExpression, around: cst.CSTNode) -> bool:
        """Whether an expression, and what it refers to, is the same in every pass through a loop or function."""
        for node in (value, *descendants(value)):
            if isinstance(node, cst.Call) and not (self._module.qualified(node.func) or "").startswith("os."):
                return False
            if isinstance(node, cst.Name) and not self._name_stays(node, around):
                return False
            if isinstance(node, cst.Attribute) and self._is_stored(node, around):
                return False
        return True

    def _name_stays(self, name: cst.Name, around: cst.CSTNode) -> bool:
        bindings = self._module.definitions(name)
        inside = any(around in self._module.ancestors(binding.node) for binding in bindings)
        parameter = isinstance(around, cst.FunctionDef) and any(binding.kind == "parameter" for binding in bindings)
        return not inside or parameter

    def _is_stored(self, attribute: cst.Attribute, around: cst.CSTNode) -> bool:
        named = self._module.attributes_named(attribute.attr.value, around)
        return any(isinstance(self._module.parent(node), cst.AssignTarget) for node in named)

    def changed_in(self, loader: Loader) -> bool:
        """Whether the loop around a loader uses its dataset or sampler otherwise, and so may change it."""
        loop = self._loop_around(loader.call)
        given = [*loader.arguments("dataset"), *loader.arguments("sampler"), *loader.arguments("batch_sampler")]
        names = {name.value for value in given for name in _names(value) if name.value != "self"}
        used = (name for name in _names(loop) if name.value in names) if loop is not None else iter(())
        return any(loader.call not in self._module.ancestors(name) for name in used)


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    return (name for name in (node, *descendants(node)) if isinstance(name, cst.Name))


def _has_more_than_break(loop: cst.For) -> bool:
    """Whether a loop does something with its batch; else it is there for the random numbers that it draws."""
    body = loop.body
    lines = [line for line in body.body if isinstance(line, cst.SimpleStatementLine)]
    small = [one for line in lines for one in line.body]
    return len(lines) != len(body.body) or not all(isinstance(one, (cst.Break, cst.Pass)) for one in small)
