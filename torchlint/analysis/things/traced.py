"""Traced code: the functions that ``torch.compile`` records as graphs, and who compiles them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import argument, is_opaque, keyword, literal, method, receiver
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge.compilation import COMPILE, CONTAINERS, ITERATING, TRANSPARENT

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.scopes.guards import Guard

_NAMES = frozenset({"compile"})
_OTHER_CODE = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


class Traced(NamedTuple):
    """A function that runs as compiled code.

    ``root`` is the function that is compiled, which calls this one or is this one; ``compiler`` is the decorator or
    call that compiles it.
    """

    function: cst.FunctionDef
    root: cst.FunctionDef
    compiler: cst.CSTNode


class TracedCode:
    """Finds the functions of one module that ``torch.compile`` traces.

    They are the functions and ``forward`` methods that the file compiles, and those that these call on every path.
    What is compiled with ``fullgraph=True`` does not count: torch raises an error there where a graph ends.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    @cached_property
    def all(self) -> tuple[Traced, ...]:
        """The traced functions, in source order."""
        found: dict[cst.FunctionDef, Traced] = {}
        waiting = list(self._roots())
        while waiting:
            one = waiting.pop()
            if one.function in found or not self._is_looked_into(one.function):
                continue
            found[one.function] = one
            waiting += [Traced(called, one.root, one.compiler) for called in self._called(one.function)]
        return tuple(sorted(found.values(), key=lambda one: self._module.order(one.function)))

    def always(
        self, node: cst.CSTNode, function: cst.FunctionDef, *, unless: Callable[[Guard], bool] = lambda _: False
    ) -> bool:
        """Whether a node of a function itself runs whenever the function does, as far as conditions are concerned.

        Conditions that ``unless`` accepts do not count.
        """
        if next((a for a in self._module.ancestors(node) if isinstance(a, _OTHER_CODE)), None) is not function:
            return False
        return all(self._passes(guard) or unless(guard) for guard in self._module.guards(node, stop=function.body))

    def _passes(self, guard: Guard) -> bool:
        """Whether a guard is a ``try`` statement or a check of what is given: an ``assert``, an ``if`` that raises."""
        if guard.kind == "try" or isinstance(guard.node, cst.Assert):
            return True
        raises = isinstance(guard.node, cst.If) and not guard.holds and _raises(guard.node.body)
        return raises and guard.kind == "test"

    def leaves_uncompiled(self, node: cst.CSTNode, function: cst.FunctionDef) -> str | None:
        """The loop or ``try`` around a node, in words: a function whose graph would end in one is not compiled."""
        below = node
        for around in self._module.ancestors(node):
            if around is function:
                return None
            if isinstance(around, (cst.For, cst.While)) and below is around.body:
                return "a loop"
            if isinstance(around, (cst.Try, cst.TryStar)) and below is around.body:
                return "a `try` statement"
            below = around
        return None

    def _roots(self) -> Iterator[Traced]:
        names = self._module.aliases(_NAMES)
        for function in self._module.nodes_of(cst.FunctionDef, names):
            for decorator in function.decorators:
                if self._compiles(decorator.decorator):
                    yield Traced(function, function, decorator)
        for call in self._module.nodes_of(cst.Call, names):
            compiled = self._compiled_by(call)
            if compiled is not None and not _is_special(call):
                yield Traced(compiled, compiled, call)

    def _compiles(self, decorator: cst.BaseExpression) -> bool:
        """``@torch.compile``, ``@torch.compile(..)`` or ``@partial(torch.compile, ..)``."""
        if not isinstance(decorator, cst.Call):
            return self._module.qualified(decorator) in COMPILE
        name = self._module.qualified(decorator.func)
        if name == "functools.partial" and decorator.args:
            name = self._module.qualified(decorator.args[0].value)
        return name in COMPILE and not _is_special(decorator)

    def _compiled_by(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function that ``torch.compile(f)``, ``torch.compile(model)`` or ``model.compile()`` compiles."""
        if self._module.qualified(call.func) in COMPILE:
            return self._run_by(argument(call, "model", 0))
        if method(call) != "compile":
            return None
        model = receiver(call)
        value = self._module.value(model)
        own = isinstance(value.node, cst.ClassDef) and self._module.classes.method(value.node, "compile") is not None
        return self._run_by(model) if value.kind is Kind.MODULE and not own else None

    def _run_by(self, callee: cst.BaseExpression | None) -> cst.FunctionDef | None:
        """The function of the file that a call of an expression runs."""
        target = self._module.value(callee)
        if target.kind is Kind.FUNCTION and isinstance(target.node, cst.FunctionDef):
            return target.node
        if target.kind is Kind.MODULE and isinstance(target.node, cst.ClassDef):
            return self._module.classes.method(target.node, "forward")
        return None

    def _is_looked_into(self, function: cst.FunctionDef) -> bool:
        """Whether all its decorators are known to leave it as it stands."""
        names = (d.decorator.func if isinstance(d.decorator, cst.Call) else d.decorator for d in function.decorators)
        partial = (self._compiles(d.decorator) for d in function.decorators)
        known = all(
            self._module.qualified(name) in TRANSPARENT or is_compiler
            for name, is_compiler in zip(names, partial, strict=True)
        )
        return known and function.asynchronous is None and not self._module.functions.body(function).is_generator

    def _called(self, function: cst.FunctionDef) -> Iterator[cst.FunctionDef]:
        """The functions of the file that a function calls whenever it runs."""
        for call in self._module.within(function, cst.Call):
            called = self._run_by(call.func)
            if called is not None and self.always(call, function):
                yield called
        owner = self._module.class_of(function)
        if owner is not None and self._module.classes.is_module(owner):
            yield from self._forwarded(owner, function)

    def _forwarded(self, owner: cst.ClassDef, function: cst.FunctionDef) -> Iterator[cst.FunctionDef]:
        """``forward`` of the modules in the attributes that a method calls: ``for block in self.blocks: ..``."""
        reads = (a for a in self._module.within(function, cst.Attribute) if _is_own(a) and self.always(a, function))
        for name in dict.fromkeys(read.attr.value for read in reads if self._may_call(read)):
            for value, _ in self._module.classes.assignments(owner, name):
                calls = (call for call in self._module.within(value, cst.Call) if self._is_kept(call, value))
                made = (self._module.value(call.func) for call in calls)
                classes = [one.node for one in made if one.kind is Kind.CLASS and isinstance(one.node, cst.ClassDef)]
                for submodule in filter(self._module.classes.is_module, classes):
                    forward = self._module.classes.method(submodule, "forward")
                    if forward is not None:
                        yield forward

    def _may_call(self, read: cst.Attribute) -> bool:
        """Whether a module that is read is called: not for its weight or length, nor to see whether there is one."""
        parent = self._module.parent(read)
        if isinstance(parent, cst.Call):
            return parent.func is read
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and self._module.qualified(call.func) in ITERATING
        if isinstance(parent, cst.Attribute):
            return parent.attr.value in ("forward", "values", "items")
        iterated = isinstance(parent, (cst.For, cst.CompFor)) and parent.iter is read
        return iterated or (isinstance(parent, cst.Subscript) and parent.value is read)

    def _is_kept(self, call: cst.Call, value: cst.CSTNode) -> bool:
        """Whether what a call makes is always part of a value as it is, alone or in containers of modules."""
        if list(self._module.guards(call, stop=self._module.function_of(call))):
            return False
        below: cst.CSTNode = call
        for around in self._module.ancestors(call):
            if below is value:
                break
            taking = around.func if isinstance(around, cst.Call) and below is not around.func else None
            if taking is not None and (self._module.qualified(taking) or "") not in CONTAINERS:
                return False
            below = around
        return True


def _is_own(node: cst.Attribute) -> bool:
    return isinstance(node.value, cst.Name) and node.value.value == "self"


def _raises(block: cst.BaseSuite) -> bool:
    """Whether a block ends by raising an error."""
    last = block.body[-1] if block.body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, cst.Raise)


def _is_special(call: cst.Call) -> bool:
    """Whether the options of a compilation forbid breaks, switch it off, or are not known."""
    options = [keyword(call, name) for name in ("fullgraph", "disable")]
    return is_opaque(call) or any(option is not None and literal(option) is not False for option in options)
