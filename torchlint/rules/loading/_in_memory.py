"""Datasets of tensors in memory, whose samples cost nothing but an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, positional
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.loader import Loader
from torchlint.analysis.values.lattice import Kind

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 4
_PARTS = frozenset({"torch.utils.data.Subset", "torch.utils.data.random_split"})
# What a method that only reads tensors consists of.
_READING = (
    cst.IndentedBlock,
    cst.SimpleStatementLine,
    cst.Return,
    cst.Assign,
    cst.AssignTarget,
    cst.Tuple,
    cst.Element,
    cst.Dict,
    cst.DictElement,
    cst.Name,
    cst.Attribute,
    cst.Subscript,
    cst.SubscriptElement,
    cst.Index,
    cst.SimpleString,
    cst.Expr,
)


class InMemory:
    """Whether datasets of one module are tensors in memory."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def feeds(self, loader: Loader) -> bool:
        """Whether a loader only collates tensors that are in memory."""
        given = loader.arguments("dataset")
        plain = not loader.derived and loader.default_collation and loader.makes_batches
        return plain and len(given) == 1 and self._holds(given[0], _DEPTH)

    def _holds(self, node: cst.BaseExpression | None, depth: int) -> bool:
        """Whether a dataset holds its samples in memory, and does nothing with them."""
        value = self._module.value(node)
        if isinstance(value.node, cst.ClassDef):
            return value.kind is Kind.DATASET and self._only_indexes(value.node)
        made = value.origin
        if not isinstance(made, cst.Call) or is_opaque(made) or not depth:
            return False
        name = self._module.qualified(made.func)
        if name in _PARTS:
            return self._holds(positional(made, 0), depth - 1)
        return name == "torch.utils.data.TensorDataset" and not any(
            self._module.value(arg.value).unshareable for arg in made.args
        )

    def _only_indexes(self, owner: cst.ClassDef) -> bool:
        """Whether ``__getitem__`` only reads rows of tensors that are attributes."""
        method = self._module.classes.method(owner, "__getitem__")
        if method is None or self._module.classes.method(owner, "__getitems__") is not None:
            return False
        nodes = [node for node in _below(method.body) if not isinstance(node, _READING)]
        read = [node for node in _below(method.body) if isinstance(node, cst.Subscript)]
        return not nodes and bool(read) and all(self._is_tensor(owner, node.value) for node in read)

    def _is_tensor(self, owner: cst.ClassDef, node: cst.BaseExpression) -> bool:
        if not isinstance(node, cst.Attribute) or getattr(node.value, "value", None) != "self":
            return False
        value = self._module.classes.attribute(owner, node.attr.value)
        return value.kind is Kind.TENSOR and not value.unshareable


def _below(body: cst.CSTNode) -> list[cst.CSTNode]:
    return [body, *descendants(body)]
