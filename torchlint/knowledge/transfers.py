"""Operations that exist both on the host and on the device, so that a detour over the host gains nothing.

Sources: the PyTorch and NumPy reference manuals. Linear algebra, scatter and histogram operations are excluded: they
are moved to the CPU because a kernel is missing, for precision or for determinism.
"""

from __future__ import annotations

from torchlint.catalogue.functions import FUNCTIONS
from torchlint.catalogue.views import (
    FACTORIES,
    METADATA,
    PASSIVE,
    SHARING,
    functions,
    methods,
)

FUNCTIONAL = frozenset(
    f"torch.nn.functional.{name}"
    for name, function in FUNCTIONS.items()
    if "n" in function.where and function.kernel == "same"
)
# Methods that only arrays have, and torch has functions for.
ARRAY_METHODS = frozenset({"astype", "copy", "prod"})
# Words in a comment that show that the detour is intended.
INTENT = (
    "mps",
    "not implemented",
    "not supported",
    "unsupported",
    "workaround",
    "work around",
    "determinis",
    "oom",
    "offload",
)
# The names of the objects that run Accelerate and Fabric, and their methods whose results, from all processes, are on
# the device of the argument.
RUNNERS = frozenset({"accelerator", "fabric"})
COLLECTIVES = frozenset({"gather", "gather_for_metrics", "reduce", "all_gather", "all_reduce"})

# Methods of a tensor on the host, or of an array, whose result may share its memory, so that nothing is read yet.
VIEWS = SHARING | frozenset("numpy astype items values".split())
# Functions that are handed a tensor or an array, and whose result may share its memory.
VIEW_FUNCTIONS = (
    functions(lambda function: function.shares, "torch", "numpy")
    | {"numpy.ascontiguousarray", "numpy.expand_dims", "typing.cast"}
    | frozenset(f"builtins.{name}" for name in "list tuple iter reversed".split())
)
# Methods that read the elements of a tensor on the host, or of an array.
ELEMENT_READERS = (
    methods(lambda function: function.reads_elements)
    | frozenset("sub_ add_ mul_ div_ clamp_".split())
    | frozenset("copy tofile tobytes argpartition".split())
)
# Builtins that read the content of a tensor on the host.
READING_BUILTINS = frozenset(
    f"builtins.{name}" for name in "float int bool complex print str repr format sum max min abs sorted any all".split()
)
# Methods that store their argument in their receiver.
STORING_METHODS = frozenset("append add extend appendleft".split())
# Builtins that neither read a tensor nor wait for a device.
PASSIVE_BUILTINS = frozenset(
    f"builtins.{name}"
    for name in "len range zip enumerate isinstance getattr hasattr list tuple dict set iter "
    "reversed type id slice super map".split()
)
# Methods, of containers, strings, progress bars and tensors, that do not wait for a device.
PASSIVE_METHODS = (
    STORING_METHODS
    | VIEWS
    | PASSIVE
    | METADATA
    | frozenset("update keys get format join strip startswith endswith clear".split())
)
# What does not wait for a device, beside the functions above.
PASSIVE_MODULES = ("numpy.", "math.", "time.", "os.", "random.", "tqdm.")
PASSIVE_FUNCTIONS = (
    functions(lambda function: function.kernel == "same" and function.counts is None)
    | FUNCTIONAL
    | frozenset(
        f"torch.{name}" for name in "no_grad inference_mode enable_grad zeros ones empty full is_tensor".split()
    )
)
PASSIVE_CALLS = READING_BUILTINS | PASSIVE_BUILTINS | PASSIVE_FUNCTIONS | VIEW_FUNCTIONS | FACTORIES
# Names of context managers whose end does not wait for a device.
PASSIVE_CONTEXTS = frozenset("no_grad inference_mode enable_grad autocast stream device tqdm".split())
# Functions that leave few elements of many, as some methods of tensors and arrays do; those of Python get a list.
REDUCING_FUNCTIONS = (
    functions(lambda function: function.reduces, "torch", "numpy")
    | {"numpy.average", "numpy.median"}
    | frozenset(f"builtins.{name}" for name in ("sum", "max", "min", "any", "all"))
)
