"""Work on the device in datasets and ``collate_fn``: which code moves something there, and for which loaders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal, method, receiver
from torchlint.analysis.things.loading.loader import DataLoaders, Loader
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.values.lattice import Device, Kind
from torchlint.analysis.values.semantics.devices import device_of, is_device_of
from torchlint.catalogue.views import FACTORIES
from torchlint.knowledge.tensors import DATASET_BASES
from torchlint.rules.loading._samples import SAMPLE_METHODS, Samples

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# Methods that bring a result back to the host: the code computes on the device, rather than storing samples there.
_BACK = frozenset({"cpu", "numpy", "item", "tolist"})
_BASE_NAMES = frozenset(name.rpartition(".")[2] for name in DATASET_BASES)
_DEPTH = 3


class DeviceWork(NamedTuple):
    """The first of the ``calls`` that put samples on the device; ``function`` is the method or function that runs it.

    ``loader`` is one with workers that runs the code, if the file constructs one.
    """

    calls: tuple[cst.Call, ...]
    function: str
    loader: Loader | None


class DeviceWorks:
    """The code of one module that puts samples on the device."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)
        self._samples = module.shared(Samples)

    def all(self) -> list[DeviceWork]:
        """What datasets and collate functions put on the device, each function once."""
        found = [*self._of_datasets(), *self._of_collates()]
        first: dict[cst.Call, DeviceWork] = {}
        for work in found:
            known = first.setdefault(work.calls[0], work)
            if known.loader is None and work.loader is not None:
                first[work.calls[0]] = work
        return list(first.values())

    def _of_datasets(self) -> Iterator[DeviceWork]:
        for owner in self._module.nodes_of(cst.ClassDef, self._module.aliases(_BASE_NAMES)):
            if not self._module.classes.derives(owner, DATASET_BASES):
                continue
            loaders = self._samples.loaders_of(owner)
            workers = next((loader for loader in loaders if loader.has_workers), None)
            names = (*SAMPLE_METHODS, "__iter__") if workers is not None else SAMPLE_METHODS
            if workers is None and loaders and not any(map(_joins_samples, loaders)):
                continue  # each sample is a batch
            for name in names:
                function = self._module.classes.method(owner, name)
                calls = self._calls(function, computes=workers is not None) if function is not None else ()
                if calls:
                    yield DeviceWork(calls, name, workers)

    def _of_collates(self) -> Iterator[DeviceWork]:
        for loader in self._module.shared(DataLoaders).all():
            for function in self._samples.collates(loader) if loader.has_workers else ():
                calls = self._calls(function, computes=True)
                if calls:
                    yield DeviceWork(calls, "collate_fn", loader)

    def _calls(self, function: cst.FunctionDef | cst.Lambda, *, computes: bool) -> tuple[cst.Call, ...]:
        """The unconditional calls in a function, and in methods that it calls, that put something on the device.

        Without ``computes`` there are none in a function that brings results back to the host.
        """
        calls = list(self._calls_below(function, _DEPTH))
        if not computes and any(method(call) in _BACK for call in calls):
            return ()
        found = [call for call in calls if self._puts_on_device(call) and not self._is_conditional(call)]
        return tuple(sorted(found, key=self._module.order))

    def _calls_below(self, function: cst.FunctionDef | cst.Lambda, depth: int) -> Iterator[cst.Call]:
        for call in self._module.within(function.body, cst.Call):
            yield call
            callee = self._module.functions.callee(call) if depth else None
            own = isinstance(receiver(call), cst.Name) and getattr(receiver(call), "value", "") == "self"
            if callee is not None and own:
                yield from self._calls_below(callee, depth - 1)

    def _is_conditional(self, call: cst.Call) -> bool:
        function = self._module.function_of(call)
        stop = function if function is not None else self._module.tree
        return any(guard.kind not in ("try", "decorator") for guard in self._module.guards(call, stop=stop))

    def _puts_on_device(self, call: cst.Call) -> bool:
        target: cst.BaseExpression | None = None
        if self._moves.to_accelerator(call):
            move = self._moves.at(call)
            assert move is not None
            if move.method not in ("to", "cuda") or self._module.value(move.moved).kind is Kind.MODULE:
                return False
            target = move.target
        elif self._module.qualified(call.func) in FACTORIES:
            target = keyword(call, "device")
            if not names_accelerator(self._module, target):
                return False
        else:
            return False
        return target is None or not self._may_be_host(target)

    def _may_be_host(self, target: cst.BaseExpression) -> bool:
        """Whether a device is that of another tensor, or a parameter that is the CPU by default."""
        if is_device_of(self._module.evaluator, target):
            return True
        return any(map(self._is_host, self._defaults(target)))

    def _defaults(self, node: cst.BaseExpression, depth: int = _DEPTH) -> Iterator[cst.BaseExpression]:
        """The default values of the parameters that an expression may be, also through an attribute of ``self``."""
        values: Iterable[cst.CSTNode | None] = ()
        if isinstance(node, cst.Attribute) and (owner := self._module.class_of(node)) is not None:
            values = [_member(*stored) for stored in self._module.classes.assignments(owner, node.attr.value)]
        elif isinstance(node, cst.Call) and self._module.qualified(node.func) == "torch.device":
            values = [arg.value for arg in node.args[:1]]
        elif isinstance(node, cst.Name):
            bindings = self._module.definitions(node)
            params = [b.statement for b in bindings if isinstance(b.statement, cst.Param)]
            yield from (param.default for param in params if param.default is not None)
            values = [b.value for b in bindings if b.kind == "assign"]
        for value in values if depth else ():
            if isinstance(value, cst.BaseExpression):
                yield from self._defaults(value, depth - 1)

    def _is_host(self, default: cst.BaseExpression) -> bool:
        return literal(default) is None or device_of(self._module.evaluator, default) is Device.CPU


def _member(value: cst.CSTNode, path: tuple[int | str, ...]) -> cst.CSTNode:
    """The part of a tuple display that an unpacking path leads to."""
    for step in path:
        if not isinstance(value, cst.Tuple) or not isinstance(step, int) or step >= len(value.elements):
            break
        value = value.elements[step].value
    return value


def _joins_samples(loader: Loader) -> bool:
    """Whether a loader makes batches of more than one sample."""
    return loader.makes_batches and any(literal(size) != 1 for size in loader.arguments("batch_size"))
