"""Methods of tensors that return content to Python: NumPy arrays, lists, text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from torchlint.runtime.labels import device_of, size_of
from torchlint.runtime.sim.tensors import on_device

if TYPE_CHECKING:
    from torchlint.runtime.sim.machine import Machine

T: TypeAlias = Any  # a tensor
_TENSOR = torch.Tensor
_WITH_NUMBERS = (_TENSOR, torch.nn.Parameter)
_NAMES = ("numpy", "__array__", "tolist", "__repr__", "__format__")
_NOT_NUMPY = (
    "can't convert cuda:{} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)


def install(simulation: Machine) -> None:
    """Replace the methods."""
    Reads(simulation).install()


class Reads:
    """The methods, for tensors of a device."""

    def __init__(self, simulation: Machine) -> None:
        self._sim = simulation
        self._real = {name: getattr(_TENSOR, name) for name in _NAMES}

    def install(self) -> None:
        """Put the methods in place."""
        real, sim = self._real, self._sim

        def numpy(tensor: T, *, force: bool = False) -> Any:
            if not force:
                raise _no_numpy(tensor)
            return real["numpy"](tensor.detach().cpu().resolve_conj().resolve_neg())

        def array(tensor: T, *_args: Any, **_kwargs: Any) -> Any:
            raise _no_numpy(tensor)

        def tolist(tensor: T) -> Any:
            self._waits(tensor, "tolist")
            with sim.recorder.quiet():
                return real["tolist"](tensor)

        def shown(tensor: T, **kwargs: Any) -> Any:
            if sim.alone() and _is_plain(tensor):
                with sim.because("print"):
                    return real["__repr__"](tensor, **kwargs)
            self._waits(tensor, "print")
            with sim.recorder.quiet():
                return real["__repr__"](tensor, **kwargs)

        def formatted(tensor: T, format_spec: str) -> Any:
            if tensor.dim() == 0:
                self._waits(tensor, "format")
            with sim.recorder.quiet():
                return real["__format__"](tensor, format_spec)

        methods = {"numpy": numpy, "__array__": array, "tolist": tolist, "__repr__": shown, "__format__": formatted}
        for name, method in methods.items():
            sim.patches.set(_TENSOR, name, on_device(sim, real[name], method))
        sim.patches.set(torch._tensor_str, "_str", self._text(torch._tensor_str._str))

    def _text(self, real: Any) -> Any:
        """Torch's text of a tensor, for which it reads numbers one by one, here under the dispatch mode."""

        def _str(tensor: T, *, tensor_contents: Any = None) -> Any:
            if self._sim.reason is None or not _is_plain(tensor):
                return real(tensor, tensor_contents=tensor_contents)
            with torch.no_grad():
                return torch._tensor_str._str_intern(tensor, tensor_contents=tensor_contents)

        return _str

    def _waits(self, tensor: T, why: str) -> None:
        self._sim.sync(why, size_of(tensor))


def _is_plain(tensor: T) -> bool:
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return type(tensor) in _WITH_NUMBERS and tensor.layout is torch.strided and not tensor.is_nested and not wrapped


def _no_numpy(tensor: T) -> TypeError:
    return TypeError(_NOT_NUMPY.format(device_of(tensor)))
