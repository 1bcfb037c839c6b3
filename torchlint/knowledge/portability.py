"""Requests for CUDA, code that needs CUDA, and code that only looks like it. Sources: the PyTorch reference manual."""

from __future__ import annotations

AVAILABILITY_CHECKS = frozenset(
    "torch.cuda.is_available torch.cuda.device_count torch.cuda.is_initialized "
    "torch.accelerator.is_available "
    "torch.accelerator.device_count torch.backends.cudnn.is_available torch._C._cuda_getDeviceCount".split()
)
# Words of which one occurs in every file that checks whether CUDA is available.
AVAILABILITY_WORDS = ("is_available", "device_count", "is_initialized", "getDeviceCount")
# What a function does if CUDA is missing: it ends the program, or checks and may select another device.
EXITS, FALLS_BACK = "ends", "falls back"
# Functions that end the program without CUDA contain such a line, or are named after devices.
CUDA_EXIT_CHECK = r"is_available(?<=(?:not|ert)\storch\.cuda\.is_available)"
PARSERS = frozenset({"argparse.ArgumentParser"})
PARSE_METHODS = frozenset({"parse_args", "parse_known_args"})
# A condition on a name with one of these words checks whether CUDA is available.
POSITIVE_WORDS = frozenset({"cuda", "gpu", "gpus", "ngpu", "ngpus", "accelerator", "nvidia"})
NEGATIVE_WORDS = frozenset({"cpu", "nocuda", "nogpu"})
NEGATIONS = frozenset({"no", "not", "disable", "without", "force"})
# A switch of these words alone chooses between CUDA and the CPU: `--no-cuda`, but not `--cuda-deterministic`.
DEVICE_OPTIONS = frozenset({"cuda", "gpu", "cpu"})
SWITCHES = frozenset("no use disable enable with without on force only".split())
# Exceptions raised if CUDA is missing.
MISSING_CUDA_EXCEPTIONS = frozenset({"RuntimeError", "AssertionError", "Exception", "BaseException"})
# Packages that need CUDA: a file that cannot work without one needs CUDA.
CUDA_PACKAGES = frozenset(
    "triton tilelang cupy cudf cuml flash_attn flash_attn_interface flashinfer bitsandbytes pycuda tensorrt "
    "torch_tensorrt torch2trt apex nvidia cuda transformer_engine cutlass selective_scan_cuda causal_conv1d_cuda "
    "tinycudann nvdiffrast diff_gaussian_rasterization simple_knn deep_gemm deep_ep".split()
)
CUDA_ONLY_CALLS = frozenset(
    "torch.cuda.Stream torch.cuda.CUDAGraph torch.cuda.graph torch.cuda.make_graphed_callables "
    "torch.cuda.nvtx.range_push torch.cuda.nvtx.range".split()
)
CUDA_EXTENSION = "torch.utils.cpp_extension.CUDAExtension"
EXTENSIONS = frozenset({"torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"})
# Identifiers of which one occurs in every function that calls one of those.
CUDA_NAMES = frozenset(
    "Stream CUDAGraph graph make_graphed_callables nvtx init_process_group cpp_extension load load_inline".split()
)
# Identifiers of which one occurs in every function that requests CUDA.
REQUEST_NAMES = frozenset({"cuda", "set_default_tensor_type"})
# Libraries whose objects have their own `cuda` or `to` methods.
NOT_TORCH = frozenset(
    "torch_geometric tensordict warp dgl jax tensorflow cupy mxnet onnxruntime numba pint astropy polars".split()
)
# Packages whose functions take torch devices.
TORCH_LIBRARIES = frozenset(
    "torch torchvision torchaudio transformers timm diffusers whisper clip open_clip sentence_transformers".split()
)
# The parameters of `torch.load` in torch 2.13.
LOAD_PARAMETERS = ("f", "map_location", "pickle_module")
DEVICE_NAME = r"(?:(?i:device|cuda|gpu)|\b(?i:dev)\b)"  # functions with such names may return devices
DISTRIBUTED_WORDS = ("LOCAL_RANK", "DistributedDataParallel", "init_process_group", "mp.spawn", "torchrun")
# A name of these words, or an option with such a name, selects the device of the whole program.
GENERIC_DEVICE_WORDS = frozenset("device dev torch default the my main cuda gpu cpu use no id ids args".split())
# Calls that raise without CUDA, so that a function with one needs CUDA on any device.
CUDA_ONLY_FUNCTIONS = frozenset(
    f"torch.cuda.{name}"
    for name in "synchronize Event current_device current_stream default_stream get_device_name "
    "get_device_properties get_device_capability reset_peak_memory_stats reset_max_memory_allocated mem_get_info "
    "memory_summary set_device "
    "device init ipc_collect get_rng_state".split()
)
# Wrappers of a model, in `torch.nn`, that take the devices to use as `device_ids`.
PARALLEL = frozenset({"DataParallel", "DistributedDataParallel"})
# Collectives, whose backend requires tensors on a certain device.
COLLECTIVES = frozenset(
    f"torch.distributed.{name}"
    for name in "all_reduce all_gather all_gather_into_tensor all_gather_object all_to_all all_to_all_single broadcast "
    "gather reduce reduce_scatter reduce_scatter_tensor scatter send recv barrier".split()
)
MOVE_METHODS = frozenset({"cuda", "to", "cpu"})
# Contexts in which no memory is allocated.
FAKE_MODES = frozenset({"torch._subclasses.FakeTensorMode", "torch._subclasses.fake_tensor.FakeTensorMode"})
# A variable of unknown value with one of these words in its name is assumed to hold a device.
DEVICE_WORDS = frozenset({"device", "dev", "cuda", "gpu", "rank"})
# Accelerators other than CUDA devices: reads synchronize as well, but data loaders support neither pinned memory nor
# asynchronous copies for them.
OTHER_ACCELERATORS = ("mps", "xpu", "hpu", "npu", "mtia")
# Frameworks that move model and batches to the device themselves.
FRAMEWORKS = ("Accelerator(", "LightningModule", "transformers.Trainer", "Fabric(", "deepspeed")
