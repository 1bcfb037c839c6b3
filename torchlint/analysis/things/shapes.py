"""Input shapes: what makes them vary from step to step, and whether the file uses convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import argument, keyword
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.values.lattice import Kind
from torchlint.knowledge import backends as known
from torchlint.prefilter import concepts

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_PADDED = "batches are padded to their longest sample"
_RANDOM = frozenset("random.choice random.randint random.randrange numpy.random.choice numpy.random.randint".split())
_SHAPE_NAMES = frozenset("pad_sequence pack_sequence detection Resize interpolate".split())


class Shapes:
    """Decides for one module whether all inputs have the same shape."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module

    def varying_places(self) -> list[tuple[cst.CSTNode, str]]:
        """The nodes that make input shapes vary, with the reasons in words."""
        found: list[tuple[cst.CSTNode, str]] = []
        for call in self._module.nodes_of(cst.Call, self._module.aliases(_SHAPE_NAMES)):
            reason = self._reason(call)
            if reason is not None:
                found.append((call, reason))
        if self._module.text_index.has(concepts.COLLATE):
            found += [(f.name, _PADDED) for f in self._module.nodes_of(cst.FunctionDef) if self._pads(f)]
        return found

    def _pads(self, function: cst.FunctionDef) -> bool:
        """Whether a function is a collate function that computes the largest size in a batch."""
        owner = self._module.class_of(function)
        names = function.name.value + (owner.name.value if owner is not None else "")
        if "collate" not in names.lower():
            return False
        largest = [n for n in descendants(function.body) if isinstance(n, cst.Call) and self._is_max(n)]
        return any(_is_size(part) for call in largest for part in descendants(call))

    def _is_max(self, call: cst.Call) -> bool:
        return self._module.qualified(call.func) in ("builtins.max", "torch.max")

    def _reason(self, call: cst.Call) -> str | None:
        name = self._module.qualified(call.func)
        if name is None:
            return None
        if name in known.PADDING_FUNCTIONS:
            return _PADDED
        if name.startswith(known.DETECTION) and "weights" not in name.rpartition(".")[2].lower():
            return "detection models take images of any size"
        if name.startswith(known.TRANSFORMS) and name.endswith(".Resize") and self._keeps_ratio(call):
            return "`Resize` with one number keeps the aspect ratio of each image"
        if name == "torch.nn.functional.interpolate" and self._random_size(call):
            return "the batch is resized to a random size"
        return None

    def _keeps_ratio(self, call: cst.Call) -> bool:
        """Whether a call is ``Resize(256)`` without a crop after it."""
        size = argument(call, "size", 0)
        value = self._module.value(size)
        if not (isinstance(size, cst.Integer) or value.kind is Kind.SCALAR):
            return False
        composed = next((a for a in self._module.ancestors(call) if isinstance(a, cst.List)), None)
        if composed is None:
            return False
        names = [dotted(n.func) or "" for n in descendants(composed) if isinstance(n, cst.Call)]
        return known.FIXED_CROPS.isdisjoint(name.rpartition(".")[2] for name in names)

    def _random_size(self, call: cst.Call) -> bool:
        size = argument(call, "size", 1) or keyword(call, "scale_factor")
        return size is not None and self._is_random(size, 4)

    def _is_random(self, node: cst.CSTNode, depth: int) -> bool:
        if depth == 0:
            return False
        for part in descendants(node):
            if isinstance(part, cst.Call) and self._module.qualified(part.func) in _RANDOM:
                return True
            if isinstance(part, cst.Name):
                values = [b.value for b in self._module.definitions(part) if b.kind == "assign" and b.value is not None]
                if any(self._is_random(v, depth - 1) for v in values):
                    return True
        return False

    def has_convolutions(self) -> bool:
        """Whether the file constructs convolutions, or a model with a name of a convolutional architecture."""
        for call in self._module.nodes_of(cst.Call):
            name = (self._module.qualified(call.func) or dotted(call.func) or "").rpartition(".")[2]
            if name in known.CONVOLUTIONS or self._is_cnn(name):
                return True
        return False

    def _is_cnn(self, name: str) -> bool:
        stem = name.lower().rstrip("0123456789_")
        return stem in known.CNN_WORDS or any(stem.startswith(word) for word in known.CNN_WORDS if len(word) > 4)

    def has_fixed_size(self) -> bool:
        """Whether transforms in the file give all images the same size, or a dataset has images of one size."""
        for call in self._module.nodes_of(cst.Call):
            name = self._module.qualified(call.func) or ""
            last = name.rpartition(".")[2]
            if name.startswith(known.TRANSFORMS):
                size = argument(call, "size", 0)
                if last in known.FIXED_CROPS or (last == "Resize" and isinstance(size, (cst.Tuple, cst.List))):
                    return True
            if name.startswith("torchvision.datasets.") and last in known.FIXED_DATASETS:
                return True
        return False


def _is_size(node: cst.CSTNode) -> bool:
    """Whether a node is a size: ``len(x)``, ``x.size(1)``, ``x.shape[0]``."""
    if isinstance(node, cst.Attribute):
        return node.attr.value in ("size", "shape")
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "len"
