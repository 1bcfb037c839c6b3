"""TL202: blocking moves of new batches, and whether their loaders use pinned memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding, dotted
from torchlint.analysis.syntax.calls import argument, keyword, literal, method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loading.batch import Batch, Batches, Source
from torchlint.analysis.things.loading.loader import DataLoaders
from torchlint.analysis.things.move import Move, Moves
from torchlint.catalogue.functions import META_ATTRIBUTES, TENSOR_ATTRIBUTES
from torchlint.catalogue.views import JOINING
from torchlint.knowledge import loaders as known
from torchlint.rules.transfers._host_memory import is_read_at_once
from torchlint.rules.transfers._iterated import iterated

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

Pinned: TypeAlias = "cst.Call | Literal['elsewhere', False] | None"


class Upload(NamedTuple):
    """A blocking move of a batch.

    ``batch`` is None where only following the program shows what is moved. ``pinned`` is the loader that pins the
    batch, or that it is ``elsewhere``; False if all its loaders are known not to pin it, so that
    the copy blocks in any case; None if this is unknown. ``computed`` is the expression that computes what is moved
    from the batch, on the host: new memory, which is never pinned. ``made``: the program makes the batch without a
    loader.
    """

    move: Move
    batch: Batch | None
    pinned: Pinned
    computed: cst.BaseExpression | None = None
    made: bool = False


class Uploads:
    """Finds the uploads of one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._batches = module.shared(Batches)
        self._loaders = module.shared(DataLoaders)
        self._synchronizing: dict[cst.CSTNode, bool] = {}  # loops
        self._containers: dict[tuple[str, cst.CSTNode | None, bool], bool] = {}
        self._imports = [str(binding.qualified) for binding in module.project_imports()]

    def starting_with(self, move: Move) -> list[Upload]:
        """The uploads of a statement, if a move is the first of them; otherwise none."""
        found = self._by_statement.get(self._module.statement_of(move.call), [])
        return found if found and found[0].move is move else []

    @cached_property
    def _has_other_devices(self) -> bool:
        return any(name in self._module.text for name in known.OTHER_DEVICES)

    @cached_property
    def _by_statement(self) -> dict[cst.CSTNode, list[Upload]]:
        found: dict[cst.CSTNode, list[Upload]] = {}
        for move in self._module.shared(Moves).all():
            upload = self._of(move)
            if upload is not None:
                found.setdefault(self._module.statement_of(move.call), []).append(upload)
        return found

    def _of(self, move: Move) -> Upload | None:
        """The upload that a move makes, or None. The destination is checked last, since this takes longest."""
        if move.method not in ("to", "cuda", "copy_") or is_read_at_once(self._module, move.call):
            return None
        if self._has_other_devices:
            return None
        computed = self._computed(move.moved)
        batch = self._batches.of(move.moved) if computed is None else self._operand(computed)
        copied = self._module.followed.copy(move.call)
        if batch is None and self._is_followed(move, copied):
            return Upload(move, None, _FOLLOWED.get(copied))
        if batch is None or not move.blocking or (batch.copied and computed is None):
            return None  # what the host converts is not pinned, unless the dtype stays the same
        if any(self._synchronizes(source.statement) for source in batch.sources) or not move.to_accelerator:
            return None
        if computed is not None:
            return Upload(move, batch, None, computed)
        on_device = self._module.followed.tensor(move.moved) in ("device", "device mask")
        if on_device or not self._is_tensor(move.moved, move.call):
            return None
        return Upload(move, batch, self._pinned(batch, move.moved, copied), made=copied == "made")

    def _is_followed(self, move: Move, copied: str | None) -> bool:
        """Whether following the program shows that a move copies a batch or an array in every step."""
        known = copied is not None and copied != "made"
        return known and move.blocking and move.to_accelerator and self._is_tensor(move.moved, move.call)

    def _computed(self, moved: cst.BaseExpression) -> cst.BaseExpression | None:
        """The expression that joins parts of a batch on the host, if what is moved is certainly its result."""
        if isinstance(moved, cst.Name):
            bindings = self._module.definitions(moved)
            values = [binding.value for binding in bindings if binding.kind == "assign" and not binding.path]
            moved = values[0] if len(values) == len(bindings) == 1 and values[0] is not None else moved
        return moved if self._operand(moved) is not None else None

    def _operand(self, node: cst.BaseExpression) -> Batch | None:
        """The batch whose parts ``torch.cat(views)`` joins; None if something else may be among them."""
        if not isinstance(node, cst.Call) or self._module.qualified(node.func) not in JOINING:
            return None
        joined = argument(node, "tensors", 0)
        if joined is None or keyword(node, "out") is not None:
            return None
        parts = [e.value for e in joined.elements] if isinstance(joined, (cst.Tuple, cst.List)) else [joined]
        batches = [self._batches.of(part) for part in parts]
        return batches[0] if batches and None not in batches else None

    # -- moves -------------------------------------------------------------------------------------

    def _synchronizes(self, loop: cst.CSTNode) -> bool:
        """Whether a loop synchronizes explicitly, and so probably measures the move."""
        if loop not in self._synchronizing:
            calls = self._module.within(getattr(loop, "body", loop), cst.Call)
            self._synchronizing[loop] = any(
                self._module.qualified(call.func) == "torch.cuda.synchronize" for call in calls
            )
        return self._synchronizing[loop]

    def _is_tensor(self, source: cst.BaseExpression, call: cst.Call) -> bool:
        """Whether the source is a tensor, or at least not used like a container, and is not modified later."""
        while isinstance(source, cst.Call):
            inner = receiver(source)
            if inner is None:
                return False
            source = inner
        if isinstance(source, cst.Subscript):
            return True
        if not isinstance(source, cst.Name):
            return isinstance(source, cst.Attribute)
        bindings = self._module.definitions(source)
        looped = any(b.kind == "loop" and isinstance(b.statement, cst.For) for b in bindings)
        function = self._module.function_of(source)
        given = any(b.kind == "parameter" and self._is_of(b, function) for b in bindings)
        if (looped or given) and self._module.project.has_custom_to(self._imports):
            return False  # it may be an object of a class of the project
        if self._is_checked(source):
            return True
        whole = self._batches.wholes(source)
        if any(self._yields_containers(b) for b in whole):
            return False
        names = [source.value, *self._assigned_names(call)]
        uses: list[tuple[str, cst.CSTNode | None]] = [(name, function) for name in names]
        uses += [(b.name, self._module.function_of(b.node)) for b in whole] if given else []
        return not any(self._is_used_as_container(name, owner, bool(whole)) for name, owner in uses)

    def _is_of(self, binding: Binding, function: cst.CSTNode | None) -> bool:
        """Whether a parameter is one of a function, rather than of a lambda in it."""
        parameters = self._module.parent(binding.statement)
        return parameters is not None and self._module.parent(parameters) is function

    def _is_checked(self, source: cst.Name) -> bool:
        """Whether the move is under ``if isinstance(source, torch.Tensor)``."""
        for guard in self._module.guards(source):
            test = guard.condition if guard.kind == "test" and guard.holds else None
            if not isinstance(test, cst.Call) or not test.args or dotted(test.args[0].value) != source.value:
                continue
            name = self._module.qualified(test.func)
            tensor = len(test.args) == 2 and self._module.qualified(test.args[1].value) == "torch.Tensor"
            if name == "torch.is_tensor" or (name == "builtins.isinstance" and tensor):
                return True
        return False

    def _yields_containers(self, binding: Binding) -> bool:
        """Whether the file uses a library whose batches are containers of its own, and the loader is unknown."""
        own = any(word in self._module.text for word in known.CONTAINER_LIBRARIES)
        return own and self._loaders.iterated_by(binding.statement.iter) is None  # type: ignore[attr-defined]

    def _assigned_names(self, call: cst.Call) -> list[str]:
        parent = self._module.parent(call)
        if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
            return [parent.targets[0].target.value]
        return []

    def _is_used_as_container(self, word: str, function: cst.CSTNode | None, whole: bool) -> bool:
        """Whether a function uses a variable as a container, or modifies it."""
        if (word, function, whole) not in self._containers:
            own = [
                name
                for name in self._module.names_spelled(word, function)
                if self._module.function_of(name) is function
            ]
            self._containers[word, function, whole] = any(self._is_container_use(name, whole) for name in own)
        return self._containers[word, function, whole]

    def _is_container_use(self, name: cst.Name, whole: bool) -> bool:
        """Whether a use is one of a container (``batch.labels``, ``**batch``), or an in-place write."""
        parent = self._module.parent(name)
        if isinstance(parent, cst.Arg):
            return parent.star == "**"
        if isinstance(parent, cst.Attribute) and parent.value is name:
            called = isinstance(self._module.parent(parent), cst.Call)
            in_place = called and parent.attr.value.endswith("_") and not parent.attr.value.endswith("__")
            own = not called and parent.attr.value not in _ATTRIBUTES
            return in_place or (whole and own)
        if isinstance(parent, cst.Subscript) and parent.value is name:
            stored = isinstance(self._module.parent(parent), cst.AssignTarget)
            index = parent.slice[0].slice
            text = isinstance(index, cst.Index) and isinstance(literal(index.value), str)
            return stored or (whole and text)
        return isinstance(parent, cst.AugAssign) and parent.target is name

    # -- pinned loaders ----------------------------------------------------------------------------

    def _pinned(self, batch: Batch, moved: cst.BaseExpression, copied: str | None) -> Pinned:
        """What pins a batch that is moved, as in :class:`Upload`; ``copied`` is what following the program shows."""
        followed = _FOLLOWED.get(copied)
        if followed is False and not _pins_itself(moved):
            return False
        place = next((pinned for source in batch.sources if (pinned := self._pinned_by(source)) is not None), None)
        if place is not None or followed:
            return place or followed
        return False if all(map(self._is_pageable, batch.sources)) and not _pins_itself(moved) else None

    def _is_pageable(self, source: Source) -> bool:
        """Whether batches certainly come from loaders that do not pin them."""
        loaders = iterated(self._module, source.iterable)
        return bool(loaders) and all(loader is not None and loader.pins is False for loader in loaders)

    def _pinned_by(self, source: Source) -> cst.Call | None:
        """The loader of the file that pins the batches of a source, if it is known to."""
        loader = self._loaders.iterated_by(source.iterable) if source.iterable is not None else None
        return loader.call if loader is not None and loader.pins else None


def _pins_itself(moved: cst.BaseExpression) -> bool:
    """Whether what is moved is ``x.pin_memory()``."""
    return any(method(node) == "pin_memory" for node in (moved, *descendants(moved)))


_ATTRIBUTES = META_ATTRIBUTES | TENSOR_ATTRIBUTES
# What pins what a move copies, as following the program shows it.
_FOLLOWED: dict[str | None, Pinned] = {"pinned batch": "elsewhere", "pageable batch": False, "made": False}
