"""Operations that exist both on the host and on the device, so that a detour over the host gains nothing.

Sources: the PyTorch and NumPy reference manuals. Linear algebra, scatter and histogram operations are excluded: they
are moved to the CPU because a kernel is missing, for precision or for determinism.
"""

from __future__ import annotations

# Tensor methods with kernels for every backend.
TENSOR_METHODS = frozenset(
    "abs add addcmul all amax amin any argmax argmin argsort bool byte clamp clamp_ clip clone contiguous "
    "cos cumsum detach "
    "detach_ diff div double eq exp expand expand_as flatten flip float floor ge gt half index_select int "
    "isnan le log "
    "log1p log_softmax logical_and logical_not logical_or long lt masked_fill max mean min mul ne neg "
    "nonzero norm numpy "
    "permute pow reciprocal relu repeat repeat_interleave requires_grad_ reshape resize roll round rsqrt "
    "select sigmoid "
    "sign sin softmax sort split sqrt square squeeze std sub sum t take tanh tile topk transpose tril "
    "triu type unbind "
    "unsqueeze unfold var view view_as where zero_ copy_ fill_ float_power chunk narrow gather".split()
)
TORCH_FUNCTIONS = frozenset(
    f"torch.{name}"
    for name in "abs add all amax amin any arange argmax argmin argsort cat clamp clip concat concatenate "
    "cos cumsum diff div "
    "eq exp flatten flip floor gather ge gt isnan le log log1p log_softmax logical_and logical_not "
    "logical_or lt "
    "masked_select max maximum mean min minimum mul ne neg norm permute pow relu repeat_interleave "
    "reshape roll round rsqrt "
    "sigmoid sign sin softmax sort sqrt square squeeze stack std sub sum take tanh tile topk transpose "
    "tril triu unbind "
    "unsqueeze var where detach clone from_numpy as_tensor tensor asarray FloatTensor LongTensor "
    "Tensor".split()
)
# Functions and methods that draw random numbers, and others that a device has, but that may wait or copy there.
DRAWING = frozenset("multinomial bernoulli poisson normal".split())
ON_DEVICE = DRAWING | frozenset(
    "matmul mm bmm einsum outer prod cumprod cummax cummin logsumexp median kthvalue erf ceil trunc frac fmod "
    "remainder lerp cross logical_xor isfinite isinf nan_to_num cdist diag diagonal trace floor_divide true_divide "
    "nonzero unique "
    "index_fill addcdiv sinh cosh tan atan atan2 log2 log10 exp2 expm1 hypot argwhere".split()
)
FUNCTIONAL = frozenset(
    f"torch.nn.functional.{name}"
    for name in "interpolate pad softmax log_softmax relu normalize one_hot sigmoid tanh avg_pool2d max_pool2d".split()
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
# Attributes that can be read without moving the value.
METADATA_ATTRIBUTES = frozenset("shape size dtype device ndim dim numel nelement requires_grad is_cuda".split())
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
# Methods that only change the shape or dtype of a value.
FORM_METHODS = frozenset(
    "numpy detach clone contiguous reshape view squeeze unsqueeze flatten permute transpose t".split()
)
# Names of tables that are indexed with a value from the device.
NUMPY_TABLES = frozenset({"numpy.eye", "numpy.identity", "numpy.arange"})

# Frameworks that move model and batches to the device themselves.
FRAMEWORKS = ("Accelerator(", "LightningModule", "transformers.Trainer", "Fabric(", "deepspeed")
# The names of the objects that run Accelerate and Fabric, and their methods whose results, from all processes, are on
# the device of the argument.
RUNNERS = frozenset({"accelerator", "fabric"})
COLLECTIVES = frozenset({"gather", "gather_for_metrics", "reduce", "all_gather", "all_reduce"})

# Methods of a tensor on the host, or of an array, whose result may share its memory, so that nothing is read yet.
VIEWS = frozenset(
    "numpy detach view view_as squeeze unsqueeze flatten ravel permute transpose swapaxes t reshape expand expand_as "
    "unbind chunk split narrow select contiguous movedim float double half bfloat16 long int short byte char bool "
    "requires_grad_ astype items values".split()
)
# Functions that are handed a tensor or an array, and whose result may share its memory.
VIEW_FUNCTIONS = frozenset(
    "numpy.asarray numpy.ascontiguousarray numpy.squeeze numpy.reshape numpy.transpose numpy.expand_dims numpy.ravel "
    "torch.as_tensor torch.asarray torch.from_numpy torch.detach torch.squeeze torch.unsqueeze torch.reshape "
    "torch.flatten torch.permute torch.transpose builtins.list builtins.tuple builtins.iter builtins.reversed "
    "typing.cast".split()
)
# Methods that read the elements of a tensor on the host, or of an array.
ELEMENT_READERS = (TENSOR_METHODS - VIEWS - {"zero_", "copy_", "fill_", "detach_", "numel", "size", "dim"}) | frozenset(
    "item tolist copy dot matmul mm bmm tofile tobytes prod argpartition bincount unique sub_ add_ mul_ "
    "div_ clamp_ masked_select index_add".split()
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
    | (TENSOR_METHODS - {"nonzero", "repeat_interleave"})
    | frozenset("update keys get format join strip startswith endswith clear size numel dim".split())
)
# What does not wait for a device, beside the functions above.
PASSIVE_MODULES = ("numpy.", "math.", "time.", "os.", "random.", "tqdm.")
PASSIVE_FUNCTIONS = (TORCH_FUNCTIONS | FUNCTIONAL) - {"torch.where", "torch.masked_select"} | frozenset(
    f"torch.{name}" for name in "no_grad inference_mode enable_grad zeros ones empty full arange is_tensor".split()
)
# Context managers whose end does not wait for a device.
PASSIVE_CONTEXTS = frozenset(
    "torch.no_grad torch.inference_mode torch.enable_grad torch.autocast torch.amp.autocast torch.cuda.amp.autocast "
    "torch.cuda.stream torch.cuda.device tqdm.tqdm".split()
)
# Methods of tensors and arrays that leave few elements of many, and functions that do; those of Python get a list.
REDUCING_METHODS = frozenset("argmax argmin max min amax amin mean sum any all prod std var count_nonzero".split())
REDUCING_FUNCTIONS = (
    frozenset(f"numpy.{name}" for name in (REDUCING_METHODS | {"average", "median", "nanmean"}))
    | frozenset(f"torch.{name}" for name in REDUCING_METHODS)
    | frozenset(f"builtins.{name}" for name in ("sum", "max", "min", "any", "all"))
)
