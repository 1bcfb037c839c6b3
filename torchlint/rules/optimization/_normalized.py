"""Finds convolutions with a bias whose output goes to batch normalization, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import bind, keyword, literal, method, positional
from torchlint.knowledge.layers import BATCH_NORMS, CONVOLUTIONS, SEQUENTIAL
from torchlint.prefilter.needs import identifier_parts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Weights from elsewhere may need a bias, and code that merges convolutions with what follows reads it.
_NEEDS_BIAS = identifier_parts(
    "pretrained", "load_state", "load_url", "model_url", "deploy", "fuse", "reparam", "quant"
)
_ORDERED = ("collections.OrderedDict", "OrderedDict")


class NormalizedConvolutions:
    """The convolutions of one module whose bias has no effect."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._needs_bias = module.text_index.has(_NEEDS_BIAS)

    def has_useless_bias(self, call: cst.Call) -> bool:
        """Whether a call constructs a convolution with a bias that batch normalization cancels."""
        known = CONVOLUTIONS.get(self._module.qualified(call.func) or "")
        if known is None or self._needs_bias or not _has_bias(call, known.parameters):
            return False
        parent = self._module.parent(call)
        if isinstance(parent, cst.Assign):
            return self._is_attribute_before_norm(call, parent)
        following = self._next_module(call)
        return following is not None and self._normalizes(following, known.dimensions)

    def _normalizes(self, node: cst.CSTNode | None, dimensions: int) -> bool:
        """Whether an expression constructs a batch norm for convolutions with so many dimensions."""
        if not isinstance(node, cst.Call) or keyword(node, "track_running_stats") is not None:
            return False
        return dimensions in BATCH_NORMS.get(self._module.qualified(node.func) or "", ())

    # -- members of nn.Sequential ------------------------------------------------------------------

    def _next_module(self, call: cst.Call) -> cst.BaseExpression | None:
        """The module after a member of ``nn.Sequential``."""
        parent = self._module.parent(call)
        around = self._module.parent(parent) if parent is not None else None
        if isinstance(parent, cst.Arg) and isinstance(around, cst.Call):
            if self._is_sequential(around):
                return self._after(parent, around.args)
            return self._appended_next(around) if method(around) == "append" else None
        if not isinstance(parent, cst.Element):
            return None
        if isinstance(around, cst.Tuple):  # ("name", module) in an ordered dictionary
            return self._next_named(around, parent)
        in_list = isinstance(around, cst.List) and self._is_list_of_sequential(around)
        return self._after(parent, around.elements) if in_list else None  # type: ignore[union-attr]

    def _after(self, member: cst.CSTNode, members: Sequence[cst.Arg | cst.BaseElement]) -> cst.BaseExpression | None:
        for before, following in pairwise(members):
            if before is member:
                starred = isinstance(following, cst.StarredElement) or (
                    isinstance(following, cst.Arg) and following.star
                )
                return None if starred else following.value
        return None

    def _next_named(self, pair: cst.Tuple, member: cst.Element) -> cst.BaseExpression | None:
        element = self._module.parent(pair)
        pairs = self._module.parent(element) if isinstance(element, cst.Element) else None
        if element is None or not isinstance(pairs, cst.List) or pair.elements[-1] is not member:
            return None
        ordered = self._module.call_with_argument(pairs)
        if ordered is None or self._module.qualified(ordered.func) not in _ORDERED:
            return None
        sequential = self._module.call_with_argument(ordered)
        if sequential is None or not self._is_sequential(sequential):
            return None
        following = self._after(element, pairs.elements)
        return following.elements[-1].value if isinstance(following, cst.Tuple) and following.elements else None

    def _is_sequential(self, call: cst.Call) -> bool:
        """Whether a call constructs an ``nn.Sequential`` whose members nothing looks at one by one."""
        return self._module.qualified(call.func) == SEQUENTIAL and not self._is_looked_into(call)

    def _is_looked_into(self, sequential: cst.Call) -> bool:
        """Whether code may call the members one by one, and do something between them."""
        parent = self._module.parent(sequential)
        if not isinstance(parent, cst.Assign):
            return self._is_passed_on(sequential)
        name, owner = self._attribute(sequential), self._class_around(sequential)
        if name is not None and owner is not None:
            return any(self._is_taken_apart(read) for read in self._module.classes.reads(owner, name))
        target = parent.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) else None
        return binding is None or any(map(self._is_taken_apart, self._module.uses(binding)))

    def _is_taken_apart(self, use: cst.BaseExpression) -> bool:
        """Neither ``self.features(x)`` nor ``self.features.parameters()``, but a loop or a subscript, for example."""
        parent = self._module.parent(use)
        if isinstance(parent, cst.Call):
            return parent.func is not use
        if isinstance(parent, (cst.AssignTarget, cst.Attribute, cst.Return, cst.Assign)):
            return False
        return not isinstance(parent, (cst.Arg, cst.Element)) or self._is_passed_on(use)

    def _is_passed_on(self, module: cst.BaseExpression) -> bool:
        """Whether a function that is neither one of torch nor a list's ``append`` gets a module."""
        call = self._module.call_with_argument(module)
        if call is None or method(call) in ("append", "add_module"):
            return False
        return not (self._module.qualified(call.func) or "").startswith("torch.nn.")

    def _is_list_of_sequential(self, display: cst.List) -> bool:
        """Whether a list becomes the members of ``nn.Sequential``: ``nn.Sequential(*[..])``, or through a variable."""
        parent = self._module.parent(display)
        if isinstance(parent, cst.Arg) and parent.star == "*":
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and self._is_sequential(call)
        if isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            return isinstance(call, cst.Call) and method(call) == "extend" and self._is_unpacked(call.func)
        if isinstance(parent, cst.AugAssign) and isinstance(parent.operator, cst.AddAssign):
            return self._is_unpacked(parent.target)
        return (
            isinstance(parent, cst.Assign) and len(parent.targets) == 1 and self._is_unpacked(parent.targets[0].target)
        )

    def _appended_next(self, call: cst.Call) -> cst.BaseExpression | None:
        """What the next statement appends to the same list."""
        statement = self._module.parent(call)
        line = self._module.parent(statement) if isinstance(statement, cst.Expr) else None
        block = self._module.parent(line) if isinstance(line, cst.SimpleStatementLine) else None
        if not isinstance(block, cst.IndentedBlock) or not self._is_unpacked(call.func):
            return None
        following = [s for s, before in zip(block.body[1:], block.body, strict=False) if before is line]
        if not following or not isinstance(following[0], cst.SimpleStatementLine):
            return None
        small = following[0].body[0]
        again = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(again, cst.Call) or method(again) != "append":
            return None
        same = _list_name(again.func) == _list_name(call.func)
        return positional(again, 0) if same else None

    def _is_unpacked(self, target: cst.BaseExpression) -> bool:
        """Whether the function around a variable constructs ``nn.Sequential(*variable)``, and never reorders it."""
        name = _list_name(target)
        function = self._module.function_of(target)
        if name is None or function is None:
            return False
        parents = [self._module.parent(use) for use in self._module.names_spelled(name, function)]
        unpacked = [p for p in parents if isinstance(p, cst.Arg) and p.star == "*"]
        calls = [self._module.parent(arg) for arg in unpacked]
        if not calls or not all(isinstance(c, cst.Call) and self._is_sequential(c) for c in calls):
            return False
        return not any(isinstance(p, cst.Subscript) for p in parents) and not any(
            isinstance(p, cst.Attribute) and p.attr.value not in ("append", "extend") for p in parents
        )

    # -- attributes of a module --------------------------------------------------------------------

    def _attribute(self, call: cst.Call) -> str | None:
        """The name in ``self.name = call``."""
        parent = self._module.parent(call)
        if not isinstance(parent, cst.Assign) or len(parent.targets) != 1:
            return None
        target = parent.targets[0].target
        if isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and target.value.value == "self":
            return target.attr.value
        return None

    def _class_around(self, node: cst.CSTNode) -> cst.ClassDef | None:
        function = self._module.function_of(node)
        return self._module.class_of(function) if function is not None else None

    def _is_attribute_before_norm(self, call: cst.Call, assign: cst.Assign) -> bool:
        """Whether ``self.name = nn.Conv2d(..)`` is only called, and each result only normalized."""
        name, owner = self._attribute(call), self._class_around(assign)
        if name is None or owner is None or [v for v, _ in self._module.classes.assignments(owner, name)] != [call]:
            return False
        dimensions = CONVOLUTIONS[str(self._module.qualified(call.func))].dimensions
        uses = [use for use in self._module.attributes_named(name) if self._may_be_of(use, owner)]
        parents = [(use, self._module.parent(use)) for use in uses]
        calls = [parent for use, parent in parents if isinstance(parent, cst.Call) and parent.func is use]
        others = [parent for use, parent in parents if parent not in calls]
        if not calls or not all(isinstance(p, cst.AssignTarget) or _is_weight(p) for p in others):
            return False
        return all(self._is_normalized(made, owner, dimensions) for made in calls)

    def _may_be_of(self, use: cst.Attribute, owner: cst.ClassDef) -> bool:
        """Whether an attribute may be one of an instance of the class; ``self`` may only in related classes."""
        if not isinstance(use.value, cst.Name) or use.value.value != "self":
            return True
        around = self._class_around(use)
        return around is None or self._module.classes.inherits(around, owner)

    def _is_normalized(self, call: cst.Call, owner: cst.ClassDef, dimensions: int) -> bool:
        """Whether batch normalization, and nothing else, takes the result of a call."""
        parent = self._module.parent(call)
        if not isinstance(parent, cst.Assign):
            return self._is_norm_call(self._module.call_with_argument(call), owner, dimensions)
        target = parent.targets[0].target
        binding = self._module.binding_of(target) if isinstance(target, cst.Name) and len(parent.targets) == 1 else None
        uses = self._module.uses(binding) if binding is not None else []
        return len(uses) == 1 and self._is_norm_call(self._module.call_with_argument(uses[0]), owner, dimensions)

    def _is_norm_call(self, call: cst.Call | None, owner: cst.ClassDef, dimensions: int) -> bool:
        """``self.norm(..)``, where ``self.norm`` is nothing but a batch norm."""
        if call is None or not isinstance(call.func, cst.Attribute):
            return False
        norm = call.func
        if not isinstance(norm.value, cst.Name) or norm.value.value != "self":
            return False
        assigned = [value for value, _ in self._module.classes.assignments(owner, norm.attr.value)]
        return len(assigned) == 1 and self._normalizes(assigned[0], dimensions)


def _has_bias(call: cst.Call, parameters: Sequence[str]) -> bool:
    """Whether a convolution certainly has a bias."""
    given = bind(call, parameters)
    return not given.opaque and ("bias" not in given or literal(given.get("bias")) is True)


def _list_name(target: cst.BaseExpression) -> str | None:
    """The variable in ``layers`` or ``layers.append``."""
    if isinstance(target, cst.Attribute):
        target = target.value
    return target.value if isinstance(target, cst.Name) else None


def _is_weight(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "weight"
