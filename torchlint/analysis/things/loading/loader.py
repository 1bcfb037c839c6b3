"""Data loaders: their arguments, their datasets, and where their batches go."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import keyword, literal
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.loading.batch_flow import BatchFlow
from torchlint.analysis.things.loading.batch_uses import BatchUses
from torchlint.analysis.things.loading.callables import called_function
from torchlint.analysis.things.move import Moves, names_accelerator
from torchlint.analysis.things.options import Options
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 8  # nested datasets, and variables for one loader


class Loader:
    """A call that constructs a ``DataLoader``, or a subclass that forwards its arguments.

    ``name`` is the qualified name of the library's class, which for a subclass in the file (``derived``) is that of its
    base. ``opaque`` is true if unknown ``*args`` or ``**kwargs`` may contain any argument.
    """

    def __init__(self, module: SourceModule, call: cst.Call, name: str, *, derived: bool) -> None:
        self._module = module
        self.call = call
        self.name = name
        self.derived = derived
        self._arguments, self.opaque = module.shared(Mappings).arguments(call, known.PARAMETERS)

    def arguments(self, parameter: str) -> list[cst.BaseExpression]:
        """The expressions that a parameter may get, through ``**kwargs`` too; empty if it has its default value."""
        return self._arguments.get(parameter, [])

    @property
    def has_workers(self) -> bool:
        """Whether the loader may have worker processes: ``num_workers`` is given, and not 0 unless changed."""
        return any(not self._is_zero(value) for value in self.arguments("num_workers"))

    @property
    def stays_single(self) -> bool:
        """Whether the loader certainly has no worker processes: ``num_workers`` is 0, or not given."""
        given = self.arguments("num_workers")
        return not self.opaque and all(self._module.value(value).literal == "0" for value in given)

    @cached_property
    def pins(self) -> bool | None:
        """Whether batches are copied into pinned memory on machines with a GPU; None if this is unknown."""
        given = self.arguments("pin_memory")
        if any(literal(value) is True or self._implies_cuda(value) or self.option(value)[1] is True for value in given):
            return True
        return False if not self.opaque and all(map(self._is_false, given)) else None

    @property
    def shuffles(self) -> bool:
        """Whether the samples are drawn in a random order, by ``shuffle=True``."""
        return any(literal(value) is True for value in self.arguments("shuffle"))

    @property
    def persists(self) -> bool:
        """Whether the workers outlive an epoch: ``persistent_workers`` is true, or true if there are workers."""
        given = self.arguments("persistent_workers")
        return any(literal(value) is True or isinstance(value, cst.Comparison) for value in given)

    @property
    def default_collation(self) -> bool:
        """Whether no ``collate_fn`` is given, so that batches are new tensors in standard containers."""
        return not self.opaque and all(literal(value) is None for value in self.arguments("collate_fn"))

    @property
    def makes_batches(self) -> bool:
        """Whether samples are collated into batches; ``batch_size=None`` yields the dataset's own objects."""
        return not self.opaque and all(literal(value) is not None for value in self.arguments("batch_size"))

    @cached_property
    def batch_uses(self) -> BatchUses:
        """Where the batches are moved."""
        return BatchFlow(self._module).of(self.call)

    @cached_property
    def unpinnable(self) -> bool:
        """Whether batches cannot be pinned, being already on the device, sparse, or of other classes."""
        if self.opaque:
            return False
        on_device = any(self._dataset_on_device(dataset) for dataset in self.arguments("dataset"))
        return on_device or any(self._unpinnable_collate(function) for function in self.arguments("collate_fn"))

    # -- arguments ---------------------------------------------------------------------------------

    def _is_false(self, node: cst.BaseExpression) -> bool:
        return self._module.value(node).literal == "False" or literal(node) is False or self.option(node)[1] is False

    def _is_zero(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        return (value.kind is Kind.SCALAR and value.literal == "0") or self.option(node)[1] == 0

    def option(self, node: cst.BaseExpression) -> tuple[str, object]:
        """The option of the program that an argument is, and its value in a normal run; ``...`` for any other one."""
        return self._module.shared(Options).of(node) if literal(node) is ... else ("", ...)

    def _implies_cuda(self, node: cst.BaseExpression) -> bool:
        """Whether a value is ``torch.cuda.is_available()``, or a variable that is true only with CUDA."""
        return literal(node) is ... and self._module.shared(CudaGuards).implies_cuda(node, holds=True)

    # -- unpinnable batches ------------------------------------------------------------------------

    def _dataset_on_device(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """Whether the class of a dataset puts samples on the device, or is given tensors on the device."""
        value = self._module.value(node)
        if isinstance(value.node, cst.ClassDef) and self._uses_accelerator(value.node.body):
            return True
        made = value.origin if isinstance(value.origin, cst.Call) else node
        own = isinstance(value.node, cst.ClassDef)
        args = made.args if isinstance(made, cst.Call) and depth else ()
        return any(self._is_on_device(arg, depth - 1, tensors=own) for arg in args)

    def _is_on_device(self, arg: cst.Arg | cst.BaseElement, depth: int, *, tensors: bool) -> bool:
        """Whether an argument of a dataset is on the device: a tensor, another dataset, or a list of these.

        With ``tensors``, other values do not count: a class of the file may also get a model.
        """
        if isinstance(arg.value, (cst.List, cst.Tuple)):
            return any(self._is_on_device(element, depth, tensors=tensors) for element in arg.value.elements)
        value = self._module.value(arg.value)
        if getattr(arg, "star", ""):
            value = value.iterated_value()
        if value.kind is Kind.DATASET:
            return self._dataset_on_device(arg.value, depth)
        counts = value.kind is Kind.TENSOR or not tensors
        return (value.accelerated and counts) or self._uses_accelerator(arg.value)

    def _unpinnable_collate(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        if value.kind is Kind.CLASS and isinstance(value.node, cst.ClassDef):
            return self._module.classes.method(value.node, "pin_memory") is None
        function = called_function(self._module, node)
        if function is None:
            return False
        own = value.node if isinstance(value.node, cst.ClassDef) else function  # a collator may call its other methods
        if self._uses_accelerator(own.body):
            return True
        names = {n.value for n in descendants(own.body) if isinstance(n, cst.Name)}
        return bool(names & known.UNPINNABLE) or self._returns_unpinnable_object(function)

    def _returns_unpinnable_object(self, function: cst.FunctionDef | cst.Lambda) -> bool:
        if isinstance(function, cst.Lambda):
            results: list[cst.BaseExpression | None] = [function.body]
        else:
            results = [r.value for r in self._module.functions.body(function).returns]
        for result in results:
            owner = self._module.value(result).node
            if isinstance(owner, cst.ClassDef) and self._module.classes.method(owner, "pin_memory") is None:
                return True
        return False

    def _uses_accelerator(self, body: cst.CSTNode) -> bool:
        """Whether code moves something to an accelerator, or creates it there."""
        is_move = self._module.shared(Moves).to_accelerator
        calls = (node for node in descendants(body) if isinstance(node, cst.Call))
        return any(is_move(call) or names_accelerator(self._module, keyword(call, "device")) for call in calls)


class DataLoaders:
    """The data loaders of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._found: dict[cst.Call, Loader | None] = {}

    def all(self) -> list[Loader]:
        """The loaders that the file constructs, in source order."""
        calls = self._module.nodes_of(cst.Call, self._module.aliases(known.CLASS_NAMES))
        return [loader for call in calls if (loader := self.at(call)) is not None]

    def at(self, call: cst.Call) -> Loader | None:
        """The loader that a call constructs, or None."""
        if call not in self._found:
            self._found[call] = self._loader_made_by(call)
        return self._found[call]

    def iterated_by(self, iterable: cst.CSTNode | None) -> Loader | None:
        """The loader that an iterable stands for, through variables and wrappers such as ``tqdm``, or None."""
        return next((loader for call in self._calls(iterable) if (loader := self.at(call)) is not None), None)

    def _calls(self, iterable: cst.CSTNode | None, depth: int = _DEPTH) -> Iterator[cst.Call]:
        """The calls that return the loader that an iterable stands for."""
        value = self._module.value(iterable)
        if value.kind is Kind.LOADER and isinstance(value.origin, cst.Call):
            yield value.origin
            return
        inside: list[cst.CSTNode] = []
        if isinstance(iterable, cst.Call):
            inside = [arg.value for arg in iterable.args]
        elif isinstance(iterable, cst.Name):
            inside = [b.value for b in self._module.definitions(iterable) if b.value is not None]
        for part in inside if depth else ():
            yield from self._calls(part, depth - 1)

    def _loader_made_by(self, call: cst.Call) -> Loader | None:
        name = self._module.qualified(call.func)
        if name in known.LOADERS:
            return Loader(self._module, call, str(name), derived=False)
        owner = self._module.value(call.func).node
        if not isinstance(owner, cst.ClassDef):
            return None
        base = next((base for base in self._module.classes.bases(owner) if base in known.LOADERS), None)
        if base is None:
            return None
        constructor = self._module.classes.method(owner, "__init__")
        forwards = constructor is None or self._forwards_arguments(constructor)
        return Loader(self._module, call, base, derived=True) if forwards else None

    def _forwards_arguments(self, constructor: cst.FunctionDef) -> bool:
        """Whether a constructor is ``def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)``."""
        params = constructor.params
        if len(params.params) != 1 or params.kwonly_params or not isinstance(params.star_arg, cst.Param):
            return False
        if params.star_kwarg is None:
            return False
        for name in (params.star_arg.name, params.star_kwarg.name):
            binding = self._module.binding_of(name)
            uses = self._module.uses(binding) if binding else []
            unpacked = [isinstance(p := self._module.parent(use), cst.Arg) and p.star != "" for use in uses]
            if unpacked != [True]:
                return False
        return True
