"""Functions, methods and classes of torch, by their results. Sources: the PyTorch reference manual, 2.4 to 2.15."""

from __future__ import annotations

from torchlint.catalogue.functions import OF_TORCH
from torchlint.catalogue.views import ONLY, TENSOR_TYPES, functions

LEGACY = {
    f"torch.{prefix}{name}": device
    for prefix, device in (("", "cpu"), ("cuda.", "cuda"))
    for name in ("Tensor", *TENSOR_TYPES)
}
# The names of the types of tensors on the CPU; `Tensor` mostly occurs in annotations.
CPU_TYPES = frozenset(name.rpartition(".")[2] for name, device in LEGACY.items() if device == "cpu") - {"Tensor"}
LEGACY_DTYPES = {name: TENSOR_TYPES.get(name.rpartition(".")[2], "float32") for name in LEGACY}
# Functions of the torch namespace whose result is not a single tensor.
_NOT_TENSORS = ("number", "size", "flag", "other")
_NOT_TENSOR_PREFIXES = ("get_", "set_", "is_")


def gives_tensor(name: str) -> bool:
    """Whether a function of torch may give a tensor, by its name in the namespace ``torch`` itself."""
    known = OF_TORCH.get(name)
    named = (known is not None and known.gives in _NOT_TENSORS) or name.startswith(_NOT_TENSOR_PREFIXES)
    return not named or name == "is_nonzero"  # which reads its argument, as a condition does


# The namespaces of devices, with those that packages of vendors add. Their functions give numbers, texts and objects.
BACKENDS = tuple(f"torch.{name}." for name in "cuda xpu mps accelerator npu hpu mtia mlu musa xla cpu".split())
# What does not hold in a normal run on a GPU.
NEVER = frozenset(
    "torch.backends.mps.is_available torch.onnx.is_in_onnx_export torch.jit.is_scripting torch.jit.is_tracing "
    "torch.compiler.is_compiling torch.compiler.is_exporting".split()
)
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
TUPLE_FUNCTIONS = functions(lambda function: function.gives in ("pair", "list")) | {"torch.autograd.grad"}
# Attributes of tensors that devices, dtypes, strings and numbers lack.
TENSOR_USES = ONLY | {"shape", "ndim", "requires_grad", "is_cuda"}
MODULE_BASES = frozenset(
    "torch.nn.Module pytorch_lightning.LightningModule torch.nn.Sequential torch.nn.ModuleList "
    "torch.jit.ScriptModule".split()
)
LIGHTNING_BASES = frozenset({"pytorch_lightning.LightningModule", "pytorch_lightning.core.LightningModule"})
# Framework classes that move model and batches to the device.
FRAMEWORK_BASES = LIGHTNING_BASES | {"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"}
DATASET_BASES = frozenset(
    "torch.utils.data.Dataset torch.utils.data.IterableDataset torchvision.datasets.VisionDataset "
    "torchvision.datasets.ImageFolder torchvision.datasets.DatasetFolder".split()
)
# Wrappers of iterables that hand on what the first argument yields.
TRANSPARENT_ITERATORS = frozenset(
    "tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm tqdm.trange tqdm.std.tqdm builtins.iter builtins.reversed "
    "itertools.islice itertools.cycle itertools.chain rich.progress.track builtins.sorted".split()
)
