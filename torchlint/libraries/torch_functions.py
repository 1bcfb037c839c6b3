"""Functions and classes of ``torch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.catalogue.functions import function_named
from torchlint.catalogue.records import Function
from torchlint.engine.arguments import OTHERS, Arguments, device_of
from torchlint.engine.origins import of_call, overwrite
from torchlint.engine.values import (
    FLAG,
    INDICES,
    NONE,
    NUMBER,
    SEQUENCES,
    UNKNOWN,
    Device,
    Kind,
    Option,
    Value,
    collection,
    constant,
    leaves,
    sequence,
    tensor,
)
from torchlint.knowledge import following as known
from torchlint.knowledge import forms, tensors
from torchlint.knowledge.synchronization import CHECKING_ANYWAY, COMBINING
from torchlint.libraries.devices import Devices, is_certain
from torchlint.libraries.factories import TYPES, Factories
from torchlint.libraries.tensors import Tensors, detail_of, gives_pair, rank_of

if TYPE_CHECKING:
    from torchlint.engine.protocol import Engine
    from torchlint.libraries.loaders import Loaders


class TorchFunctions:
    """Follows calls of ``torch``."""

    def __init__(self, engine: Engine, devices: Devices, tensors: Tensors, loaders: Loaders) -> None:
        self._engine, self._state = engine, engine.state
        self._devices, self._tensors, self._loaders = devices, tensors, loaders
        self._factories = Factories(engine, devices, tensors)

    def call(self, dotted: str, given: Arguments) -> Value | None:
        """What a function gives; None for one that is not of ``torch``."""
        name = given.name
        special = _EXACT.get(dotted)
        if special is not None:
            return special(self, given)
        if dotted.startswith("torch.utils.data."):
            return self._loaders.function(given)
        if name in known.WRAPPERS and dotted.startswith(("torch.nn", "torch.jit", "torch.distributed")):
            return self._wrapped(given)
        if dotted.startswith(("torch.optim.lr_scheduler", "torch.optim.swa")):
            return UNKNOWN
        if dotted.startswith("torch.optim") or name == "GradScaler":
            for value in given.all:
                self._state.alter(value, lasting=True)
            return Value(Kind.OPTIMIZER, name)
        if dotted.startswith(("torch.nn.utils", "torch.nn.functional")) and "._" not in dotted:
            return self._functional(given)
        for prefix, method in _NAMESPACES:
            if dotted.startswith(prefix):
                return method(self, given)
        if dotted.startswith(known.OTHER_NAMESPACES) or "._" in dotted:
            return UNKNOWN
        if dotted.startswith("torch.multiprocessing"):
            return None
        return self._of_tensors(dotted, given)

    # -- devices and modules -----------------------------------------------------------------------

    def _device(self, given: Arguments) -> Value:
        found = self._devices.named(given.get(0, "type")) or Device.ACCELERATOR
        return Value(Kind.DEVICE, device=found, sure=is_certain(given))

    def _true(self, given: Arguments) -> Value:
        return constant(True)

    def _false(self, given: Arguments) -> Value:
        return constant(False)

    def _same(self, given: Arguments) -> Value:
        return given.get(0)

    def _wrapped(self, given: Arguments) -> Value:
        """A module in ``DataParallel`` or the like, some of which move the arguments of its calls to the device."""
        module, devices = given.get(0, "module"), given.get(1, "device_ids")
        moves = given.name in known.MOVING_WRAPPERS or (given.name in known.MOVING_TO_DEVICES and _is_given(devices))
        return module.moving_inputs() if moves else module

    def _parameter(self, given: Arguments) -> Value:
        return tensor(Device.ACCELERATOR)

    def _checkpoint(self, given: Arguments) -> Value:
        named = {name: value for name, value in given.named.items() if name not in _OF_CHECKPOINT}
        return self._engine.call(given.get(0), given.values[1:], named, given.node, given.scope)

    def _load(self, given: Arguments) -> Value:
        return Value(Kind.DICT, "checkpoint")

    def _is_tensor(self, given: Arguments) -> Value:
        value = given.get(0)
        known_ = value.kind in (Kind.TENSOR, Kind.NUMBER, Kind.ARRAY, Kind.CONSTANT) and value.sure
        return constant(value.kind is Kind.TENSOR) if known_ and not value.maybe_none else FLAG

    def _modules(self, given: Arguments) -> Value:
        """``nn.Sequential`` and ``nn.ModuleList``."""
        parts: list[Value] = []
        for value in given.values:
            if value.kind in (Kind.TUPLE, Kind.MODULES):
                parts += value.items
            elif value.kind is Kind.DICT and value.fields:
                parts += value.fields.values()
            else:
                element = value.element if value.kind in (*SEQUENCES, Kind.DICT, Kind.GENERATOR) else None
                parts.append(element or value)
        modules = [each for part in parts for each in part.members if each.kind in _MODULES]
        return Value(Kind.MODULES, items=list(dict.fromkeys(modules))[:12])

    def _module_dict(self, given: Arguments) -> Value:
        value = given.get(0, "modules")
        return value if value.kind is Kind.DICT else Value(Kind.MODULES)

    def _module(self, given: Arguments) -> Value:
        return Value(Kind.LIBRARY_MODULE, f"torch.nn.{given.name}")

    def _backend(self, given: Arguments) -> Value:
        """A function of ``torch.cuda``, ``torch.accelerator`` or another backend."""
        if given.name in tensors.CPU_TYPES:
            data = given.get(0)
            if data.kind in (*SEQUENCES, Kind.ARRAY) and (data.kind is not Kind.TUPLE or data.items):
                self._state.happen(given.node, given.scope, forms.LEGACY_DATA, self._factories.data_origin(given, data))
            return tensor(Device.ACCELERATOR)
        if given.name in tensors.CURRENT_DEVICE:
            return Value(Kind.DEVICE, device=Device.ACCELERATOR)
        if given.name in tensors.TUPLES_OF_BACKENDS:
            return collection(NUMBER)
        if given.name.startswith("is_"):
            return FLAG
        if given.name in tensors.NUMBERS_OF_BACKENDS:
            return NUMBER
        return self._accelerators() if given.name == "device_count" else UNKNOWN

    def _synchronize(self, given: Arguments) -> Value:
        self._state.happen(given.node, given.scope, forms.SYNCHRONIZE)
        return NONE

    def _empty(self, given: Arguments) -> Value:
        self._state.happen(given.node, given.scope, forms.EMPTIED)
        return NONE

    def _accelerators(self) -> Value:
        """The number of accelerators, and of processes that train on them."""
        number = self._engine.program.world.accelerators
        others = "with several GPUs" if number == 1 else "with another number of GPUs"
        return Value(Kind.CONSTANT, number, sure=False, option=Option(others, on=True))

    def _distributed(self, given: Arguments) -> Value:
        """A function of ``torch.distributed``, which may write to its tensors."""
        named = [(each.value, given.named.get(each.arg or "", UNKNOWN)) for each in given.node.keywords]
        for node, value in (*zip(given.node.args, given.values, strict=False), *named):
            overwrite(node, value, given.scope)
        if given.name == "barrier":
            self._state.happen(given.node, given.scope, forms.BARRIER)
        if given.name == "get_world_size":
            return self._accelerators()
        return NUMBER if given.name == "get_rank" else UNKNOWN

    def _autograd(self, given: Arguments) -> Value:
        if given.name == "Variable":
            return given.get(0, "data")
        if given.name in ("backward", "grad"):
            self._state.queue(given.name, given.node)
        return sequence([tensor(Device.ACCELERATOR)]) if given.name == "grad" else UNKNOWN

    def _distribution(self, given: Arguments) -> Value:
        """A distribution, which checks its parameters unless that is switched off, as ``torch.compile`` does."""
        name = given.name
        if name == "Independent" and given.get(0).kind is Kind.DISTRIBUTION:
            return given.get(0)
        if not name[:1].isupper() or name.endswith("Transform"):
            return UNKNOWN
        off = self._engine.program.decides_validation or b"torch.compile" in given.scope.module.content
        anyway = name in CHECKING_ANYWAY
        chosen = not anyway and ("validate_args" in given.named or OTHERS in given.named)
        checks = not (off or chosen or name in COMBINING)
        on_device = any(
            self._state.is_on_device(leaf) or (leaf.kind is Kind.TENSOR and leaf.device is Device.ACCELERATOR)
            for value in given.all
            for leaf in leaves(value)
        )
        if checks and on_device:
            form = forms.PARAMETERS_ANYWAY if anyway else forms.PARAMETERS
            self._state.happen(given.node, given.scope, form, name=name)
        detail, device = name if on_device else None, device_of(given.all) or Device.ACCELERATOR
        return Value(Kind.DISTRIBUTION, detail, sure=checks and on_device, device=device)

    def _normal(self, given: Arguments) -> Value:
        """``torch.normal``, which looks for negative numbers among the deviations."""
        self._state.waits(given.get(1, "std"), given.node, given.scope, forms.DEVIATIONS)
        device = device_of(given.all)
        return self._factories.made(function_named("normal"), given) if device is None else tensor(device)

    def _stream(self, given: Arguments) -> Value:
        return Value(Kind.STREAM, forms.EVENT if given.name == "Event" else forms.STREAM)

    # -- functional --------------------------------------------------------------------------------

    def _functional(self, given: Arguments) -> Value:
        state, first = self._state, given.get(0)
        self._tensors.numbers(function_named(given.name), given, [*given.values[1:], *given.named.values()])
        if given.name in ("clip_grad_norm_", "clip_grad_norm", "parameters_to_vector"):
            if given.named.get("error_if_nonfinite", NONE).detail is True:
                state.happen(given.node, given.scope, forms.NONFINITE)
            return tensor(Device.ACCELERATOR)
        if given.name in ("pack_padded_sequence", "pack_sequence"):
            state.waits(given.get(1, "lengths"), given.node, given.scope, forms.LENGTHS)
            return Value(Kind.PACKED, device=first.device or Device.UNKNOWN)
        if given.name == "pad_packed_sequence":
            return sequence([tensor(first.device or Device.UNKNOWN), tensor(Device.HOST)])
        record = function_named(given.name)
        if record.waits is not None and device_of(given.all) is Device.ACCELERATOR:
            state.happen(given.node, given.scope, forms.CHECKING_FUNCTION, name=given.name)
        counts = len(given.values) < 2 and not {"num_classes", OTHERS} & given.named.keys()
        if given.name == "one_hot" and (counts or given.get(1, "num_classes").detail == -1):
            if first.kind is Kind.TENSOR and state.on_device(first):
                state.happen(given.node, given.scope, forms.ONE_HOT)
        elif given.name == "ctc_loss":
            self._lengths(given)
        elif given.name == "interpolate":
            self._tensors.sizes([given.named[each] for each in ("size", "scale_factor") if each in given.named], given)
        device = device_of(given.all) or Device.UNKNOWN
        found = tensor(device, origin=of_call(given.all, record, device))
        return self._grows(found, "torch.nn.functional.pad", given) if given.name == "pad" else found

    # -- tensors -----------------------------------------------------------------------------------

    def _of_tensors(self, dotted: str, given: Arguments) -> Value:
        record = function_named(given.name)
        if given.name in TYPES or (record.made and not given.name.endswith("_like")):
            return self._factories.made(record, given)
        if record.about_storage or (given.name.startswith("is_") and record.waits is None):
            return FLAG
        state, device = self._state, device_of(given.all)
        if record.made:
            return self._like(record, given, device or Device.UNKNOWN)
        if device is Device.ACCELERATOR or (device is Device.UNKNOWN and not state.worker):
            self._waits(record, dotted, given)
        if record.gives == "flag":
            return FLAG
        if not tensors.gives_tensor(given.name):
            return UNKNOWN
        if given.name in ("split", "narrow"):
            self._tensors.sizes(given.values[1:], given)
        if "input" not in given.named:
            self._tensors.numbers(record, given, [*given.values[1:], *given.named.values()])
        place = device or Device.UNKNOWN
        origin = of_call(given.all, record, place, seeded="generator" in given.named)
        if gives_pair(record, given.all[1:]) and (record.gives == "pair" or given.get(1).kind is not Kind.TENSOR):
            return sequence([tensor(place, origin=origin), tensor(place, detail=INDICES, origin=origin)])
        if record.gives == "list":
            return collection(tensor(place, origin=origin))
        rank = rank_of(record, given.values[1:], given.named)
        found = tensor(place, detail=detail_of(record), origin=origin, rank=rank)
        return self._grows(found, dotted, given) if record.joins and given.name != "stack" else found

    def _like(self, record: Function, given: Arguments, device: Device) -> Value:
        """``torch.zeros_like`` and the like."""
        place = (self._devices.named(given.named["device"]) if "device" in given.named else None) or device
        self._tensors.numbers(record, given, [*given.values[1:], *given.named.values()])
        origin = self._state.origin("drawn" if record.draws else "made", given.node)
        return tensor(place, origin=origin if place is Device.HOST else None, rank=given.get(0, "input").rank)

    def _grows(self, found: Value, dotted: str, given: Arguments) -> Value:
        return self._state.joins(found, [given.get(0, "tensors")], given.node.func, given.scope, dotted)

    def _waits(self, record: Function, dotted: str, given: Arguments) -> None:
        wait = (record.waits is not None and not record.place) or (given.name == "where" and len(given.all) == 1)
        repeats = given.name == "repeat_interleave" and given.get(1, "repeats").kind is Kind.TENSOR
        if wait or (repeats and "output_size" not in given.named):
            form = forms.waiting(method=False, counts=record.counts is not None)
            self._state.happen(given.node, given.scope, form, name=dotted)
        for value in given.values[1:3] if given.name == "where" and self._state.is_on_device(given.get(0)) else ():
            if value.kind is Kind.TENSOR and value.device is Device.HOST and value.sure:
                self._state.happen(given.node, given.scope, forms.HOST_NUMBER, value.origin)

    def _lengths(self, given: Arguments) -> None:
        """The lengths of ``ctc_loss``: read if they are on the device, and copied there by the kernel of torch.

        cuDNN computes it only if both are tensors, or if the targets are on the host.
        """
        targets, lengths = given.get(1, "targets"), [given.get(2, "input_lengths"), given.get(3, "target_lengths")]
        for value in lengths:
            self._state.waits(value, given.node, given.scope, forms.LENGTHS)
        if self._state.is_on_device(targets) and any(value.kind in (Kind.LIST, Kind.TUPLE) for value in lengths):
            self._state.happen(given.node, given.scope, forms.CTC_LENGTHS)


def _is_given(value: Value) -> bool:
    return value is not UNKNOWN and not value.is_none


_OF_CHECKPOINT = frozenset("use_reentrant preserve_rng_state".split())
_MODULES = frozenset({Kind.INSTANCE, Kind.LIBRARY_MODULE, Kind.MODULES})
_EXACT = {
    "torch.device": TorchFunctions._device,
    **dict.fromkeys(("torch.cuda.is_available", "torch.accelerator.is_available"), TorchFunctions._true),
    **dict.fromkeys(("torch.cuda.synchronize", "torch.accelerator.synchronize"), TorchFunctions._synchronize),
    **dict.fromkeys(known.EMPTYING, TorchFunctions._empty),
    **dict.fromkeys(tensors.NEVER, TorchFunctions._false),
    **dict.fromkeys(("torch.nn.Parameter", "torch.nn.parameter.Parameter"), TorchFunctions._parameter),
    **dict.fromkeys(("torch.compile", "torch.jit.script", "torch.jit.trace"), TorchFunctions._same),
    "torch.utils.checkpoint.checkpoint": TorchFunctions._checkpoint,
    **dict.fromkeys(("torch.cuda.Stream", "torch.Stream", "torch.cuda.Event", "torch.Event"), TorchFunctions._stream),
    **dict.fromkeys(
        (
            "torch.cuda.current_stream",
            "torch.cuda.default_stream",
            "torch.accelerator.current_stream",
        ),
        TorchFunctions._stream,
    ),
    "torch.normal": TorchFunctions._normal,
    "torch.load": TorchFunctions._load,
    "torch.is_tensor": TorchFunctions._is_tensor,
    "torch.nn.Sequential": TorchFunctions._modules,
    "torch.nn.ModuleList": TorchFunctions._modules,
    "torch.nn.ModuleDict": TorchFunctions._module_dict,
}
_NAMESPACES = (
    (tensors.BACKENDS, TorchFunctions._backend),
    ("torch.autograd", TorchFunctions._autograd),
    ("torch.distributed.", TorchFunctions._distributed),
    ("torch.distributions", TorchFunctions._distribution),
    ("torch.nn.", TorchFunctions._module),
)
