"""Uploads: batches of a loader that are moved to an accelerator while the host waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import Binding
from torchlint.analysis.syntax.calls import bind, is_opaque, keyword, literal, method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.loaders import Loaders
from torchlint.analysis.things.moves import Moves
from torchlint.analysis.values.lattice import Kind
from torchlint.analysis.values.mappings import Mappings
from torchlint.knowledge import loaders as known

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_DEPTH = 8


class Upload(NamedTuple):
    """Blocking moves of a batch in one statement.

    ``loop`` is where the batch comes from; ``pinned`` the loader that pins its memory, or the place in words
    where another file makes it; None when none is known to.
    """

    moves: tuple[cst.Call, ...]
    loop: cst.CSTNode
    pinned: cst.CSTNode | str | None


class Uploads:
    """Finds such moves in one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._mappings = Mappings(module)
        self._out: dict[cst.CSTNode, bool] = {}
        self._odd: dict[tuple[str, cst.CSTNode | None, bool], bool] = {}
        self._imports = [str(binding.qualified) for binding in module.project_imports()]

    def found(self) -> list[Upload]:
        """The blocking moves of fresh batches, one record for each statement."""
        if "torch_xla" in self._module.text:
            return []
        by_statement: dict[cst.CSTNode, list[tuple[cst.Call, Binding]]] = {}
        for call in self._module.nodes_of(cst.Call, frozenset(("to", "cuda"))):
            source = self._waited_for(call)
            binding = self._batch(source, _DEPTH) if source is not None else None
            if source is None or binding is None or not self._module.shared(Moves).is_move(call):
                continue  # where a move goes takes longest to find out
            if self._is_tensor(source, call):
                by_statement.setdefault(self._module.statement_of(call), []).append((call, binding))
        uploads = []
        for moves in by_statement.values():
            loop = moves[0][1]
            uploads.append(Upload(tuple(call for call, _ in moves), loop.statement, self._pinned(loop)))
        return uploads

    # -- moves -----------------------------------------------------------------------------------

    def _waited_for(self, call: cst.Call) -> cst.BaseExpression | None:
        """What a call moves, if it moves anything, when it waits for that."""
        if method(call) not in ("to", "cuda") or self._module.qualified(call.func) is not None or is_opaque(call):
            return None
        asked = keyword(call, "non_blocking") or keyword(call, "async")
        by_position = [a.value for a in call.args[1:3] if a.keyword is None]  # after the device, and perhaps a dtype
        if any(literal(a) is True for a in by_position) or (asked is not None and literal(asked) is not False):
            return None
        return None if self._read_at_once(call) else receiver(call)

    def _read_at_once(self, call: cst.Call) -> bool:
        """``x.to(device).sum().item()`` gains nothing."""
        node: cst.CSTNode = call
        while isinstance(parent := self._module.parent(node), cst.Attribute) and parent.value is node:
            if parent.attr.value in ("item", "tolist"):
                return True
            node = self._module.parent(parent) or parent
        return False

    def _is_tensor(self, source: cst.BaseExpression, call: cst.Call) -> bool:
        """No container of another library, none that is used like one, and nothing that is written to later."""
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
        if looped and self._module.project.has_custom_to(self._imports):
            return False  # it may be one of the project's own classes
        whole = [b for b in bindings if b.kind == "loop" and self._is_whole(b)]
        if any(self._yields_containers(b) for b in whole):
            return False
        names = [source.value, *self._kept_as(call)]
        return not any(self._used_oddly(name, self._module.function_of(source), bool(whole)) for name in names)

    def _yields_containers(self, binding: Binding) -> bool:
        """The loader is of a library whose batches are objects of its own."""
        own = any(word in self._module.text for word in known.CONTAINER_LIBRARIES)
        return own and self._loader(binding.statement.iter) is None  # type: ignore[attr-defined]

    def _is_whole(self, binding: Binding) -> bool:
        """The whole batch, not a member of it: ``for batch in loader``, ``for i, batch in enumerate(loader)``."""
        target = getattr(binding.statement, "target", None)
        if isinstance(target, cst.Name):
            return not isinstance(binding.statement, cst.CompFor)
        counted = isinstance(target, cst.Tuple) and len(target.elements) == 2 and len(binding.path) == 2
        iterable = getattr(binding.statement, "iter", None)
        enumerated = isinstance(iterable, cst.Call) and self._counts(iterable)
        return counted and enumerated and binding.path[-1] == 1

    def _counts(self, call: cst.Call, depth: int = 4) -> bool:
        if self._module.qualified(call.func) == "builtins.enumerate":
            return True
        return depth > 0 and any(isinstance(a.value, cst.Call) and self._counts(a.value, depth - 1) for a in call.args)

    def _kept_as(self, call: cst.Call) -> list[str]:
        parent = self._module.parent(call)
        if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
            return [parent.targets[0].target.value]
        return []

    def _used_oddly(self, word: str, function: cst.CSTNode | None, whole: bool) -> bool:
        """A function uses a variable in a way that no tensor is used."""
        if (word, function, whole) not in self._odd:
            own = [
                name
                for name in self._module.names_spelled(word, function)
                if self._module.function_of(name) is function
            ]
            self._odd[word, function, whole] = any(self._odd_use(name, whole) for name in own)
        return self._odd[word, function, whole]

    def _odd_use(self, name: cst.Name, whole: bool) -> bool:
        """Used as a container (``batch.labels``, ``**batch``), or written to in place."""
        parent = self._module.parent(name)
        if isinstance(parent, cst.Arg):
            return parent.star == "**"
        if isinstance(parent, cst.Attribute) and parent.value is name:
            called = isinstance(self._module.parent(parent), cst.Call)
            in_place = called and parent.attr.value.endswith("_") and not parent.attr.value.endswith("__")
            own = not called and parent.attr.value not in known.TENSOR_ATTRIBUTES
            return in_place or (whole and own)
        if isinstance(parent, cst.Subscript) and parent.value is name:
            stored = isinstance(self._module.parent(parent), cst.AssignTarget)
            index = parent.slice[0].slice
            text = isinstance(index, cst.Index) and isinstance(literal(index.value), str)
            return stored or (whole and text)
        return isinstance(parent, cst.AugAssign) and parent.target is name

    # -- where batches come from -----------------------------------------------------------------

    def _batch(self, node: cst.CSTNode, depth: int) -> Binding | None:
        """The binding by which a loop over a loader gave an expression its value."""
        if depth == 0:
            return None
        if isinstance(node, cst.Call):
            inner = receiver(node)
            moved = method(node) in ("to", "cuda", "cpu", "items", "values")
            plain = inner is not None and (not moved or method(node) in ("items", "values"))
            return self._batch(inner, depth - 1) if inner is not None and plain else None
        if isinstance(node, (cst.Subscript, cst.Attribute)):
            return self._batch(node.value, depth - 1)
        if not isinstance(node, cst.Name):
            return None
        bindings = self._module.definitions(node)
        if not bindings:
            return None
        found = [self._from_loader(binding, depth) for binding in bindings]
        return found[0] if all(f is not None for f in found) else None

    def _from_loader(self, binding: Binding, depth: int) -> Binding | None:
        if binding.kind == "loop":
            iterable = getattr(binding.statement, "iter", None)
            if iterable is None or (binding.path == ("each", 0) and self._is_number(binding)):
                return None
            if self._module.heat_analysis.iterates_batches(iterable):
                once = not self._module.heat_analysis.may_run_again(binding.statement)
                return None if once or self._excluded(binding.statement, iterable) else binding
            return self._batch(iterable, depth - 1) if isinstance(binding.statement, cst.CompFor) else None
        if binding.kind == "parameter":
            return self._mapped(binding, depth)
        if binding.kind in ("assign", "walrus") and isinstance(binding.value, cst.Call):
            call = binding.value
            looped = bool(self._module.heat_analysis.enclosing_loops(call)[0])
            if self._module.qualified(call.func) == "builtins.next" and call.args and looped:
                return binding if self._module.heat_analysis.iterates_batches(call.args[0].value) else None
        if binding.kind in ("assign", "walrus") and isinstance(binding.value, (cst.Name, cst.Subscript, cst.Tuple)):
            source: cst.CSTNode = binding.value
            if isinstance(source, cst.Tuple) and len(binding.path) == 1 and isinstance(binding.path[0], int):
                source = source.elements[binding.path[0]].value if binding.path[0] < len(source.elements) else source
            return self._batch(source, depth - 1) if not isinstance(source, cst.Tuple) else None
        return None

    def _mapped(self, binding: Binding, depth: int) -> Binding | None:
        """``map(lambda t: t.cuda(), batch)``."""
        around = list(self._module.ancestors(binding.node))[:5]
        function = next((a for a in around if isinstance(a, cst.Lambda)), None)
        call = next((a for a in around if isinstance(a, cst.Call)), None)
        if function is None or call is None or self._module.qualified(call.func) != "builtins.map":
            return None
        return self._batch(call.args[1].value, depth - 1) if len(call.args) == 2 else None

    def _excluded(self, loop: cst.CSTNode, iterable: cst.CSTNode) -> bool:
        """Somebody else moves the batches, they are on the device already, or the loop measures the move."""
        if loop not in self._out:
            self._out[loop] = self._is_out(loop, iterable)
        return self._out[loop]

    def _is_out(self, loop: cst.CSTNode, iterable: cst.CSTNode) -> bool:
        made = self._loader(iterable)
        if made is not None and self._module.shared(Loaders).unpinnable(made):
            return True
        calls = [n for n in descendants(getattr(loop, "body", loop)) if isinstance(n, cst.Call)]
        if any(self._module.qualified(call.func) == "torch.cuda.synchronize" for call in calls):
            return True
        return any(self._prepared(node) for node in descendants(iterable))

    def _prepared(self, node: cst.CSTNode) -> bool:
        """``accelerator.prepare(loader)``."""
        values: list[cst.CSTNode | None] = [node]
        if isinstance(node, cst.Name):
            values = [b.value for b in self._module.definitions(node)]
        elif isinstance(node, cst.Attribute):
            owner = self._module.value(node.value).node
            if isinstance(owner, cst.ClassDef):
                values = [value for value, _ in self._module.classes.assignments(owner, node.attr.value)]
        return any(value is not None and method(value) in known.OWN_TRANSFER for value in values)

    def _is_number(self, binding: Binding) -> bool:
        """The counter of ``enumerate``."""
        iterable = getattr(binding.statement, "iter", None)
        return isinstance(iterable, cst.Call) and self._counts(iterable)

    # -- pinned loaders --------------------------------------------------------------------------

    def _pinned(self, binding: Binding) -> cst.CSTNode | str | None:
        iterable = getattr(binding.statement, "iter", None)
        if iterable is None and isinstance(binding.value, cst.Call):
            iterable = binding.value.args[0].value
        return self._pins(iterable, _DEPTH) if iterable is not None else None

    def _pins(self, node: cst.CSTNode, depth: int) -> cst.CSTNode | str | None:
        """The call that makes the pinned loader behind an iterable."""
        made = self._loader(node, depth)
        if made is not None:
            return made if self.pins(made) else None
        for name in descendants(node):
            bindings = self._module.definitions(name) if isinstance(name, cst.Name) else ()
            if len(bindings) == 1 and bindings[0].kind == "parameter":
                elsewhere = self._pinned_elsewhere(bindings[0])
                if elsewhere is not None:
                    return elsewhere
        return None

    def _loader(self, node: cst.CSTNode, depth: int = _DEPTH) -> cst.Call | None:
        """The call that makes the loader behind an iterable, through wrappers and variables."""
        value = self._module.value(node)
        if value.kind is Kind.LOADER and isinstance(value.origin, cst.Call):
            return value.origin
        inside: list[cst.CSTNode] = []
        if isinstance(node, cst.Call):
            inside = [arg.value for arg in node.args]
        elif isinstance(node, cst.Name):
            inside = [b.value for b in self._module.definitions(node) if b.value is not None]
        found = (self._loader(part, depth - 1) for part in inside if depth)
        return next((made for made in found if made is not None), None)

    def _pinned_elsewhere(self, binding: Binding) -> str | None:
        """Another file gives a pinned loader for this parameter."""
        function = self._module.function_of(binding.node)
        if function is None or self._module.class_of(function) is not None:
            return None
        names = [p.name.value for p in (*function.params.posonly_params, *function.params.params)]
        given = self._module.project.loaders_passed_to(function.name.value)
        keys = [binding.name, *([str(names.index(binding.name))] if binding.name in names else [])]
        for key in keys:
            if key in given:
                path, pins, line = given[key]
                return f"{path}, line {line}" if pins else None
        return None

    def pins(self, call: cst.Call) -> bool:
        """The loader that a call makes pins its memory, wherever there is an accelerator."""
        pins = [v for v in [bind(call, known.PARAMETERS).get("pin_memory")] if v is not None]
        for arg in call.args:
            if arg.star == "**":
                pins += (self._mappings.entries(arg.value) or {}).get("pin_memory", [])
        return any(literal(v) is True or self._asks_for_cuda(v) for v in pins)

    def _asks_for_cuda(self, node: cst.BaseExpression) -> bool:
        from torchlint.analysis.things.cuda_guards import CudaGuards

        return literal(node) is ... and CudaGuards(self._module).implies(node, holds=True)
