"""Factories of constant, sequential or random tensors and arrays. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from torchlint.knowledge.tensors import LEGACY

# Content that is equal on every device.
DETERMINISTIC = frozenset(
    f"torch.{name}"
    for name in "zeros ones full empty eye arange range tril_indices triu_indices zeros_like ones_like full_like "
    "empty_like".split()
)
# Content that may differ in the last bits.
ROUNDED = frozenset(
    f"torch.{name}"
    for name in "linspace logspace hann_window hamming_window bartlett_window blackman_window kaiser_window".split()
)
# Content that depends on the generator of the device.
RANDOM = frozenset(
    f"torch.{name}" for name in "rand randn randint randperm normal rand_like randn_like randint_like".split()
)
FACTORIES = DETERMINISTIC | ROUNDED | RANDOM
FACTORY_NAMES = frozenset(name.rpartition(".")[2] for name in FACTORIES)
LIKE_FACTORIES = frozenset(name for name in FACTORIES if name.endswith("_like"))
# Methods that only change the shape or dtype of a new tensor.
FORM_METHODS = frozenset(
    "view reshape unsqueeze squeeze expand expand_as repeat flatten permute transpose t contiguous float double half "
    "bfloat16 long int bool byte short clone detach requires_grad_ view_as type".split()
)
# Those that give the same on every device, and keep no memory shared that a move would separate.
SAME_FORMS = frozenset(
    "view reshape unsqueeze squeeze repeat flatten permute transpose t contiguous clone detach view_as".split()
)

CONSTRUCTORS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy"})
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
# NumPy's default dtypes.
NUMPY_DTYPES = {
    "numpy.zeros": "float64",
    "numpy.ones": "float64",
    "numpy.empty": "float64",
    "numpy.eye": "float64",
    "numpy.identity": "float64",
    "numpy.linspace": "float64",
    "numpy.random.randint": "int64",
    "numpy.random.permutation": "int64",
}
# Methods of an array that only change its shape or dtype.
ARRAY_FORM_METHODS = frozenset("astype reshape copy".split())
# Methods that fill a tensor, and the equivalent torch factories.
FILL_METHODS = {"fill_": "torch.full", "zero_": "torch.zeros", "uniform_": "torch.rand", "normal_": "torch.randn"}
# Functions of numbers that return a number, and functions whose results have limits that are numbers.
NUMBER_FUNCTIONS = frozenset(
    f"math.{name}"
    for name in "sqrt exp log log2 log10 log1p expm1 pow floor ceil fabs tanh cos sin tan atan atan2 radians".split()
) | frozenset(f"builtins.{name}" for name in "abs round max min pow".split())
NUMBER_LIMITS = frozenset({"torch.finfo", "torch.iinfo"})
