"""Functions and methods by what they do to the content of tensors. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from torchlint.catalogue.views import ALONE, CONSTRUCTORS, GENERATING, SHARING, SHARING_FUNCTIONS, functions
from torchlint.knowledge.factories import TORCH_FACTORIES

# Functions that create arrays from sizes and numbers; not NumPy's random ones, whose generator is often seeded.
ARRAY_FACTORIES = frozenset(name for name in TORCH_FACTORIES if ".random." not in name) | frozenset(
    f"numpy.{name}" for name in "logspace tri zeros_like ones_like full_like empty_like".split()
)
GENERATORS = GENERATING | ARRAY_FACTORIES
GENERATOR_NAMES = frozenset(name.rpartition(".")[2] for name in GENERATORS)
# Functions that compute only with their first argument: the others are sizes, dimensions and the like.
SINGLE = functions(lambda function: function.alone, "torch", "numpy") | {"numpy.expand_dims"}
SINGLE_METHODS = ALONE | {"astype"}
VIEW_METHODS = SHARING | {"numpy"}
# Arguments that say that the place, memory, a generator or a gradient matters, and not the content alone.
PARTICULAR = frozenset("device out generator pin_memory requires_grad where".split())
# Functions that give a tensor for their argument, and no other copy of data than the move: TL101 reports those.
CONVERSIONS = (CONSTRUCTORS & SHARING_FUNCTIONS) | {"torch.autograd.Variable"}
