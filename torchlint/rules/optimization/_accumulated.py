"""Losses that are added up, or kept in a list, from step to step, together with their autograd graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.rounds import rounds
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword, literal, method, positional, receiver
from torchlint.analysis.values.lattice import Kind
from torchlint.catalogue.views import FACTORIES
from torchlint.knowledge.heat import NO_GRADIENTS
from torchlint.knowledge.tensors import LEGACY
from torchlint.model import Heat

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.bindings import Binding, Path

_FEW = 8  # rounds, whose graphs need little memory
_BACKWARD = frozenset({"backward", "manual_backward"})
_SUMS = (cst.Add, cst.Subtract)
_REDUCTIONS = frozenset({"mean", "sum"})
_RETAINING = ("retain_graph", "create_graph")
# Methods whose result has the graph of the tensor.
_CARRYING = frozenset("mean sum cpu to cuda clone float double half view reshape squeeze unsqueeze".split())
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)
# Methods of an accumulator that end what it keeps.
_RELEASING = frozenset("clear pop popleft remove detach_ zero_ fill_ backward".split())
# Methods whose result has none.
_DETACHING = frozenset({"item", "detach", "tolist"})
_NO_TENSORS = (Kind.SCALAR, Kind.NDARRAY, Kind.NUMPY_SCALAR)
_LISTS = frozenset({"builtins.list", "builtins.dict", "collections.defaultdict", "collections.OrderedDict"})


class KeptGraph(NamedTuple):
    """A loss that outlives its step with its graph.

    ``loss`` is the variable or call that is added to ``accumulator``; ``listed`` means that it is appended to a list,
    and ``until_reset`` that the accumulator starts anew every so many steps.
    """

    accumulator: cst.Name
    loss: cst.BaseExpression
    listed: bool
    until_reset: bool


class _Addition(NamedTuple):
    statement: cst.CSTNode
    accumulator: cst.Name
    added: cst.BaseExpression
    listed: bool


class KeptGraphs:
    """Finds them in the loops of one module that make a step in each iteration."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._heat = module.heat_analysis
        self._open: set[cst.FunctionDef] = set()

    def of(self, loop: cst.For | cst.While) -> Iterator[KeptGraph]:
        """The losses that a loop keeps, in source order."""
        calls = [call for call in self._module.within(loop.body, cst.Call) if method(call) in _BACKWARD]
        calls = [call for call in calls if self._is_in(call, loop)]
        starts = [start for call in calls for start in _terms(_differentiated(call))]
        if any(map(_retains, calls)) or self._is_part_of_step(loop):
            return
        consumed = self._definitions_of(starts)
        losses = consumed | self._terms_of(consumed)
        for addition in self._additions(loop):
            loss = self._loss(addition.added, losses)
            if loss is None or not self._is_kept(addition, loop, starts):
                continue
            rebound = self._rebound(addition, loop)
            if all(self._is_rare_reset(binding, loop) for binding in rebound):
                yield KeptGraph(addition.accumulator, loss, addition.listed, bool(rebound))

    def _is_part_of_step(self, loop: cst.For | cst.While) -> bool:
        """Whether a loop makes few rounds, or accumulates the gradients of parts of a batch for one step after it."""
        count = rounds(self._module, loop)
        if count is not None and count <= _FEW:
            return True
        if isinstance(loop, cst.For) and self._heat.iterates_batches(loop):
            return False
        return not any(map(self._makes_step, self._module.within(loop.body, cst.Call)))

    def _makes_step(self, call: cst.Call) -> bool:
        name = (dotted(call.func) or method(call) or "").rpartition(".")[2]
        if "step" in name:
            return True
        callee = self._module.functions.callee(call)
        calls = self._module.within(callee.body, cst.Call) if callee is not None else ()
        return any(method(inner) == "step" for inner in calls)

    def _definitions_of(self, names: Iterable[cst.Name]) -> set[Binding]:
        return {binding for name in names for binding in self._module.definitions(name)}

    def _is_in(self, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
        """Whether a node runs in each iteration of a loop, rather than in a loop or function inside it."""
        return self._heat.enclosing_step(node) is loop and self._module.function_of(node) is self._module.function_of(
            loop
        )

    # -- what is added ---------------------------------------------------------------------------

    def _additions(self, loop: cst.For | cst.While) -> Iterator[_Addition]:
        found = [
            _Addition(aug, aug.target, *_listed(aug.value))
            for aug in self._module.within(loop.body, cst.AugAssign)
            if isinstance(aug.operator, cst.AddAssign) and isinstance(aug.target, cst.Name)
        ]
        for assign in self._module.within(loop.body, cst.Assign):
            found += _sums(assign)
        for call in self._module.within(loop.body, cst.Call):
            base, added = receiver(call), positional(call, 0)
            if method(call) == "append" and added is not None:
                while isinstance(base, cst.Subscript):
                    base = base.value
                if isinstance(base, cst.Name):
                    found.append(_Addition(call, base, added, listed=True))
        kept = [a for a in found if self._is_in(a.statement, loop)]
        yield from sorted(kept, key=lambda addition: self._module.order(addition.statement))

    def _loss(self, added: cst.BaseExpression, losses: set[Binding]) -> cst.BaseExpression | None:
        """The loss in what is added, if all of its definitions were differentiated."""
        if isinstance(added, cst.BinaryOperation) and isinstance(added.operator, _ARITHMETIC):
            return self._loss(added.left, losses) or self._loss(added.right, losses)
        if isinstance(added, cst.Call):
            inner = receiver(added)
            if inner is not None and method(added) in _CARRYING:
                return self._loss(inner, losses)
            return added if self._gives_loss(added, ()) else None
        if not isinstance(added, cst.Name) or self._module.value(added).kind in _NO_TENSORS:
            return None
        defined = self._module.definitions(added)
        if self._is_detached(added):
            return None
        return added if defined and all(self._is_loss(binding, losses) for binding in defined) else None

    def _is_detached(self, loss: cst.Name) -> bool:
        """Whether ``loss.detach_()`` is called for the same variable."""
        uses = (attribute.value for attribute in self._module.attributes_named("detach_"))
        defined = set(self._module.definitions(loss))
        return any(isinstance(use, cst.Name) and defined.intersection(self._module.definitions(use)) for use in uses)

    def _is_loss(self, binding: Binding, losses: set[Binding]) -> bool:
        if binding.kind not in ("assign", "augment") or method(binding.value or binding.node) in _DETACHING:
            return False
        return binding in losses or self._gives_loss(binding.value, binding.path)

    def _gives_loss(self, call: cst.BaseExpression | None, path: Path) -> bool:
        """Whether a call runs a function of the file that differentiates a loss and then returns it."""
        function = self._module.functions.callee(call) if isinstance(call, cst.Call) and len(path) < 2 else None
        if function is None or function in self._open:
            return False
        calls = [c for c in self._module.within(function.body, cst.Call) if method(c) in _BACKWARD]
        losses = self._definitions_of(start for c in calls for start in _terms(_differentiated(c)))
        returned = [_element(result.value, path) for result in self._module.functions.body(function).returns]
        if any(map(_retains, calls)) or not returned:
            return False
        self._open.add(function)
        given = [isinstance(r, cst.Name) and self._loss(r, losses) is not None for r in returned]
        self._open.discard(function)
        return all(given)

    def _terms_of(self, losses: set[Binding]) -> set[Binding]:
        """The variables that are computed, named like losses, and added up to a loss."""
        found: set[Binding] = set()
        work = list(losses)
        while work:
            binding = work.pop()
            for term in _terms(binding.value) if binding.value is not None and not binding.path else ():
                new = {b for b in self._module.definitions(term) if _is_computed(b)} - found
                if _is_loss_name(term.value):
                    found |= new
                    work += new
        return found

    # -- whether it stays ------------------------------------------------------------------------

    def _is_kept(self, addition: _Addition, loop: cst.CSTNode, starts: list[cst.Name]) -> bool:
        if self._module.heat(addition.statement).rank < Heat.STEP.rank or self._without_gradients(addition):
            return False
        if any(self._module.exclusive(addition.statement, start) for start in starts):
            return False
        initial = [b for b in self._module.definitions(addition.accumulator) if not self._is_below(b.node, loop)]
        if not initial or not all(self._starts_empty(b, listed=addition.listed) for b in initial):
            return False
        return not any(self._is_in_step(b.node) for b in initial) and not self._is_released(addition, loop, starts)

    def _without_gradients(self, addition: _Addition) -> bool:
        """Whether a sum is computed without gradients, so that it has no graph; a list keeps that of its members."""
        around = (a for a in self._module.ancestors(addition.statement) if isinstance(a, cst.With))
        managers = (item.item for with_ in around for item in with_.items)
        names = (self._module.qualified(m.func) for m in managers if isinstance(m, cst.Call))
        return not addition.listed and any(name in NO_GRADIENTS for name in names)

    def _starts_empty(self, binding: Binding, *, listed: bool) -> bool:
        """Whether the accumulator starts as a number, a tensor that a factory makes, or an empty list."""
        value = _element(binding.value, binding.path)
        if binding.kind != "assign" or value is None:
            return False
        if isinstance(value, (cst.List, cst.Dict)):
            return listed
        if isinstance(value, cst.Call):
            made = self._module.qualified(value.func)
            return made in (_LISTS if listed else FACTORIES | LEGACY.keys())
        return not listed and isinstance(literal(value), (int, float))

    def _is_in_step(self, node: cst.CSTNode) -> bool:
        """Whether the accumulator starts anew in each step of a loop or function around."""
        loops, function = self._heat.enclosing_loops(node)
        hot = function is not None and self._heat.function_heat(function).rank >= Heat.STEP.rank
        return hot or any(self._heat.loop_kind(loop) == "step" for loop in loops)

    def _is_released(self, addition: _Addition, loop: cst.CSTNode, starts: list[cst.Name]) -> bool:
        """Whether the accumulator is emptied or detached in the loop, or differentiated anywhere."""
        word = addition.accumulator.value
        for name in self._module.names_spelled(word, self._module.function_of(loop)):
            parent = self._module.parent(name)
            releases = isinstance(parent, cst.Attribute) and parent.attr.value in _RELEASING
            deleted = any(isinstance(around, cst.Del) for around in self._module.ancestors(name))
            if name in starts or ((releases or deleted) and self._is_below(name, loop)):
                return True
        return False

    def _rebound(self, addition: _Addition, loop: cst.CSTNode) -> list[Binding]:
        """The assignments in the loop that start the accumulator anew."""
        bindings = self._module.names.bindings(addition.accumulator)
        inside = [b for b in bindings if self._is_below(b.node, loop)]
        return [b for b in inside if b.kind != "augment" and b.statement is not addition.statement]

    def _is_rare_reset(self, binding: Binding, loop: cst.CSTNode) -> bool:
        """Whether an assignment runs every so many steps, but not just when accumulated gradients are applied."""
        around = (a for a in self._module.ancestors(binding.node) if isinstance(a, cst.If) and self._is_below(a, loop))
        calls = (call for test in around for call in self._module.within(test, cst.Call))
        updates = any(method(call) == "step" and self._heat.is_step_call(call) for call in calls)
        return not updates and self._heat.is_throttled(binding.node, loop)

    def _is_below(self, node: cst.CSTNode, loop: cst.CSTNode) -> bool:
        return any(around is loop for around in self._module.ancestors(node))


def _differentiated(call: cst.Call) -> cst.BaseExpression:
    """The loss of ``loss.backward()``, ``scaler.scale(loss).backward()`` and ``accelerator.backward(loss)``."""
    given, base = positional(call, 0), receiver(call)
    if given is not None:
        return given
    if isinstance(base, cst.Call) and method(base) == "scale":
        return argument(base, "outputs", 0) or base
    return base if base is not None else call


def _retains(call: cst.Call) -> bool:
    given = [keyword(call, name) for name in _RETAINING]
    return any(value is not None and literal(value) not in (False, None) for value in given)


def _listed(added: cst.BaseExpression) -> tuple[cst.BaseExpression, bool]:
    """What ``losses += [loss]`` or ``total += loss`` adds, and whether it is a list that keeps it."""
    if isinstance(added, cst.List) and len(added.elements) == 1:
        return added.elements[0].value, True
    return added, False


def _sums(assign: cst.Assign) -> Iterator[_Addition]:
    """``total = total + loss``."""
    target, value = assign.targets[0].target, assign.value
    if not isinstance(target, cst.Name) or not isinstance(value, cst.BinaryOperation):
        return
    if isinstance(value.operator, cst.Add):
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if isinstance(one, cst.Name) and one.value == target.value:
                yield _Addition(assign, one, other, listed=False)


def _terms(node: cst.BaseExpression) -> Iterator[cst.Name]:
    """The variables that are added up in an expression, each perhaps multiplied by a weight."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, cst.BinaryOperation):
        if isinstance(node.operator, (*_SUMS, cst.Multiply, cst.Divide)):
            yield from _terms(node.left)
        if isinstance(node.operator, (*_SUMS, cst.Multiply)):
            yield from _terms(node.right)
    elif isinstance(node, cst.Call) and method(node) in _REDUCTIONS and not node.args:
        inner = receiver(node)
        if isinstance(inner, cst.BinaryOperation):
            yield from _terms(inner)


def _is_computed(binding: Binding) -> bool:
    """Whether a call or an operation gives the value, rather than a setting."""
    return binding.kind == "assign" and isinstance(binding.value, (cst.Call, cst.BinaryOperation))


def _is_loss_name(name: str) -> bool:
    words = name.lower().strip("_").split("_")
    return "weight" not in words and any(word.startswith("loss") or word.endswith("loss") for word in words)


def _element(value: cst.BaseExpression | None, path: Path) -> cst.BaseExpression | None:
    """What a path of unpacking takes from the display of a tuple or list; None if it is not certain."""
    for step in path:
        elements = value.elements if isinstance(value, (cst.Tuple, cst.List)) else ()
        starred = any(isinstance(element, cst.StarredElement) for element in elements)
        value = elements[step].value if isinstance(step, int) and step < len(elements) and not starred else None
    return value
