"""TL204: where a tensor goes that is still being copied to the host, and which expression reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.repetition import COMPREHENSIONS
from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import method, receiver
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.catalogue.functions import TENSOR_ATTRIBUTES
from torchlint.catalogue.views import METADATA
from torchlint.knowledge import transfers as known
from torchlint.knowledge.tensors import gives_tensor

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_IDENTITY = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
_DISPLAYS = (cst.Tuple, cst.List, cst.Set)


class Fate(NamedTuple):
    """What becomes of a tensor.

    ``read`` is the expression that reads it, ``name`` a variable that holds it from now on, and ``container`` says that
    it holds a list, tuple or dict with the tensor. Without ``read`` and ``name`` nothing reads the tensor there, and if
    ``lost``, what happens to it is not known.
    """

    read: cst.CSTNode | None = None
    name: str | None = None
    container: bool = False
    lost: bool = False


_UNUSED, _LOST = Fate(), Fate(lost=True)


class Fates:
    """Follows expressions that share the memory of a tensor."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def of(self, node: cst.CSTNode, *, container: bool = False) -> Fate:
        """What becomes of the tensor that an expression evaluates to, or of those in a container."""
        while True:
            parent = self._module.parent(node)
            if isinstance(parent, cst.Element | cst.DictElement | cst.CompFor | cst.Index):
                found = self._of_part(parent, node)
            elif isinstance(parent, cst.Attribute):
                found = self._of_attribute(parent)
            elif isinstance(parent, cst.Arg):
                found = self._of_argument(parent, container=container)
            else:
                found = self._of_parent(parent, node, container=container)
            if isinstance(found, Fate):
                return found
            container = container or isinstance(found, (*_DISPLAYS, cst.Dict, *COMPREHENSIONS))
            container = container and not isinstance(found, cst.Subscript)
            node = found

    def _of_part(self, part: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode | Fate:
        around = self._module.parent(part)
        if isinstance(part, cst.CompFor):
            return Fate(name=dotted(part.target)) if node is part.iter and dotted(part.target) else _LOST
        if isinstance(part, cst.Index):  # of a subscript
            while not isinstance(around, cst.Subscript) and around is not None:
                around = self._module.parent(around)
            return Fate(read=around)
        if isinstance(part, cst.DictElement) and node is not part.value:
            return _LOST
        return self._unpacked(around, part) or around or _LOST

    def _unpacked(self, display: cst.CSTNode | None, part: cst.CSTNode) -> Fate | None:
        """The variable to which ``a, b = x, y`` assigns an element of the right-hand side."""
        parent = self._module.parent(display) if isinstance(display, cst.Tuple) else None
        if not isinstance(parent, cst.Assign) or not isinstance(display, cst.Tuple):
            return None
        target = parent.targets[0].target
        if not isinstance(target, cst.Tuple):
            return None
        if len(target.elements) != len(display.elements):
            return _LOST
        name = dotted(target.elements[display.elements.index(part)].value)
        return Fate(name=name) if name else _LOST

    def _of_attribute(self, parent: cst.Attribute) -> cst.CSTNode | Fate:
        call, verb = self._module.parent(parent), parent.attr.value
        if not isinstance(call, cst.Call) or call.func is not parent:
            return parent if verb in TENSOR_ATTRIBUTES else _UNUSED if verb in METADATA else _LOST
        if verb in known.VIEWS:
            return call
        if verb in known.ELEMENT_READERS:
            return Fate(read=call)
        passive = verb in METADATA or verb in known.STORING_METHODS or verb in ("to", "cuda", "copy_")
        return _UNUSED if passive else _LOST

    def _of_argument(self, arg: cst.Arg, *, container: bool) -> cst.CSTNode | Fate:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return _LOST
        name = self._module.qualified(call.func)
        if name is None:
            owner = dotted(receiver(call)) if method(call) in known.STORING_METHODS else None
            return Fate(name=owner, container=True) if owner else _LOST
        if name in known.VIEW_FUNCTIONS:
            return call
        if name in ("builtins.print", "builtins.str", "builtins.repr") or (
            name in known.READING_BUILTINS and not container
        ):
            return Fate(read=call)
        if name in known.PASSIVE_BUILTINS:
            return _UNUSED if name in ("builtins.len", "builtins.isinstance", "builtins.type") else _LOST
        return Fate(read=call) if _reads_arguments(name) else _LOST

    def _of_parent(self, parent: cst.CSTNode | None, node: cst.CSTNode, *, container: bool) -> cst.CSTNode | Fate:
        """What becomes of a tensor directly below a node that is no part of a call or a display."""
        if isinstance(parent, (cst.If, cst.While, cst.Assert, cst.IfExp)) and node is parent.test:
            return _LOST if container else Fate(read=node)
        if isinstance(parent, (cst.Subscript, *_DISPLAYS, cst.Dict, cst.IfExp, *COMPREHENSIONS)):
            stored = isinstance(self._module.parent(parent), (cst.AssignTarget, cst.AugAssign, cst.Del))
            return _UNUSED if stored else parent
        if isinstance(parent, (cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.ComparisonTarget)):
            return self._operand(parent, container=container)
        if isinstance(parent, cst.Comparison):
            identity = all(isinstance(target.operator, _IDENTITY) for target in parent.comparisons)
            return _UNUSED if identity else _LOST if container else Fate(read=parent)
        if isinstance(parent, cst.FormattedStringExpression):
            return Fate(read=self._module.parent(parent))
        if isinstance(parent, cst.For) and node is parent.iter:
            return Fate(name=dotted(parent.target)) if dotted(parent.target) else _LOST
        return self._of_statement(parent, node, container=container)

    def _operand(self, parent: cst.CSTNode, *, container: bool) -> cst.CSTNode | Fate:
        if isinstance(parent, cst.ComparisonTarget):
            if isinstance(parent.operator, _IDENTITY):
                return _UNUSED
            parent = self._module.parent(parent) or parent
        if not container:
            return Fate(read=parent)
        return parent if isinstance(parent, cst.BinaryOperation) else _LOST

    def _of_statement(self, parent: cst.CSTNode | None, node: cst.CSTNode, *, container: bool) -> Fate:
        if isinstance(parent, cst.Expr):
            return _UNUSED
        if isinstance(parent, cst.AugAssign):
            return _LOST if container or node is not parent.value else Fate(read=parent)
        if isinstance(parent, (cst.AnnAssign, cst.Assign)) and node is parent.value:
            target = parent.target if isinstance(parent, cst.AnnAssign) else parent.targets[0].target
            if isinstance(target, cst.Subscript):
                return self._stored(target, parent)
            name = dotted(target)
            return Fate(name=name, container=container) if name else _LOST
        return _LOST

    def _stored(self, target: cst.Subscript, statement: cst.CSTNode) -> Fate:
        """What becomes of ``y`` in ``x[i] = y``: a tensor or an array on the host copies it at once."""
        whole, name = self._module.value(target.value), dotted(target.value)
        if whole.kind is Kind.NDARRAY or (whole.kind is Kind.TENSOR and whole.device is Device.CPU):
            return Fate(read=statement)
        return Fate(name=name, container=True) if name and whole.kind in (Kind.DICT, Kind.LIST) else _LOST


def _reads_arguments(name: str) -> bool:
    """Whether a library function reads the elements of tensors or arrays that it is handed."""
    if name.startswith(("numpy.", "torch.nn.functional.")) or name == "torch.save":
        return not name.endswith("_like")
    module, _, function = name.rpartition(".")
    return module == "torch" and gives_tensor(function) and not function.endswith("_like")
