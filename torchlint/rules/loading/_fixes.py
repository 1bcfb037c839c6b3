"""Fixes of data loaders: pinned memory (TL401), workers that live on (TL404)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, literal
from torchlint.analysis.values.lattice import Device
from torchlint.analysis.values.sources import sources
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.loader import Loader

_UNPINNABLE = (
    "batches are then pinned, which raises an error or has no effect for tensors that are already on a device, sparse "
    "tensors and objects of other classes"
)
_KEPT = (
    "workers keep the state of their dataset and random numbers from one epoch to the next, and do not see what the "
    "main process changes in the dataset"
)
_EXPLICIT = "`pin_memory=False` is explicit, perhaps because host memory is scarce"


@or_none
def pin_memory(module: SourceModule, loader: Loader, *, only_moved_here: bool) -> Fix:
    """Add ``pin_memory=torch.cuda.is_available()`` to a loader.

    ``only_moved_here`` is true if all moves of its batches are in this file.
    """
    call, written = loader.call, loader.arguments("pin_memory")
    chosen = any(loader.option(value)[1] is False for value in written)
    if is_opaque(call) or not loader.has_workers or chosen:
        raise Unfixable  # `**kwargs` or an option may give it; without workers, the main thread would do the pinning
    editor = module.shared(Editor)
    available = module.shared(Speller).spell("torch.cuda.is_available", call, importing=True)
    value = f"{available.text}()"
    added = (editor.replace(written[0], value),) if written else editor.add_argument(call, f"pin_memory={value}")
    caveats = [_EXPLICIT] if written else []
    if not only_moved_here or not _yields_cpu_tensors(module, loader):
        caveats.append(_UNPINNABLE)
    caveat = "; ".join(caveats) or None
    safety = Safety.UNSAFE if caveat else Safety.SAFE
    return Fix(f"add `pin_memory={value}`", safety, (*available.edits, *added), caveat)


@or_none
def persistent_workers(module: SourceModule, loader: Loader, value: str) -> Fix:
    """Add ``persistent_workers=value`` to a loader with workers."""
    if is_opaque(loader.call):
        raise Unfixable
    added = module.shared(Editor).add_argument(loader.call, f"persistent_workers={value}")
    return Fix(f"add `persistent_workers={value}`", Safety.UNSAFE, added, _KEPT)


def _yields_cpu_tensors(module: SourceModule, loader: Loader) -> bool:
    """Whether batches are certainly standard containers of tensors on the CPU."""
    datasets = loader.arguments("dataset")
    standard = not loader.derived and loader.default_collation and len(datasets) == 1
    return standard and _is_known_dataset(module, datasets[0])


def _is_known_dataset(module: SourceModule, node: cst.BaseExpression) -> bool:
    """Whether a dataset is one of torchvision's with its transforms, or made of tensors on the CPU, on all paths."""
    made = sources(module.evaluator, node)
    return bool(made) and all(isinstance(call, cst.Call) and _makes_known_dataset(module, call) for call in made)


def _makes_known_dataset(module: SourceModule, made: cst.Call) -> bool:
    name = module.qualified(made.func) or ""
    if is_opaque(made) or not made.args:
        return False
    if name == "torch.utils.data.TensorDataset":
        return all(_is_cpu_tensor(module, arg.value) for arg in made.args)
    if not name.startswith("torchvision.datasets."):
        return False
    return all(_is_known_transform(module, arg.value) for arg in made.args if not _selects_files(arg, made))


def _selects_files(arg: cst.Arg, made: cst.Call) -> bool:
    """Whether an argument says where the files are, or which of them to load."""
    if arg.keyword is None:
        return arg is made.args[0]
    return arg.keyword.value in ("root", "train", "split", "download", "year", "image_set")


def _is_cpu_tensor(module: SourceModule, node: cst.BaseExpression) -> bool:
    return module.is_plain_tensor(node) and module.value(node).device is Device.CPU


def _is_known_transform(module: SourceModule, node: cst.BaseExpression, depth: int = 6) -> bool:
    """Whether an expression is a literal, or a call of torchvision's transforms with such arguments."""
    if depth == 0:
        return False
    if literal(node) is not ... or isinstance(node, (cst.FormattedString, cst.Attribute)):
        return True
    if isinstance(node, (cst.List, cst.Tuple)):
        return all(_is_known_transform(module, element.value, depth - 1) for element in node.elements)
    if isinstance(node, cst.Call):
        name = module.qualified(node.func) or ""
        known = name.startswith(("torchvision.transforms.", "os.path.")) and not name.endswith(".Lambda")
        return known and all(_is_known_transform(module, arg.value, depth - 1) for arg in node.args)
    if isinstance(node, cst.Name):
        values = sources(module.evaluator, node)
        return bool(values) and all(_is_known_transform(module, value, depth - 1) for value in values)
    return False
