"""Factories of constant, sequential or random tensors and arrays. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from torchlint.catalogue.views import CONSTRUCTORS, GENERATING
from torchlint.knowledge.tensors import LEGACY

FACTORY_NAMES = frozenset(name.rpartition(".")[2] for name in GENERATING)
LIKE_FACTORIES = frozenset(name for name in GENERATING if name.endswith("_like"))
CONSTRUCTOR_NAMES = frozenset(name.rpartition(".")[2] for name in (*CONSTRUCTORS, *LEGACY))
# NumPy factories, and the equivalent torch factories.
TORCH_FACTORIES = {
    **{f"numpy.{name}": f"torch.{name}" for name in "zeros ones full empty eye arange linspace".split()},
    **{f"numpy.random.{name}": f"torch.{name}" for name in "rand randn normal randint".split()},
    **dict.fromkeys(("numpy.random.random", "numpy.random.random_sample", "numpy.random.uniform"), "torch.rand"),
    "numpy.identity": "torch.eye",
    "numpy.random.standard_normal": "torch.randn",
    "numpy.random.permutation": "torch.randperm",
}
# Functions that create arrays from sizes and numbers; not NumPy's random ones, whose generator is often seeded.
ARRAY_FACTORIES = frozenset(name for name in TORCH_FACTORIES if ".random." not in name) | frozenset(
    f"numpy.{name}" for name in "logspace tri zeros_like ones_like full_like empty_like".split()
)
ARRAY_NAMES = frozenset(name.rpartition(".")[2] for name in (*TORCH_FACTORIES, *ARRAY_FACTORIES, "choice"))
