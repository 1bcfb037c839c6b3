"""Functions and methods by what they do to the content of tensors. Sources: the PyTorch and NumPy manuals."""

from __future__ import annotations

from torchlint.knowledge.factories import FACTORIES, FORM_METHODS

# Functions that create arrays from sizes and numbers; not NumPy's random ones, whose generator is often seeded.
ARRAY_FACTORIES = frozenset(
    f"numpy.{name}"
    for name in "zeros ones full empty eye identity arange linspace logspace tri zeros_like ones_like full_like "
    "empty_like".split()
)
GENERATORS = FACTORIES | ARRAY_FACTORIES
GENERATOR_NAMES = frozenset(name.rpartition(".")[2] for name in GENERATORS)
# Functions that compute only with their first argument: the others are sizes, dimensions and the like.
SINGLE = frozenset(
    f"{root}.{name}"
    for root in ("torch", "numpy")
    for name in "triu tril cat concat concatenate stack hstack vstack roll flip reshape unsqueeze squeeze flatten "
    "transpose permute tile diag rot90 expand_dims cumsum sum mean chunk split ravel".split()
)
# Methods of which the same holds, and methods that fill a tensor with numbers.
SINGLE_METHODS = (
    FORM_METHODS
    | frozenset("triu tril roll flip cumsum sum mean prod max min any all chunk split narrow astype swapaxes".split())
    | frozenset("uniform_ normal_ fill_ zero_ random_ exponential_ unsqueeze_ squeeze_ triu_ tril_".split())
)
# Methods that return a view of their tensor.
VIEW_METHODS = frozenset(
    "view reshape unsqueeze squeeze expand expand_as flatten ravel permute transpose t narrow select view_as swapaxes "
    "chunk split unbind diagonal detach contiguous float double half long int bool numpy".split()
)
# Methods that only read how a tensor is stored.
METADATA = frozenset(
    "shape size dim ndim ndimension dtype device numel nelement is_cuda requires_grad element_size itemsize nbytes "
    "get_device is_contiguous stride".split()
)
# Arguments that say that the place, memory, a generator or a gradient matters, and not the content alone.
PARTICULAR = frozenset("device out generator pin_memory requires_grad where".split())
# Functions that give a tensor for their argument, and no other copy of data than the move: TL101 reports those.
CONVERSIONS = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.asarray", "torch.autograd.Variable"})
