"""Backend flags and the calls that set them.

Sources: torch.backends in torch 2.4 to 2.15 (``torch/backends/*/__init__.py``), the reference manual, and
Lightning's Trainer.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Preference(NamedTuple):
    """What a project wants if both determinism and cuDNN's benchmark are on, which the code does not show."""

    prefer: Literal["reproducible", "fast"] | None = None


CUDNN = "torch.backends.cudnn"
BENCHMARK = f"{CUDNN}.benchmark"
DETERMINISTIC = f"{CUDNN}.deterministic"
ENABLED = f"{CUDNN}.enabled"
# Two settings made by calls, which are analyzed like flags.
ALGORITHMS = "torch.use_deterministic_algorithms"
AUTOTUNE = "torch.compile.max-autotune"
# A part of each name, which occurs in every file that writes the flag, even through helper functions.
FLAG_IDENTIFIERS = {
    BENCHMARK: "benchmark",
    DETERMINISTIC: "deterministic",
    ENABLED: "enabled",
    ALGORITHMS: "deterministic",
    AUTOTUNE: "autotune",
}
ATTRIBUTES = frozenset({BENCHMARK, DETERMINISTIC, ENABLED})
FLAG_WORDS = frozenset(
    "benchmark deterministic enabled use_deterministic_algorithms set_deterministic set_deterministic_debug_mode "
    "setattr compile Trainer".split()
)
DEBUG_MODE = frozenset({"torch.set_deterministic_debug_mode"})
DETERMINISM = frozenset({ALGORITHMS, "torch.set_deterministic"})
COMPILE = "torch.compile"
# Calls that set both flags through arguments with these names.
TRAINERS = frozenset({"pytorch_lightning.Trainer", "pytorch_lightning.fabric.Fabric"})
SETTERS = frozenset({f"{CUDNN}.flags", "pytorch_lightning.Trainer"})
# Words in a comment, docstring or function name that show that the combination is intended.
INTENT = (
    "per process",
    "within a process",
    "within one process",
    "on purpose",
    "deliberate",
    "intentional",
    "fastest det",
)
# Words in a comment that show that cuDNN is disabled to avoid a bug.
BUG_WORDS = (
    "bug",
    "issue",
    "http",
    "workaround",
    "work around",
    "not_supported",
    "cudnn_status",
    "not supported",
    "fails",
    "crash",
    "error",
    "nan",
    "second order",
    "double backward",
    "fix",
    "memory",
    "segfault",
)
# Layers with cuDNN kernels, by the prefix of their names.
CUDNN_LAYERS = ("Conv", "LazyConv", "RNN", "LSTM", "GRU", "CTC", "BatchNorm", "SyncBatchNorm", "LazyBatchNorm")
# Words in a condition that selects a machine or a version, or depends on a user's option.
CHOICE_WORDS = frozenset("version platform hip rocm cudnn system windows capability arch".split())

