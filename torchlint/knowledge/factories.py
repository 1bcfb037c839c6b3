"""Factories of constant, sequential or random tensors and arrays. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from torchlint.catalogue.functions import METHODS
from torchlint.catalogue.views import CONSTRUCTORS, GENERATING
from torchlint.knowledge.tensors import LEGACY

FACTORY_NAMES = frozenset(name.rpartition(".")[2] for name in GENERATING)
LIKE_FACTORIES = frozenset(name for name in GENERATING if name.endswith("_like"))
CONSTRUCTOR_NAMES = frozenset(name.rpartition(".")[2] for name in (*CONSTRUCTORS, *LEGACY))
# NumPy factories, and the equivalent torch factories.
TORCH_FACTORIES = {
    "numpy.zeros": "torch.zeros",
    "numpy.ones": "torch.ones",
    "numpy.full": "torch.full",
    "numpy.empty": "torch.empty",
    "numpy.eye": "torch.eye",
    "numpy.identity": "torch.eye",
    "numpy.arange": "torch.arange",
    "numpy.linspace": "torch.linspace",
    "numpy.random.rand": "torch.rand",
    "numpy.random.random": "torch.rand",
    "numpy.random.random_sample": "torch.rand",
    "numpy.random.randn": "torch.randn",
    "numpy.random.standard_normal": "torch.randn",
    "numpy.random.normal": "torch.normal",
    "numpy.random.uniform": "torch.rand",
    "numpy.random.randint": "torch.randint",
    "numpy.random.permutation": "torch.randperm",
}
# The dtypes of integers that NumPy draws.
NUMPY_DTYPES = dict.fromkeys(("numpy.random.randint", "numpy.random.permutation"), "int64")
# Methods of an array that only change its shape or dtype.
ARRAY_FORM_METHODS = frozenset("astype reshape copy".split())
# Methods that fill a tensor, and the equivalent torch factories.
FILL_METHODS = {name: function.factory for name, function in METHODS.items() if function.factory}
# Functions of numbers that return a number, and functions whose results have limits that are numbers.
NUMBER_FUNCTIONS = frozenset(
    f"math.{name}"
    for name in "sqrt exp log log2 log10 log1p expm1 pow floor ceil fabs tanh cos sin tan atan atan2 radians".split()
) | frozenset(f"builtins.{name}" for name in "abs round max min pow".split())
NUMBER_LIMITS = frozenset({"torch.finfo", "torch.iinfo"})
