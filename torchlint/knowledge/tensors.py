"""Functions, methods and classes of torch, by their results. Sources: the PyTorch reference manual, 2.4 to 2.15."""

from __future__ import annotations

FACTORIES = frozenset(
    f"torch.{name}"
    for name in "tensor zeros ones empty full eye arange range rand randn randint randperm linspace "
    "logspace as_tensor asarray "
    "tril_indices triu_indices normal sparse_coo_tensor hann_window hamming_window scalar_tensor".split()
)
LEGACY = {
    f"torch.{prefix}{name}Tensor": device
    for prefix, device in (("", "cpu"), ("cuda.", "cuda"))
    for name in ("", "Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Char", "Bool")
}
# The names of the types of tensors on the CPU; `Tensor` mostly occurs in annotations.
CPU_TYPES = frozenset(name.rpartition(".")[2] for name, device in LEGACY.items() if device == "cpu") - {"Tensor"}
_DTYPES = {
    "": "float32",
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Byte": "uint8",
    "Char": "int8",
    "Bool": "bool",
}
LEGACY_DTYPES = {name: _DTYPES[name.rpartition(".")[2].removesuffix("Tensor")] for name in LEGACY}
FROM_HOST = frozenset({"torch.from_numpy", "torch.frombuffer"})

# Methods whose result says how a tensor is stored, and functions of `torch` that return the same.
_ABOUT_STORAGE = frozenset(
    "is_complex is_conj is_neg is_signed is_inference is_shared is_coalesced is_set_to is_same_size storage_offset "
    "sparse_dim dense_dim has_names".split()
)
# Functions of the torch namespace whose result is not a single tensor, besides those with such prefixes.
_NOT_TENSOR_PREFIXES = ("get_", "set_", "is_")
_NOT_TENSOR_FUNCTIONS = _ABOUT_STORAGE | frozenset(
    "load save device Generator Size manual_seed seed no_grad enable_grad inference_mode compile numel "
    "use_deterministic_algorithms finfo iinfo typename autocast are_deterministic_algorithms_enabled equal allclose "
    "jit vmap initial_seed promote_types result_type dtype export hub broadcast_shapes can_cast".split()
)


def gives_tensor(name: str) -> bool:
    """Whether a function of torch may give a tensor, by its name in the namespace ``torch`` itself."""
    named = name in _NOT_TENSOR_FUNCTIONS or name.startswith(_NOT_TENSOR_PREFIXES)
    return not named or name == "is_nonzero"  # which reads its argument, as a condition does


