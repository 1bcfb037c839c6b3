"""Variables and attributes that refer to the same tensor, with the same content, in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import keyword, literal
from torchlint.knowledge.arrays import MUTATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Methods that run before the first step.
_INITIAL = ("__init__", "__post_init__", "setup")
_MUTATORS = MUTATORS | frozenset("append extend insert update pop popitem remove clear setdefault".split())
_GRADIENT = ("requires_grad", "requires_grad_", "grad")
_READING_ROOTS = ("torch", "numpy", "builtins", "math")


class Unchanged:
    """Decides in one module what stays the same from step to step."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def origin(self, node: cst.Name | cst.Attribute, place: cst.CSTNode) -> cst.CSTNode | None:
        """Where a variable, or an attribute of ``self``, gets the object that it has in every run of a place.

        The place is a loop or function. None if it may be another object in the next run, or may be modified in between
        or by an optimizer.
        """
        return self._variable(node, place) if isinstance(node, cst.Name) else self._attribute(node)

    # -- variables ---------------------------------------------------------------------------------

    def _variable(self, name: cst.Name, place: cst.CSTNode) -> cst.CSTNode | None:
        bindings = self._module.definitions(name)
        if not bindings or any(b.kind not in ("assign", "parameter") for b in bindings):
            return None
        for binding in bindings:
            if self._within(binding.node, place) or self._is_trained(binding.value):
                return None
            uses = self._module.uses(binding)
            if any(self._lasts(use, binding, place) and self._may_write(use) for use in uses):
                return None
            if any(self._learns(use) for use in uses):
                return None
        return bindings[0].statement

    def _lasts(self, use: cst.Name, binding: Binding, place: cst.CSTNode) -> bool:
        """Whether a use may run between two steps, rather than before the first one."""
        if self._within(use, place):
            return True
        return self._module.function_of(use) is not self._module.function_of(binding.node)

    def _within(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        return any(around is outer for around in self._module.ancestors(node))

    # -- attributes --------------------------------------------------------------------------------

    def _attribute(self, node: cst.Attribute) -> cst.CSTNode | None:
        """As above, for an attribute that only the constructor assigns, and that is no state of a module."""
        owner = self._module.class_of(node)
        if owner is None or not _is_self(node.value):
            return None
        given = [value for value, _ in self._module.classes.assignments(owner, node.attr.value)]
        if not given or not all(map(self._is_initial, given)) or any(map(self._is_trained, given)):
            return None
        if self._module.classes.is_state(owner, node.attr.value):
            return None
        reads = [read for read in self._module.attributes_named(node.attr.value) if self._may_be_of(read, owner)]
        written = any(self._may_write(read) for read in reads if not (_is_self(read.value) and self._is_initial(read)))
        return None if written or any(map(self._learns, reads)) else given[0]

    def _is_initial(self, node: cst.CSTNode) -> bool:
        """Whether a node runs before the first step: in the constructor, or in the body of the class."""
        function = self._module.function_of(node)
        return function is None or function.name.value in _INITIAL

    def _may_be_of(self, read: cst.Attribute, owner: cst.ClassDef) -> bool:
        around = self._module.class_of(read) if _is_self(read.value) else None
        return around is None or around is owner or self._module.classes.inherits(around, owner)

    # -- writes ------------------------------------------------------------------------------------

    def _is_trained(self, made: cst.CSTNode | None) -> bool:
        """Whether a tensor is created with gradients, so that an optimizer may change it."""
        wanted = keyword(made, "requires_grad") if isinstance(made, cst.Call) else None
        return wanted is not None and literal(wanted) is not False

    def _learns(self, use: cst.CSTNode) -> bool:
        """``x.requires_grad_()``, ``x.grad``, or ``x`` in a list or call that an optimizer or a container gets."""
        parent = self._module.parent(use)
        if isinstance(parent, cst.Attribute):
            return parent.value is use and parent.attr.value in _GRADIENT
        if isinstance(parent, (cst.Element, cst.DictElement)):
            return True
        call = self._module.call_with_argument(use)
        return call is not None and (self._module.qualified(call.func) or "").startswith("torch.optim")

    def _may_write(self, use: cst.CSTNode) -> bool:
        """Whether a use replaces or modifies the object, or hands it to code that may."""
        node, parent = use, self._module.parent(use)
        while isinstance(parent, (cst.Subscript, cst.Attribute)) and parent.value is node:
            call = self._module.parent(parent)
            if isinstance(parent, cst.Attribute) and isinstance(call, cst.Call) and call.func is parent:
                return _writes(parent.attr.value)
            node, parent = parent, self._module.parent(parent)
        if isinstance(parent, cst.Arg):
            return self._is_handed_over(parent)
        if isinstance(parent, (cst.Assign, cst.NamedExpr)):
            return True  # another name, under which it may be modified
        return isinstance(parent, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.Del))

    def _is_handed_over(self, arg: cst.Arg) -> bool:
        """Whether a call gets the object that may write to it: any but those of functions of torch and NumPy."""
        call = self._module.parent(arg)
        name = self._module.qualified(call.func) if isinstance(call, cst.Call) else None
        given_out = arg.keyword is not None and arg.keyword.value == "out"
        if name is None or given_out or name.startswith("torch.nn.init"):
            return True
        return name.partition(".")[0] not in _READING_ROOTS or name.endswith("_")


def _writes(name: str) -> bool:
    return name in _MUTATORS or (name.endswith("_") and not name.endswith("__"))


def _is_self(node: cst.BaseExpression) -> bool:
    return dotted(node) == "self"
