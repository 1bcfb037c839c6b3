"""Watches backend flags, seeds, and the layers that depend on them."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch

from torchlint.runtime.instrument import Instrument, Watch
from torchlint.runtime.marks import layer_flags
from torchlint.runtime.patches import Patches
from torchlint.runtime.sites import NOWHERE, Site

_SETTERS = {
    "_set_cudnn_enabled": "enabled",
    "_set_cudnn_benchmark": "benchmark",
    "_set_cudnn_deterministic": "deterministic",
    "_set_deterministic_algorithms": "algorithms",
}
_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
_OPERATIONS = [f"aten::{name}" for name in ("convolution", "_convolution", *_CONVOLUTIONS)]
_RECURRENT = "lstm gru rnn_tanh rnn_relu".split()
_KEPT = 200


class Backends(Instrument):
    """Watches writes of flags, and calls of convolutions and recurrent layers."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._layers = self._initial = self._seeded = 0
        self.timeline: list[dict[str, Any]] = []

    def install(self, patches: Patches) -> None:
        """Wrap setters, seeds and layers."""
        for setter, flag in _SETTERS.items():
            patches.set(torch._C, setter, self._setter(flag, getattr(torch._C, setter)))
        owner = type(torch.backends.cudnn)
        for flag in ("enabled", "benchmark", "deterministic"):
            patches.set(owner, flag, self._property(flag, vars(owner)[flag]))
        self._initial = torch.initial_seed()
        for owner, name in _seeders():
            patches.set(owner, name, self._seeding(getattr(owner, name)))
        for name in _CONVOLUTIONS:
            layer = self._layer("convolution", getattr(torch, name))
            for module in (torch, torch.nn.functional):
                patches.set(module, name, layer)
        for owner in (torch.jit.ScriptModule, torch.jit.ScriptFunction):
            patches.set(owner, "__call__", self._scripted(owner.__call__))
        for name in _RECURRENT:
            patches.set(torch._VF, name, self._layer("recurrent", getattr(torch._VF, name)))

    def forked(self) -> None:
        """Begin anew in a child process."""
        self.timeline, self._layers = [], 0

    def written(self) -> dict[str, Any]:
        """The writes of flags in order."""
        return {"flags": self.timeline}

    # -- flags -------------------------------------------------------------------------------------

    def _setter(self, flag: str, real: Any) -> Any:
        @functools.wraps(real)
        def written(value: Any, *args: Any, **kwargs: Any) -> Any:
            before = _value_of(flag)
            done = real(value, *args, **kwargs)
            self._written(flag, before)
            return done

        return written

    def _property(self, flag: str, real: Any) -> Any:
        """Patch ``torch.backends.cudnn.benchmark``, a property that keeps a reference to its setter."""
        backends = self

        class Watched:
            def __get__(self, instance: Any, owner: Any = None) -> Any:
                return real.__get__(instance, owner)

            def __set__(self, instance: Any, value: Any) -> None:
                before = _value_of(flag)
                real.__set__(instance, value)
                backends._written(flag, before)

        return Watched()

    def _written(self, flag: str, before: bool) -> None:
        value = _value_of(flag)
        site = self._sites.here(3)
        self._recorder.add("flag", site, flag=flag, value=value, before=before)
        if len(self.timeline) < _KEPT:
            self.timeline.append(
                {"flag": flag, "value": value, "before": before, "site": list(site), "layers": self._layers}
            )

    def _seeding(self, real: Any) -> Any:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(real)
        def seeding(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                self._seeded += 1
                self._recorder.add("seed", self._sites.here(2))
            return real(*args, **kwargs)

        return seeding

    def finish(self) -> None:
        """Note a seed that was set in another way, such as by a method of the default generator."""
        if not self._seeded and torch.initial_seed() != self._initial:
            self._recorder.add("seed", NOWHERE)

    # -- layers ------------------------------------------------------------------------------------

    def _layer(self, kind: str, real: Any) -> Any:
        is_compiling = torch.compiler.is_compiling

        @functools.wraps(real)
        def layer(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling() and args and type(args[0]) is torch.Tensor:
                self._ran(kind, args, kwargs)
            return real(*args, **kwargs)

        return layer

    def _scripted(self, real: Any) -> Any:
        """Calls of TorchScript, which calls the convolutions of its graph from C++, with inputs that are not seen."""
        known: dict[int, tuple[weakref.ref[Any], int]] = {}

        @functools.wraps(real)
        def scripted(module: Any, *args: Any, **kwargs: Any) -> Any:
            seen, count = known.get(id(module), (None, 0))
            if seen is None or seen() is not module:  # the id of one that is gone is used again
                count = _convolutions_in(module)
                known[id(module)] = weakref.ref(module), count
            if count:
                on_device = any(one.is_cuda for one in args if type(one) is torch.Tensor)
                for _ in range(count):
                    self._record("convolution", (), (), on_device=on_device)
            return real(module, *args, **kwargs)

        return scripted

    def _ran(self, kind: str, args: Any, kwargs: Any) -> None:
        if torch._C._get_tracing_state() is not None:  # nothing is computed while tracing, and sizes are tensors
            return
        weight = kwargs.get("weight", args[1] if len(args) > 1 else None)
        shape = tuple(weight.shape) if kind == "convolution" and isinstance(weight, torch.Tensor) else ()
        self._record(kind, tuple(args[0].shape), shape, on_device=bool(args[0].is_cuda))

    def _record(self, kind: str, shape: tuple[int, ...], weight: tuple[int, ...], *, on_device: bool) -> None:
        self._layers += 1
        site: Site = self._sites.here(3)
        self._recorder.add(kind, site, flags=layer_flags(), shape=shape, weight=weight, on_device=on_device)


def _seeders() -> list[tuple[Any, str]]:
    """The functions that seed torch or restore the state of its random numbers: of the host and of all devices."""
    modules = [torch, torch.random, *(getattr(torch, name, None) for name in ("cuda", "xpu", "mps"))]
    owners = [owner for module in modules for owner in (module, getattr(module, "random", None)) if owner is not None]
    names = ("manual_seed", "manual_seed_all", "set_rng_state", "set_rng_state_all")
    return [(owner, name) for owner in dict.fromkeys(owners) for name in names if hasattr(owner, name)]


def _convolutions_in(scripted: Any) -> int:
    """How many convolutions the graph of a scripted module or function has; those of loops count once."""
    try:
        graph = scripted.inlined_graph
    except (AttributeError, RuntimeError):  # a module without a `forward`
        return 0
    return sum(len(graph.findAllNodes(name, recurse=True)) for name in _OPERATIONS)


def _value_of(flag: str) -> bool:
    return bool(getattr(torch._C, f"_get_{'' if flag == 'algorithms' else 'cudnn_'}{_NAMES[flag]}")())


_NAMES = {
    "enabled": "enabled",
    "benchmark": "benchmark",
    "deterministic": "deterministic",
    "algorithms": "deterministic_algorithms",
}
