"""Lifetimes: whether an object is modified or used again after a place in the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import keyword, literal, method, receiver
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.semantics import memory
from torchlint.knowledge import arrays as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_LOOPS = (cst.For, cst.While)
_FUNCTIONS = (cst.FunctionDef, cst.Lambda)


class Lifetimes:
    """The lifetimes of the objects that names and attributes of one module refer to."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def reused(self, node: cst.BaseExpression) -> cst.CSTNode | None:
        """Where the object that an expression reads, or one that shares its memory, is used again; None if nowhere.

        Uses are reads after the expression (except of the shape), and writes anywhere in a loop around it, or anywhere
        in the class if an attribute refers to the object. A call that fills an array is one as well: it fills it again.
        """
        filled = self._filled_by(node)
        if filled is not None:
            return filled
        for holder in self._holders(node):
            if isinstance(holder, cst.Attribute):
                again = self._written_in_class(holder)
            else:
                again = self._used_again(holder, node)
            if again is not None:
                return again
        return None

    # -- memory ------------------------------------------------------------------------------------

    def _holders(self, node: cst.CSTNode) -> Iterator[cst.Attribute | Binding]:
        """The names and attributes whose memory an expression may share, through views."""
        seen: set[Binding] = set()
        stack: list[cst.CSTNode] = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, cst.Name):
                for binding in self._module.definitions(current):
                    if binding not in seen:
                        seen.add(binding)
                        yield binding
                        if binding.value is not None:
                            stack.append(binding.value)
            elif isinstance(current, cst.Attribute) and _is_self(current.value):
                yield current
            else:
                stack += self._memory_sources(current)

    def _memory_sources(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The expressions whose memory another expression may share; none if it allocates new memory."""
        if isinstance(node, (cst.Subscript, cst.Attribute)):
            return [node.value]
        if isinstance(node, cst.IfExp):
            return [node.body, node.orelse]
        if not isinstance(node, cst.Call) or self._module.value(node).fresh:
            return []
        filled = self._filled_by(node)
        if filled is not None:
            return [filled]
        source = receiver(node)
        if source is None or self._module.qualified(node.func) is not None:
            return [arg.value for arg in node.args[:1]]
        return [source]

    def _filled_by(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """The array that a call of a function or method of NumPy fills and returns, or None."""
        if not isinstance(node, cst.Call) or self._module.value(node).kind is not Kind.NDARRAY:
            return None
        filled = memory.output(node, self._module.qualified(node.func) or f"numpy.ndarray.{method(node)}")
        return filled if literal(filled) is not None else None

    # -- names -------------------------------------------------------------------------------------

    def _used_again(self, binding: Binding, place: cst.CSTNode) -> cst.CSTNode | None:
        loop = self._repeating_loop(binding.node, place)
        for use in self._module.uses(binding):
            if self._within(use, place) or reads_no_elements(self._module, use):
                continue
            later = self._module.comes_before(place, use) and not self._module.exclusive(place, use)
            again_in_loop = loop is not None and self._within(use, loop) and self._may_write(use)
            if later or again_in_loop or self._accesses_flags(use):
                return use
        for write in self._augmented(binding):
            if self._module.comes_before(place, write) or (loop is not None and self._within(write, loop)):
                return write
        return None

    def _augmented(self, binding: Binding) -> list[cst.CSTNode]:
        """The augmented assignments of a variable: ``a += b`` modifies the array that ``a`` refers to."""
        scope = self._module.names.scope_at(binding.node)
        return [b.node for b in scope.bindings.get(binding.name, []) if b.kind == "augment"]

    def _repeating_loop(self, definition: cst.CSTNode, place: cst.CSTNode) -> cst.CSTNode | None:
        """The outermost loop that repeats the place but not the definition."""
        found = None
        for around in self._module.ancestors(place):
            if self._within(definition, around):
                break
            if isinstance(around, _LOOPS):
                found = around
            if isinstance(around, _FUNCTIONS):
                break
        return found

    def _within(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        return node is outer or any(around is outer for around in self._module.ancestors(node))

    def _accesses_flags(self, use: cst.Name) -> bool:
        parent = self._module.parent(use)
        return isinstance(parent, cst.Attribute) and parent.attr.value in ("flags", "setflags")

    def _may_write(self, use: cst.Name) -> bool:
        """Whether a name is the target of an in-place write, or is passed to a function that may write to it."""
        node: cst.CSTNode = use
        parent = self._module.parent(node)
        while isinstance(parent, (cst.Subscript, cst.Attribute)) and parent.value is node:
            if isinstance(parent, cst.Attribute) and parent.attr.value in known.MUTATORS:
                return True
            node, parent = parent, self._module.parent(parent)
        if isinstance(parent, (cst.AssignTarget, cst.AugAssign, cst.Del)):
            return node is not use or isinstance(parent, cst.AugAssign)
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return not isinstance(call, cst.Call) or self._argument_written(call, parent)
        return False

    def _argument_written(self, call: cst.Call, arg: cst.Arg) -> bool:
        name = self._module.qualified(call.func)
        if arg.keyword is not None and arg.keyword.value == "out":
            return True
        if name is None:
            return method(call) not in ("append", "add", "put", "extend")
        return name in known.WRITING_FUNCTIONS or not name.startswith(("numpy.", "torch.", "builtins.", "math."))

    # -- attributes --------------------------------------------------------------------------------

    def _written_in_class(self, attribute: cst.Attribute) -> cst.CSTNode | None:
        """A write into the array of an attribute, anywhere in the class."""
        owner = self._module.class_of(attribute)
        if owner is None:
            return None
        name = attribute.attr.value
        names = frozenset((name,))
        found: list[cst.CSTNode] = []
        for kind in _STORES:
            found += [node for node in self._module.within(owner, kind, names) if _stores_into(node, name)]
        found += [call for call in self._module.within(owner, cst.Call, names) if self._call_writes(call, name)]
        return min(found, key=self._module.order, default=None)

    def _call_writes(self, call: cst.Call, name: str) -> bool:
        source = receiver(call)
        if source is not None and method(call) in known.MUTATORS and _is_attribute(source, name):
            return True
        out = keyword(call, "out")
        if out is not None and _is_attribute(out, name):
            return True
        written = self._module.qualified(call.func) in known.WRITING_FUNCTIONS
        return written and any(_is_attribute(arg.value, name) for arg in call.args[:1])


_STORES: tuple[type[cst.CSTNode], ...] = (cst.AssignTarget, cst.AugAssign)


def reads_no_elements(module: SourceModule, use: cst.Name) -> bool:
    """Whether a use of an array reads no elements: its shape, its length, or a comparison with None."""
    parent = module.parent(use)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in known.SHAPE_ATTRIBUTES
    if isinstance(parent, cst.Comparison):
        return all(isinstance(c.operator, (cst.Is, cst.IsNot)) for c in parent.comparisons)
    call = module.call_with_argument(use)
    return call is not None and module.qualified(call.func) in ("builtins.len", "builtins.type")


def _stores_into(node: cst.CSTNode, name: str) -> bool:
    if not isinstance(node, (cst.AssignTarget, cst.AugAssign)):
        return False
    target = node.target
    if isinstance(node, cst.AugAssign) and _is_attribute(target, name):
        return True
    return isinstance(target, cst.Subscript) and _is_attribute(target.value, name)


def _is_attribute(node: cst.CSTNode, name: str) -> bool:
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value == name and _is_self(node.value)


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"
