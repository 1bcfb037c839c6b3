"""Operations that exist on the host and on the device alike: a detour over the host for them buys nothing.

Sources: the PyTorch and NumPy reference manuals. Linear algebra, scatter and histogram operations are
left out on purpose: they are moved to the CPU for want of a kernel, for precision or for determinism.
"""

from __future__ import annotations

# Methods of a tensor with a kernel on every backend.
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
FUNCTIONAL = frozenset(
    f"torch.nn.functional.{name}"
    for name in "interpolate pad softmax log_softmax relu normalize one_hot sigmoid tanh avg_pool2d max_pool2d".split()
)
# NumPy functions that torch has under the same or another name.
NUMPY_FUNCTIONS = frozenset(
    f"numpy.{name}"
    for name in "abs absolute add all amax amin any arange argmax argmin argsort array asarray "
    "ascontiguousarray ceil clip "
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
# Reading these leaves the value where it is.
NEUTRAL_READS = frozenset("shape size dtype device ndim dim numel nelement requires_grad is_cuda".split())
# What a comment says where the detour is meant.
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
# What tells that a program is being exported or traced.
EXPORTING = frozenset(
    {"torch.onnx.is_in_onnx_export", "torch.jit.is_tracing", "torch.compiler.is_exporting", "torch.export.is_exporting"}
)
# A variable of unknown value with one of these words in its name is taken for a device to move to.
DEVICE_WORDS = frozenset({"device", "dev", "cuda", "gpu", "rank"})
# Accelerators that are no CUDA devices: reads wait for them as well, but neither pinned memory nor asynchronous copies
# are to be had from a data loader.
OTHER_ACCELERATORS = ("mps", "xpu", "hpu", "npu", "mtia")
# Methods that change the form of a value and compute nothing.
FORM_METHODS = frozenset(
    "numpy detach clone contiguous reshape view squeeze unsqueeze flatten permute transpose t".split()
)
# Tables that an index from the device looks things up in.
NUMPY_TABLES = frozenset({"numpy.eye", "numpy.identity", "numpy.arange"})

# Frameworks that put model and batches on the device themselves.
FRAMEWORKS = ("Accelerator(", "LightningModule", "transformers.Trainer", "Fabric(", "deepspeed")
