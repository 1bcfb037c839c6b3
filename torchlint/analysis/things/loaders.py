"""Data loaders: how they are made, and what the batches they yield are used for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import bind, keyword, literal, method
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.batches import Consumption, Consumptions, Elsewhere
from torchlint.analysis.things.transfers import Transfers
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 8  # datasets within one another


class UnpinnedLoader(NamedTuple):
    """A loader that does not pin, and the moves of its batches to an accelerator, here and in other files.

    ``workers`` is false when it certainly has no worker processes, ``evaluation`` true when every
    loop that moves its batches evaluates.
    """

    call: cst.Call
    moves: tuple[Consumption, ...]
    elsewhere: tuple[Elsewhere, ...]
    workers: bool
    evaluation: bool
    explicit: bool


class Loaders:
    """Finds loaders without pinned memory in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._mappings = Mappings(module)
        self._transfers = Transfers(module)

    def unpinned(self, call: cst.Call) -> UnpinnedLoader | None:
        """The unpinned loader that a call makes, if its batches are proved to go to an accelerator."""
        if not self._is_loader(call) or any(name in self._module.text for name in known.OTHER_DEVICES):
            return None
        arguments = self._arguments(call)
        if arguments is None:
            return None
        pins = arguments.get("pin_memory", [])
        if any(not self._is_false(pin) for pin in pins) or self._unpinnable(arguments):
            return None
        consumed = Consumptions(self._module).of(call)
        moves = tuple(move for move in consumed.moves if self._module.heat_analysis.may_run_again(move.loop))
        if consumed.pinned or not (moves or consumed.elsewhere):
            return None
        workers = any(not self._is_zero(w) for w in arguments.get("num_workers", []))
        evaluation = all(self.evaluates(move.loop) for move in moves)
        evaluation = evaluation and all(e.evaluation for e in consumed.elsewhere)
        return UnpinnedLoader(call, moves, consumed.elsewhere, workers, evaluation, bool(pins))

    # -- the call --------------------------------------------------------------------------------

    def _is_loader(self, call: cst.Call) -> bool:
        if self._module.qualified(call.func) == known.LOADER:
            return True
        owner = self._module.value(call.func).node
        if not isinstance(owner, cst.ClassDef) or not self._module.classes.derives(owner, {known.LOADER}):
            return False
        constructor = self._module.classes.method(owner, "__init__")
        return constructor is None or self._hands_on(constructor)

    def _hands_on(self, constructor: cst.FunctionDef) -> bool:
        """``def __init__(self, *args, **kwargs): super().__init__(*args, **kwargs)``, untouched."""
        params = constructor.params
        if len(params.params) != 1 or params.kwonly_params or not isinstance(params.star_arg, cst.Param):
            return False
        if params.star_kwarg is None:
            return False
        names = [params.star_arg.name, params.star_kwarg.name]
        for name in names:
            binding = self._module.binding_of(name)
            uses = self._module.uses(binding) if binding else []
            plain = [isinstance(p := self._module.parent(use), cst.Arg) and p.star != "" for use in uses]
            if plain != [True]:
                return False
        return True

    def _arguments(self, call: cst.Call) -> dict[str, list[cst.BaseExpression]] | None:
        """All values each parameter may get; None when some are out of sight."""
        if any(arg.star == "*" for arg in call.args):
            return None
        found = {name: [value] for name, value in bind(call, known.PARAMETERS).given.items()}
        for arg in call.args:
            if arg.star == "**":
                entries = self._mappings.entries(arg.value)
                if entries is None:
                    return None
                for name, values in entries.items():
                    found.setdefault(name, []).extend(values)
        return found

    def _is_false(self, node: cst.BaseExpression) -> bool:
        return self._module.value(node).literal == "False" or literal(node) is False

    def _is_zero(self, node: cst.BaseExpression) -> bool:
        value = self._module.value(node)
        return value.kind is Kind.SCALAR and value.literal == "0"

    def unpinnable(self, call: cst.Call) -> bool:
        """The loader that a call makes yields what is on the device already, or odd objects."""
        arguments = self._arguments(call)
        return arguments is not None and self._unpinnable(arguments)

    # -- what cannot be pinned -------------------------------------------------------------------

    def _unpinnable(self, arguments: dict[str, list[cst.BaseExpression]]) -> bool:
        """The dataset or the collate function yields what is on the device already, or cannot be pinned."""
        datasets = arguments.get("dataset", [])
        collates = arguments.get("collate_fn", [])
        return any(self._dataset_on_device(d) for d in datasets) or any(self._odd_collate(c) for c in collates)

    def _dataset_on_device(self, node: cst.BaseExpression, depth: int = _DEPTH) -> bool:
        """The class of a dataset puts its content on the device, or the dataset is made of what lies there."""
        value = self._module.value(node)
        if isinstance(value.node, cst.ClassDef) and self._puts_on_device(value.node.body):
            return True
        made = value.origin if isinstance(value.origin, cst.Call) else node
        own = isinstance(value.node, cst.ClassDef)
        args = made.args if isinstance(made, cst.Call) and depth else ()
        return any(self._lies_there(arg, depth - 1, tensors=own) for arg in args)

    def _lies_there(self, arg: cst.Arg | cst.BaseElement, depth: int, *, tensors: bool) -> bool:
        """What a dataset is given lies on the device: a tensor, another dataset, or a list of these.

        Only ``tensors`` count for a class of the file, which may be given a model as well.
        """
        if isinstance(arg.value, (cst.List, cst.Tuple)):
            return any(self._lies_there(element, depth, tensors=tensors) for element in arg.value.elements)
        value = self._module.value(arg.value)
        if getattr(arg, "star", ""):
            value = value.iterated_value()
        if value.kind is Kind.DATASET:
            return self._dataset_on_device(arg.value, depth)
        plain = value.kind is Kind.TENSOR or not tensors
        return (value.accelerated and plain) or self._puts_on_device(arg.value)

    def _odd_collate(self, node: cst.BaseExpression) -> bool:
        definition: cst.CSTNode | None = node if isinstance(node, cst.Lambda) else self._module.value(node).node
        if isinstance(definition, cst.ClassDef):
            return self._module.classes.method(definition, "pin_memory") is None
        if not isinstance(definition, (cst.FunctionDef, cst.Lambda)):
            return False
        if self._puts_on_device(definition.body):
            return True
        names = {n.value for n in descendants(definition.body) if isinstance(n, cst.Name)}
        return bool(names & known.UNPINNABLE) or self._returns_odd_object(definition)

    def _returns_odd_object(self, definition: cst.FunctionDef | cst.Lambda) -> bool:
        if isinstance(definition, cst.Lambda):
            results: list[cst.BaseExpression | None] = [definition.body]
        else:
            results = [r.value for r in self._module.functions.body(definition).returns]
        for result in results:
            owner = self._module.value(result).node
            if isinstance(owner, cst.ClassDef) and self._module.classes.method(owner, "pin_memory") is None:
                return True
        return False

    def _puts_on_device(self, body: cst.CSTNode) -> bool:
        """The code moves something to an accelerator, or makes it there."""
        for node in descendants(body):
            if not isinstance(node, cst.Call):
                continue
            if method(node) == "cuda" and self._module.qualified(node.func) is None:
                return True
            target = node.args[0].value if method(node) == "to" and node.args else keyword(node, "device")
            if target is not None and self._transfers.to_accelerator(target):
                return True
        return False

    # -- what the loop is for --------------------------------------------------------------------

    def evaluates(self, loop: cst.CSTNode) -> bool:
        """Gradients are switched off around the loop, or in all of its function."""
        return self._module.heat_analysis.gradients_disabled(loop)
