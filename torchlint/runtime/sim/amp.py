"""``autocast("cuda")``: CUDA's lists of operations, for tensors of the device alone.

Tensors of a device are tensors of the CPU to ATen, so the autocast of the CPU does the work for both
(:mod:`torchlint.runtime.sim.regions`). A function mode runs each function in the state of its tensors, and corrects
what differs: some operations run in another precision on CUDA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from torchlint.runtime.labels import device_of
from torchlint.runtime.sim import half
from torchlint.runtime.sim.operands import tensors
from torchlint.runtime.sim.regions import DEVICES, OFF, States, dtype_of, enabled, running

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

# CUDA's lists (torch/docs/source/amp.md), by the names of functions of Python. What runs in lower precision is on the
# CPU's list as well.
_FULL = (
    "__pow__ __rpow__ __rdiv__ __rtruediv__ acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss "
    "cdist cosine_similarity cross_entropy cumprod cumsum dist erfinv exp expm1 group_norm hinge_embedding_loss "
    "kl_div l1_loss layer_norm log log10 log_softmax log1p log2 margin_ranking_loss mse_loss multilabel_margin_loss "
    "multi_margin_loss nll_loss norm normalize pdist poisson_nll_loss pow prod reciprocal rsqrt sinh smooth_l1_loss "
    "soft_margin_loss softmax softmin softplus sum renorm tan triplet_margin_loss huber_loss"
)
_WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sample index_put scatter_add tensordot cat stack"
# Of the list of the CPU, but not of CUDA's.
_AS_THEY_ARE = "interpolate upsample avg_pool3d pad polar quantile nanquantile stft trace max_unpool2d max_unpool3d"
_RECURRENT = "lstm gru rnn_tanh rnn_relu"
_NARROW = (torch.float16, torch.bfloat16)
_UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def install(simulation: Machine) -> None:
    """Replace how regions begin and end, and the functions that read and set the states."""
    owner = torch.amp.autocast_mode.autocast
    enter, leave = owner.__enter__, owner.__exit__
    states = States()

    def begin(self: Any) -> Any:
        if self.device == "cuda" and self._enabled and self.fast_dtype is torch.float16:
            simulation.say_once(half.notice)
        if self.device in DEVICES:
            states.open(Corrections(states))
        return enter(self)

    def end(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        left = leave(self, kind, error, trace)
        if self.device in DEVICES:
            states.close()
        return left

    simulation.patches.set_all(owner, __enter__=begin, __exit__=end)
    for module in (torch, torch._C):
        simulation.patches.set_all(module, **states.functions())


class Corrections(TorchFunctionMode):
    """Runs functions of tensors of the host as the CPU does, and those of CUDA's lists as CUDA does."""

    def __init__(self, states: States) -> None:
        super().__init__()
        self._states = states

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", None)
        if name == "__get__":
            return func(*args, **kwargs)
        on_device = _on_device(args, kwargs)
        with self._states.of(on_device=on_device):
            rule = _RULES.get(name) if on_device and enabled("cuda") else None
            return rule(func, args, kwargs) if rule is not None else func(*args, **kwargs)


def _on_device(args: Any, kwargs: Any) -> bool:
    return any(device_of(tensor) is not None for tensor in tensors((args, kwargs)))


def _as_it_is(func: Any, args: Any, kwargs: Any) -> Any:
    with running(OFF):
        return func(*args, **kwargs)


def _full(func: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("dtype") is not None:
        return _as_it_is(func, args, kwargs)
    return _as_it_is(func, *_cast((args, kwargs), torch.float32, _NARROW))


def _widest(func: Any, args: Any, kwargs: Any) -> Any:
    found = {tensor.dtype for tensor in tensors((args, kwargs)) if tensor.is_floating_point()}
    if len(found) < 2:
        return _as_it_is(func, args, kwargs)
    wide = torch.float32 if torch.float32 in found else next(iter(found))
    return _as_it_is(func, *_cast((args, kwargs), wide, _NARROW))


def _recurrent(func: Any, args: Any, kwargs: Any) -> Any:
    """Recurrent layers: the kernels of oneDNN take no halves."""
    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        return _as_it_is(func, *_cast((args, kwargs), dtype_of("cuda"), (torch.float32, *_NARROW)))
    finally:
        torch._C._set_mkldnn_enabled(before)


def _refused(func: Any, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(_UNSAFE)


def _cast(value: Any, dtype: Any, eligible: tuple[Any, ...]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype in eligible and device_of(value) is not None else value
    if isinstance(value, dict):
        return {name: _cast(member, dtype, eligible) for name, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_cast(member, dtype, eligible) for member in value)
    return value


_RULES: dict[str | None, Callable[[Any, Any, Any], Any]] = {
    **dict.fromkeys(_FULL.split(), _full),
    **dict.fromkeys(_WIDEST.split(), _widest),
    **dict.fromkeys(_AS_THEY_ARE.split(), _as_it_is),
    **dict.fromkeys(_RECURRENT.split(), _recurrent),
    "binary_cross_entropy": _refused,
}
