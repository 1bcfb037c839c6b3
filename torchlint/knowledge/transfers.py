"""Operations that exist both on the host and on the device, so that a detour over the host gains nothing.

Sources: the PyTorch and NumPy reference manuals. Linear algebra, scatter and histogram operations are excluded: they
are moved to the CPU because a kernel is missing, for precision or for determinism.
"""

from __future__ import annotations

from torchlint.catalogue.functions import FUNCTIONS
from torchlint.catalogue.views import (
    ENLARGING,
    METADATA,
    ON_DEVICE,
    PASSIVE,
    REDUCING,
    SHAPES,
    SHARING,
    SHARING_FUNCTIONS,
    methods,
)
from torchlint.catalogue.views import PASSIVE_FUNCTIONS as PASSIVE_TENSOR_FUNCTIONS
from torchlint.catalogue.views import REDUCING_FUNCTIONS as REDUCING_TENSOR_FUNCTIONS

# Functions and methods that draw random numbers, and for which a device has kernels.
DRAWING = ON_DEVICE & {name for name, function in FUNCTIONS.items() if function.draws}
FUNCTIONAL = frozenset(
    f"torch.nn.functional.{name}"
    for name, function in FUNCTIONS.items()
    if "n" in function.where and function.kernel == "same"
)
# NumPy functions that torch also has, with the same or another name.
NUMPY_FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in "abs absolute add all amax amin any arange argmax argmin argsort array asarray "
    "ascontiguousarray ceil clip copy "
    "concatenate cos cumsum divide equal exp expand_dims flip floor greater isnan less log log1p log2 "
    "logical_and "
    "logical_not logical_or max maximum mean min minimum multiply nan_to_num negative power prod ravel "
    "repeat reshape roll "
    "round sign sin sort sqrt square squeeze stack std subtract sum swapaxes tanh tile transpose tril "
    "triu var vstack hstack "
    "where zeros_like ones_like float32 float64 int64 float16 fliplr flipud rot90".split()
)
ARRAY_METHODS = frozenset(
    "astype copy reshape transpose squeeze flatten ravel mean sum max min argmax argmin clip round std "
    "var cumsum argsort all "
    "any repeat swapaxes prod".split()
)
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
# Names that show that a program is exported or traced.
EXPORTING = frozenset(
    {"torch.onnx.is_in_onnx_export", "torch.jit.is_tracing", "torch.compiler.is_exporting", "torch.export.is_exporting"}
)
# A variable of unknown value with one of these words in its name is assumed to hold a device.
DEVICE_WORDS = frozenset({"device", "dev", "cuda", "gpu", "rank"})
# Accelerators other than CUDA devices: reads synchronize as well, but data loaders support neither pinned memory nor
# asynchronous copies for them.
OTHER_ACCELERATORS = ("mps", "xpu", "hpu", "npu", "mtia")
# Methods that only change the shape of a value.
FORM_METHODS = (SHAPES - ENLARGING) | {"numpy"}
# Names of tables that are indexed with a value from the device.
NUMPY_TABLES = frozenset({"numpy.eye", "numpy.identity", "numpy.arange"})

# Frameworks that move model and batches to the device themselves.
FRAMEWORKS = ("Accelerator(", "LightningModule", "transformers.Trainer", "Fabric(", "deepspeed")
# The names of the objects that run Accelerate and Fabric, and their methods whose results, from all processes, are on
# the device of the argument.
RUNNERS = frozenset({"accelerator", "fabric"})
COLLECTIVES = frozenset({"gather", "gather_for_metrics", "reduce", "all_gather", "all_reduce"})

# Methods of a tensor on the host, or of an array, whose result may share its memory, so that nothing is read yet.
VIEWS = SHARING | frozenset("numpy astype items values".split())
# Functions that are handed a tensor or an array, and whose result may share its memory.
VIEW_FUNCTIONS = SHARING_FUNCTIONS | frozenset(
    "numpy.asarray numpy.ascontiguousarray numpy.squeeze numpy.reshape numpy.transpose numpy.expand_dims numpy.ravel "
    "builtins.list builtins.tuple builtins.iter builtins.reversed typing.cast".split()
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
    PASSIVE_TENSOR_FUNCTIONS
    | FUNCTIONAL
    | frozenset(
        f"torch.{name}" for name in "no_grad inference_mode enable_grad zeros ones empty full is_tensor".split()
    )
)
# Context managers whose end does not wait for a device.
PASSIVE_CONTEXTS = frozenset(
    "torch.no_grad torch.inference_mode torch.enable_grad torch.autocast torch.amp.autocast torch.cuda.amp.autocast "
    "torch.cuda.stream torch.cuda.device tqdm.tqdm".split()
)
# Functions that leave few elements of many, as some methods of tensors and arrays do; those of Python get a list.
REDUCING_FUNCTIONS = (
    REDUCING_TENSOR_FUNCTIONS
    | frozenset(f"numpy.{name}" for name in (REDUCING | {"average", "median"}))
    | frozenset(f"builtins.{name}" for name in ("sum", "max", "min", "any", "all"))
)
