"""The functions of torch and methods of tensors that have something in common."""

from __future__ import annotations

from collections.abc import Callable

from torchlint.catalogue.functions import FUNCTIONS, META_ATTRIBUTES, METHODS, OF_TORCH
from torchlint.catalogue.records import Function


def methods(wanted: Callable[[Function], object]) -> frozenset[str]:
    """The names of methods."""
    return frozenset(name for name, function in METHODS.items() if wanted(function))


def functions(wanted: Callable[[Function], object], *roots: str) -> frozenset[str]:
    """The dotted names of functions of the namespace ``torch`` itself, or as ``roots`` have them."""
    names = [name for name, function in OF_TORCH.items() if wanted(function)]
    return frozenset(f"{root}.{name}" for root in roots or ("torch",) for name in names)


def _shares(function: Function) -> bool:
    """Whether the result may be a view of the tensor, or of parts of it, or the tensor itself."""
    return function.shares and (function.keeps != "" or function.gives == "list") and not function.place


def _is_form(function: Function) -> bool:
    return function.keeps in ("content", "elements") and not function.place


# -- memory ----------------------------------------------------------------------------------------

# Methods that give the memory of their tensor in any case, and those that may.
VIEWS = methods(lambda function: function.memory == "view" and not function.place)
SHARING = methods(_shares)
JOINING = functions(lambda function: function.joins)

# -- form and content ------------------------------------------------------------------------------

# Methods that only change the shape or dtype; those of them that change the shape alone, and give the same on every
# device, without memory that elements of the result share; and those that also leave the number of elements.
FORMS = methods(_is_form)
SHAPES = methods(
    lambda function: (
        _is_form(function)
        and not function.dtype
        and function.memory != "self"
        and not (function.enlarges and function.shares)
    )
)
ENLARGING = methods(lambda function: function.enlarges)
# The dtypes that methods convert to.
CASTS = {name: function.dtype for name, function in METHODS.items() if function.dtype not in ("", "?")}
# The types of tensors, such as `torch.FloatTensor`, with their dtypes.
TENSOR_TYPES = {
    f"{'BFloat16' if name == 'bfloat16' else name.capitalize()}Tensor": dtype for name, dtype in CASTS.items()
}
# Methods that few elements are left by.
REDUCING = methods(lambda function: function.reduces)

# -- the host --------------------------------------------------------------------------------------

# Methods that copy the content of a tensor to the host.
READING = methods(lambda function: function.place == "host")
# Methods that only read how a tensor is stored; with its attributes.
METADATA = methods(lambda function: function.about_storage) | META_ATTRIBUTES
# Functions and methods whose result has a size that depends on content.
COUNTING = {name: function.counts for name, function in FUNCTIONS.items() if function.counts is not None}
# Why the host waits for the device.
WAITS = frozenset(function.waits for function in FUNCTIONS.values() if function.waits is not None)
# Calls whose arguments are sizes, which the host must know before it can queue the operation.
SIZE_TAKERS = frozenset(name for name, function in FUNCTIONS.items() if function.takes in ("sizes", "counts"))
# Methods that only tensors and arrays have.
ONLY = methods(lambda function: function.only)

# -- kernels ---------------------------------------------------------------------------------------

# Those that every device has, so that a detour over the host gains nothing, and those that wait for nothing.
EVERYWHERE = methods(lambda function: function.kernel == "same")
PASSIVE = methods(lambda function: function.kernel == "same" and function.counts is None)
# Those that a device has as well, but that may wait, copy or draw otherwise there.
ON_DEVICE = frozenset(name for name, function in FUNCTIONS.items() if function.kernel == "own")

# -- factories -------------------------------------------------------------------------------------

# Functions that make tensors on a device; without those that are given one as a pattern.
FACTORIES = functions(lambda function: function.made and not function.place) - {
    f"torch.{name}" for name in FUNCTIONS if name.endswith("_like")
}
# Those that make them of sizes and numbers; content that a generator draws, or that may differ in the last bits.
GENERATING = functions(lambda function: function.made in ("units", "constant", "nothing", "rounded", "random"))
RANDOM = functions(lambda function: function.made == "random")
# Those of data, on the host if nothing else is said, and their names.
CONSTRUCTORS = functions(lambda function: function.made == "data")