# Attributes that can be assigned, by module, with the version of torch that introduced them.
SETTABLE_FLAGS: dict[str, dict[str, str]] = {
    "torch.backends": {"fp32_precision": "2.9"},
    "torch.backends.cudnn": {
        "enabled": "0.1",
        "benchmark": "0.1",
        "deterministic": "0.4",
        "allow_tf32": "1.7",
        "benchmark_limit": "1.13",
        "fp32_precision": "2.9",
        "conv": "2.9",
        "rnn": "2.9",
        "depthwise_kernel": "2.13",
    },
    "torch.backends.cuda": {
        "matmul": "1.7",
        "cufft_plan_cache": "1.0",
        "preferred_linalg_library": "1.11",
    },
    "torch.backends.mkldnn": {
        "enabled": "1.10",
        "deterministic": "2.6",
        "allow_tf32": "2.6",
        "fp32_precision": "2.9",
        "matmul": "2.9",
        "conv": "2.9",
        "rnn": "2.9",
    },
    "torch.backends.opt_einsum": {"enabled": "1.13", "strategy": "1.13"},
    "torch.backends.quantized": {"engine": "1.3"},
    "torch.backends.nnpack": {"enabled": "2.0"},
}
# The right place of a flag that was written to the wrong module.
MISPLACED_FLAGS: dict[str, str] = {
    "torch.backends.benchmark": "torch.backends.cudnn.benchmark",
    "torch.backends.deterministic": "torch.backends.cudnn.deterministic",
    "torch.backends.allow_tf32": "torch.backends.cuda.matmul.allow_tf32",
    "torch.backends.cuda.allow_tf32": "torch.backends.cuda.matmul.allow_tf32",
    "torch.backends.cuda.benchmark": "torch.backends.cudnn.benchmark",
    "torch.backends.cuda.deterministic": "torch.backends.cudnn.deterministic",
    "torch.backends.cuda.enabled": "torch.backends.cudnn.enabled",
    "torch.backends.cudnn.matmul": "torch.backends.cuda.matmul",
    "torch.cuda.benchmark": "torch.backends.cudnn.benchmark",
    "torch.cuda.deterministic": "torch.backends.cudnn.deterministic",
    "torch.backends.cudnn.fastest": "",
    "torch.backends.cudnn.verbose": "",
}
# Functions that may be mistaken for an attribute.
FUNCTIONS = frozenset(
    "torch.use_deterministic_algorithms torch.manual_seed torch.seed torch.cuda.manual_seed "
    "torch.cuda.manual_seed_all torch.set_float32_matmul_precision torch.set_default_dtype torch.set_num_threads "
    "torch.set_grad_enabled torch.set_default_device torch.set_default_tensor_type torch.cuda.set_device "
    "torch.cuda.empty_cache torch.cuda.synchronize torch.autograd.set_detect_anomaly torch.backends.cudnn.flags "
    "torch.set_deterministic torch.set_deterministic_debug_mode numpy.random.seed random.seed".split()
)
# Context managers, which have no effect as a statement of their own.
CONTEXTS = frozenset(
    "torch.no_grad torch.inference_mode torch.enable_grad torch.autocast torch.amp.autocast "
    "torch.cuda.amp.autocast torch.autograd.detect_anomaly torch.backends.cudnn.flags".split()
)
VALIDATE = "set_default_validate_args"
# Methods that have no effect if they are not called.
MODULE_METHODS = frozenset("eval train zero_grad".split())
OPTIMIZER_METHODS = frozenset("zero_grad step".split())
TENSOR_METHODS = frozenset("backward zero_ detach_ requires_grad_".split())
# Variables that CUDA reads when it starts.
CUDA_VARIABLES = frozenset(
    "CUDA_VISIBLE_DEVICES CUDA_LAUNCH_BLOCKING PYTORCH_CUDA_ALLOC_CONF CUDA_DEVICE_ORDER "
    "PYTORCH_NO_CUDA_MEMORY_CACHING PYTORCH_ALLOC_CONF".split()
)
# Calls that initialize CUDA, whatever their arguments.
CUDA_INITIALIZERS = frozenset(
    "torch.cuda.init torch.cuda.set_device torch.cuda.current_device torch.cuda.get_device_name "
    "torch.cuda.get_device_properties torch.cuda.synchronize torch.cuda.empty_cache torch.cuda.current_stream "
    "torch.cuda.Stream torch.cuda.Event torch.cuda.mem_get_info torch.cuda.get_device_capability".split()
)

# Words in names of functions that set up reproducibility, and of scripts that only evaluate.
SEED_WORDS = frozenset({"seed", "seeds", "seeding"})

# Evidence that the convolutions get inputs of varying shapes.
PADDING_FUNCTIONS = frozenset({"torch.nn.utils.rnn.pad_sequence", "torch.nn.utils.rnn.pack_sequence"})
TRANSFORMS = ("torchvision.transforms.", "torchvision.transforms.v2.")
CONVOLUTIONS = frozenset("Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d".split())
FIXED_CROPS = frozenset("RandomResizedCrop CenterCrop RandomCrop FiveCrop TenCrop RandomSizedCrop".split())
CNN_WORDS = frozenset(
    "resnet resnext vgg densenet efficientnet mobilenet inception googlenet alexnet squeezenet shufflenet unet "
    "convnext regnet wide_resnet mnasnet deeplabv3 fcn cnn dcgan".split()
)
DETECTION = "torchvision.models.detection."
# Sample data sets whose images all have the same size.
FIXED_DATASETS = frozenset("MNIST FashionMNIST KMNIST EMNIST QMNIST CIFAR10 CIFAR100 SVHN STL10 USPS".split())
# Trainers that set the benchmark flag themselves, or tune in another way.
OWN_TUNING = tuple("pytorch_lightning lightning composer mmengine mmcv detectron2 max-autotune fastai".split())