# The namespaces of devices, with those that packages of vendors add. Their functions give numbers, texts and objects.
BACKENDS = tuple(f"torch.{name}." for name in "cuda xpu mps accelerator npu hpu mtia mlu musa xla cpu".split())
# Functions of any of them that give a device, a number, or several.
CURRENT_DEVICE = frozenset({"current_device", "current_accelerator"})
NUMBERS_OF_BACKENDS = frozenset(
    "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
    "memory_usage current_allocated_memory driver_allocated_memory recommended_max_memory current_device_index "
    "initial_seed utilization temperature power_draw clock_rate".split()
)
TUPLES_OF_BACKENDS = frozenset({"mem_get_info", "get_memory_info", "get_device_capability"})
OF_BACKENDS = CURRENT_DEVICE | NUMBERS_OF_BACKENDS | TUPLES_OF_BACKENDS
# What a module owns and is moved with it; `Buffer` since torch 2.5.
PARAMETERS = frozenset(f"torch.nn.{name}" for name in "Parameter parameter.Parameter Buffer parameter.Buffer".split())
# Functions of `torch.nn.utils` that return a norm of parameters or gradients, on their device.
NORMS = frozenset(
    f"torch.nn.utils.{name}" for name in "clip_grad_norm_ get_total_norm clip_grad.clip_grad_norm_".split()
)
# Functions that return a tuple of tensors (or of lists of them).
TUPLE_FUNCTIONS = frozenset({"torch.autograd.grad"}) | frozenset(
    f"torch.{name}"
    for name in "sort topk unbind split chunk meshgrid svd qr eig mode kthvalue broadcast_tensors".split()
)
# Methods whose result is neither a tensor nor on the device.
HOST_METHODS = {
    **dict.fromkeys(_ABOUT_STORAGE, "scalar"),
    "item": "scalar",
    "tolist": "list",
    "numpy": "ndarray",
    "size": "size",
    "dim": "scalar",
    "numel": "scalar",
    "nelement": "scalar",
    "element_size": "scalar",
    "data_ptr": "scalar",
    "ndimension": "scalar",
    "stride": "size",
    "is_contiguous": "scalar",
    "is_floating_point": "scalar",
    "is_pinned": "scalar",
    "get_device": "scalar",
    "backward": "none",
    "register_hook": "unknown",
    "storage": "unknown",
    "type_": "unknown",
}
TUPLE_METHODS = frozenset("topk sort split chunk unbind unique kthvalue mode tensor_split svd".split())
# With a dimension, these return values and indices.
VALUES_AND_INDICES = frozenset({"max", "min", "median", "cummax", "cummin"})
CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "byte": "uint8",
    "char": "int8",
    "bool": "bool",
}
# Functions and methods whose results are masks.
MASKING = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isfinite isneginf isposinf "
    "isclose isin isreal signbit greater greater_equal less less_equal not_equal".split()
)
# Methods that keep the dtype, and mostly only change the shape.
SAME_DTYPE = frozenset(
    "view reshape flatten ravel squeeze unsqueeze expand expand_as repeat tile transpose permute t movedim swapaxes "
    "unflatten narrow select index_select gather flip roll masked_fill view_as reshape_as "
    "repeat_interleave tril triu".split()
)
# Methods that keep content, dtype and shape.
SAME_CONTENT = frozenset({"detach", "clone", "contiguous", "requires_grad_", "pin_memory"})
# Methods of tensors that make another one on the same device.
NEW = frozenset({"new_tensor", "new_zeros", "new_ones", "new_full", "new_empty"})
# Functions whose results are no booleans unless a dtype says so, and so are integers where they are indices.
INTEGERS = frozenset({"torch.randint", "torch.randperm", "torch.arange"})
# Factories of one-dimensional tensors, and factories that take sizes.
VECTORS = frozenset("arange range linspace logspace randperm hann_window hamming_window".split())
SIZED = frozenset("zeros ones empty rand randn".split())
# Attributes of tensors that devices, dtypes, strings and numbers lack.
TENSOR_USES = frozenset(
    "shape size ndim dim numel view reshape permute unsqueeze squeeze contiguous flatten transpose expand repeat "
    "detach masked_fill softmax backward requires_grad is_cuda".split()
)
TENSOR_ATTRIBUTES = frozenset({"data", "grad", "T", "mT", "H", "mH", "real", "imag"})
MODULE_BASES = frozenset(
    {
        "torch.nn.Module",
        "pytorch_lightning.LightningModule",
        "torch.nn.Sequential",
        "torch.nn.ModuleList",
        "torch.jit.ScriptModule",
    }
)
LIGHTNING_BASES = frozenset({"pytorch_lightning.LightningModule", "pytorch_lightning.core.LightningModule"})
# Framework classes that move model and batches to the device.
FRAMEWORK_BASES = LIGHTNING_BASES | {"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"}
DATASET_BASES = frozenset(
    {
        "torch.utils.data.Dataset",
        "torch.utils.data.IterableDataset",
        "torchvision.datasets.VisionDataset",
        "torchvision.datasets.ImageFolder",
        "torchvision.datasets.DatasetFolder",
    }
)
# What gives parts of the dataset that is its first argument.
DATASET_PARTS = frozenset({"torch.utils.data.Subset", "torch.utils.data.random_split"})
# Wrappers of iterables that hand on what the first argument yields.
TRANSPARENT_ITERATORS = frozenset(
    "tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.trange tqdm.std.tqdm builtins.iter builtins.reversed "
    "itertools.islice itertools.cycle itertools.chain rich.progress.track builtins.sorted".split()
)
