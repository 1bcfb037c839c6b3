"""TL401: loaders that pin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import is_opaque, literal
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.sources import sources
from torchlint.edit.editor import Editor, Unfixable, or_none
from torchlint.edit.names import Speller
from torchlint.model import Fix, Safety

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule
    from torchlint.analysis.things.loader import Loader

_ODD = (
    "batches are then pinned, which raises an error or has no effect for tensors that are already on a device, sparse "
    "tensors and objects of other classes"
)
_WRITTEN = "`pin_memory=False` is explicit, perhaps because host memory is scarce"


@or_none
def pinned(module: SourceModule, loader: Loader, *, moved_here: bool) -> Fix:
    """Add ``pin_memory=torch.cuda.is_available()``; ``moved_here`` says that all of its moves are in this file."""
    call, written = loader.call, loader.arguments("pin_memory")
    if is_opaque(call) or not loader.has_workers:
        raise Unfixable  # it may be given out of sight; without workers the main thread would pin
    editor = module.shared(Editor)
    available = module.shared(Speller).spell("torch.cuda.is_available", call, importing=True)
    value = f"{available.text}()"
    added = (editor.replace(written[0], value),) if written else editor.add_argument(call, f"pin_memory={value}")
    caveats = [_WRITTEN] if written else []
    if not moved_here or not _plain_batches(module, loader):
        caveats.append(_ODD)
    caveat = "; ".join(caveats) or None
    safety = Safety.UNSAFE if caveat else Safety.SAFE
    return Fix(f"add `pin_memory={value}`", safety, (*available.edits, *added), caveat)


def _plain_batches(module: SourceModule, loader: Loader) -> bool:
    """Batches are proved to be tensors of the CPU in plain containers."""
    datasets = loader.arguments("dataset")
    plain = not loader.derived and loader.default_collation and len(datasets) == 1
    return plain and _plain_dataset(module, datasets[0])


def _plain_dataset(module: SourceModule, node: cst.BaseExpression) -> bool:
    """One of torchvision's datasets with transforms of torchvision, or tensors of the CPU; on every way here."""
    made = sources(module.evaluator, node)
    return bool(made) and all(isinstance(call, cst.Call) and _is_plain(module, call) for call in made)


def _is_plain(module: SourceModule, made: cst.Call) -> bool:
    name = module.qualified(made.func) or ""
    if is_opaque(made) or not made.args:
        return False
    if name == "torch.utils.data.TensorDataset":
        return all(_on_cpu(module, arg.value) for arg in made.args)
    if not name.startswith("torchvision.datasets."):
        return False
    return all(_plain_transform(module, arg.value) for arg in made.args if not _is_place(arg, made))


def _is_place(arg: cst.Arg, made: cst.Call) -> bool:
    """Where the files are, and which of them: nothing that makes anything of them."""
    if arg.keyword is None:
        return arg is made.args[0]
    return arg.keyword.value in ("root", "train", "split", "download", "year", "image_set")


def _on_cpu(module: SourceModule, node: cst.BaseExpression) -> bool:
    value = module.value(node)
    return value.kind is Kind.TENSOR and value.device is Device.CPU


def _plain_transform(module: SourceModule, node: cst.BaseExpression, depth: int = 6) -> bool:
    """A literal, or a call of torchvision's transforms of nothing but such; names are followed."""
    if depth == 0:
        return False
    if literal(node) is not ... or isinstance(node, (cst.FormattedString, cst.Attribute)):
        return True
    if isinstance(node, (cst.List, cst.Tuple)):
        return all(_plain_transform(module, element.value, depth - 1) for element in node.elements)
    if isinstance(node, cst.Call):
        name = module.qualified(node.func) or ""
        plain = name.startswith(("torchvision.transforms.", "os.path.")) and not name.endswith(".Lambda")
        return plain and all(_plain_transform(module, arg.value, depth - 1) for arg in node.args)
    if isinstance(node, cst.Name):
        values = sources(module.evaluator, node)
        return bool(values) and all(_plain_transform(module, value, depth - 1) for value in values)
    return False
