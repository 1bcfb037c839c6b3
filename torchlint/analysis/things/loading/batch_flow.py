"""Batch flow: forward tracking of a data loader and its batches through one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.things.loading.batch_uses import (
    BATCH,
    CONTAINER,
    DERIVED,
    LOADER,
    BatchMove,
    BatchUses,
    FrameworkMove,
    ItemPath,
    Role,
    Tracking,
)
from torchlint.analysis.things.loading.framework_use import FrameworkUses
from torchlint.analysis.things.loading.host_copies import may_copy
from torchlint.analysis.things.move import VARIABLE_WRAPPERS, Moves
from torchlint.knowledge import frameworks, loaders
from torchlint.knowledge.frameworks import Framework
from torchlint.knowledge.heat import LOADER_WRAPPING_METHODS
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# The loaders that frameworks prepare move the batches themselves.
_WRAPPING_METHODS = LOADER_WRAPPING_METHODS - frameworks.WRAPPERS
_MAX_STATES = 2_000


class BatchFlow:
    """Tracks the data loaders of one module, and their batches; :mod:`batch_uses` describes the roles of nodes.

    A loader has a path: from an item of the iterable to the batch. What the host may have copied (``x.float()``) is not
    followed, since the loader cannot pin the copy.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._moves = module.shared(Moves)
        self._frameworks = module.shared(FrameworkUses)
        self._state = Tracking()

    def of(self, call: cst.Call) -> BatchUses:
        """How the batches of the loader that a call constructs are used."""
        self._state = Tracking()
        self._state.push(LOADER, call, ())
        return self._track().uses()

    def of_loop(self, loop: cst.For | cst.CompFor, *, counted: bool) -> Tracking:
        """The batches of a loop over a loader; ``counted`` if the loop is over ``enumerate``."""
        self._state = Tracking()
        self._targets(BATCH, loop.target, (1,) if counted else (), loop)
        return self._track()

    def of_fetch(self, call: cst.Call) -> Tracking:
        """The batch that ``next(iterator)`` returns."""
        self._state = Tracking()
        self._state.push(BATCH, call, ())
        return self._track()

    def _track(self) -> Tracking:
        state = self._state
        while state.work and len(state.seen) < _MAX_STATES:
            role, node, path, loop = state.work.pop()
            if role == CONTAINER:
                self._container(node, path)
            elif role in (BATCH, DERIVED):
                self._batch(role, node, path, loop)
            else:
                self._loader(role, node, path)
        return state

    # -- loaders -----------------------------------------------------------------------------------

    def _loader(self, role: Role, node: cst.CSTNode, path: ItemPath) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            self._loader_argument(role, parent, path)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._iterated(role, parent, parent.target, path)
        elif isinstance(parent, cst.Attribute):
            self._state.pinned |= parent.attr.value == "pin_memory" and self._is_store(parent)
            call = self._module.parent(parent)
            if isinstance(call, cst.Call) and call.func is parent and method(call) in ("next", "__next__"):
                self._iterated(role, call, None, path)
        elif isinstance(parent, cst.From):
            self._through_return(role, parent, path)
        elif isinstance(parent, (cst.DictElement, cst.DictComp, cst.ListComp, cst.Element)):
            self._in_display(role, node, parent, path)
        else:
            self._through_statement(role, node, path)

    def _iterated(self, role: Role, loop: cst.CSTNode, target: cst.CSTNode | None, path: ItemPath) -> None:
        """A loop gets the batches of a loader, or a call of ``next`` one of them."""
        if isinstance(role, Framework):
            evaluation = self._module.heat_analysis.evaluates(loop)
            self._state.framework_moves.append(FrameworkMove(loop, role, evaluation, role in self._state.certain))
        elif target is None:
            self._state.push(BATCH, loop, path)
        else:
            self._targets(BATCH, target, path, loop)

    def _loader_argument(self, role: Role, arg: cst.Arg, path: ItemPath) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # an argument of a class definition
            return
        name = self._module.qualified(call.func)
        if name in ("builtins.enumerate", "builtins.zip"):
            place = 1 if name == "builtins.enumerate" else call.args.index(arg)
            self._state.push(role, call, (place, *path))
        elif name == "builtins.next":
            self._iterated(role, call, None, path)
        elif name in TRANSPARENT_ITERATORS or (name is None and method(call) in _WRAPPING_METHODS):
            self._state.push(role, call, path)
        elif not self._to_framework(call, arg, path):
            self._into_function(role, call, arg, path)

    def _to_framework(self, call: cst.Call, arg: cst.Arg, path: ItemPath) -> bool:
        """Whether a loader is passed to a framework, which then moves the batches."""
        use = self._frameworks.of_argument(call, arg)
        if use is not None:
            self._state.framework_moves.append(FrameworkMove(call, use.framework, use.evaluation, use.certain))
        wrapper = self._frameworks.of_wrapper(call)
        accelerated = self._frameworks.prepared(call, wrapper) if wrapper is not None else None
        if wrapper is not None and accelerated is not False:
            if accelerated:
                self._state.certain.add(wrapper)
            if len(call.args) == 1:
                self._state.push(wrapper, call, path)
            elif not any(other.star for other in call.args):
                self._unpacked(wrapper, call, call.args.index(arg), path)
        return use is not None or wrapper is not None

    def _in_display(self, role: Role, node: cst.CSTNode, parent: cst.CSTNode, path: ItemPath) -> None:
        """A loader in a tuple that is returned or unpacked, or in another container."""
        display = parent if isinstance(parent, (cst.DictComp, cst.ListComp)) else self._module.parent(parent)
        if isinstance(display, cst.Tuple):
            place = [e.value for e in display.elements].index(node)  # type: ignore[arg-type]
            for call in self._display_values(display):
                self._unpacked(role, call, place, path)
        elif display is not None and role == LOADER:
            self._state.push(CONTAINER, display, path)

    def _display_values(self, display: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that evaluate to a tuple: the tuple itself, or the calls of the function that returns it."""
        parent = self._module.parent(display)
        if isinstance(parent, cst.Return):
            yield from self._result_expressions(parent)
        else:
            yield display

    def _unpacked(
        self, role: Role, node: cst.CSTNode, place: int, path: ItemPath, loop: cst.CSTNode | None = None
    ) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                if isinstance(target.target, cst.Tuple) and place < len(target.target.elements):
                    self._target(role, target.target.elements[place].value, path, loop)

    def _container(self, node: cst.CSTNode, path: ItemPath) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Subscript) and node is parent.value:
            self._state.push(LOADER, parent, path)
        elif isinstance(parent, cst.Attribute):
            call = self._module.parent(parent)
            loop = self._module.parent(call) if call is not None else None
            if call is not None and method(call) in ("values", "items") and isinstance(loop, (cst.For, cst.CompFor)):
                inner: ItemPath = (1,) if method(call) == "items" else ()
                self._targets(LOADER, loop.target, inner, loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets(LOADER, parent.target, (), parent)
        elif isinstance(parent, cst.Arg):
            call = self._module.parent(parent)
            if isinstance(call, cst.Call):
                self._into_function(CONTAINER, call, parent, path)
        else:
            self._through_statement(CONTAINER, node, path)

    # -- batches -----------------------------------------------------------------------------------

    def _batch(self, role: Role, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Attribute):
            self._batch_attribute(role, parent, loop)
        elif isinstance(parent, cst.Subscript) and node is parent.value:
            self._state.push(role, parent, (), loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets(role, parent.target, path, loop)
        elif isinstance(parent, cst.Arg):
            self._batch_argument(role, parent, loop)
        elif isinstance(parent, cst.Yield):
            self._through_return(LOADER, parent, path)
        elif isinstance(parent, cst.Element):
            self._display_element(role, parent, loop)
        else:
            verb = method(node) if node is not loop else None
            computed = verb is not None and verb not in loaders.VIEW_METHODS
            self._through_statement(DERIVED if computed else role, node, path, loop)

    def _display_element(self, role: Role, element: cst.Element, loop: cst.CSTNode) -> None:
        """A batch in a tuple: ``image, mask = sample["image"], sample["mask"]``."""
        display = self._module.parent(element)
        if isinstance(display, cst.Tuple):
            self._unpacked(role, display, display.elements.index(element), (), loop)

    def _batch_attribute(self, role: Role, attribute: cst.Attribute, loop: cst.CSTNode) -> None:
        call = self._module.parent(attribute)
        if not isinstance(call, cst.Call) or call.func is not attribute:
            self._state.push(role, attribute, (), loop)
        elif self._moves.to_accelerator(call):
            self._moved(call, loop)
        elif not may_copy(self._module, call):
            self._state.push(role, call, (), loop)

    def _moved(self, call: cst.Call, loop: cst.CSTNode) -> None:
        if not self._module.never_runs(call):
            self._state.moves.append(BatchMove(loop, call))

    def _batch_argument(self, role: Role, arg: cst.Arg, loop: cst.CSTNode) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # an argument of a class definition
            return
        name = self._module.qualified(call.func)
        if name == "builtins.map" and isinstance(call.args[0].value, cst.Lambda):
            for param in call.args[0].value.params.params:
                self._uses(role, param.name, (), loop)
        elif name in frameworks.MOVERS or (method(call) == "copy_" and self._moves.to_accelerator(call)):
            self._moved(call, loop)
        elif name in ("builtins.enumerate", "builtins.zip"):
            place = 1 if name == "builtins.enumerate" else call.args.index(arg)
            self._state.push(role, call, (place,), loop)
        elif name is not None and name.startswith(("torch.", "builtins.tuple", "builtins.list", "builtins.dict")):
            computed = name.startswith("torch.") and name not in VARIABLE_WRAPPERS
            if not may_copy(self._module, call):
                self._state.push(DERIVED if computed else role, call, (), loop)
        else:
            self._into_function(role, call, arg, (), loop)

    # -- loaders and batches -----------------------------------------------------------------------

    def _through_statement(
        self, role: Role, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None = None
    ) -> None:
        """Follow assignments, conditional expressions and returns."""
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                self._targets(role, target.target, (), loop)
                if isinstance(target.target, cst.Subscript) and role == LOADER:
                    self._target(CONTAINER, target.target.value, path, loop)
        elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)):
            self._target(role, parent.target, path, loop)
        elif isinstance(parent, (cst.IfExp, cst.Await)):
            self._state.push(role, parent, path, loop)
        elif isinstance(parent, cst.Return):
            self._through_return(role, parent, path)

    def _targets(self, role: Role, target: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None) -> None:
        """The names in an assignment target that get the tracked value, at the end of the path."""
        for step in path:
            if not isinstance(target, (cst.Tuple, cst.List)) or step >= len(target.elements):
                break
            target = target.elements[step].value
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._targets(role, element.value, (), loop)
        else:
            self._target(role, target, (), loop)

    def _target(self, role: Role, target: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            self._uses(role, target, path, loop)

    def _uses(self, role: Role, target: cst.Name, path: ItemPath, loop: cst.CSTNode | None) -> None:
        binding = self._module.binding_of(target)
        if binding is not None and role == BATCH:
            self._state.bound.add(binding)
        for use in self._module.uses(binding) if binding else ():
            self._state.push(role, use, path, loop)
        if binding is None and role == CONTAINER:  # an assignment to an element: `loaders["train"] = ...`
            for definition in self._module.definitions(target):
                for use in self._module.uses(definition):
                    self._state.push(role, use, path, loop)

    def _is_store(self, node: cst.CSTNode) -> bool:
        return isinstance(self._module.parent(node), cst.AssignTarget)

    def _into_function(
        self, role: Role, call: cst.Call, arg: cst.Arg, path: ItemPath, loop: cst.CSTNode | None = None
    ) -> None:
        """Follow an argument into the parameter of a function of the file."""
        function = self._module.functions.callee(call)
        param = self._module.functions.parameter_for(function, call, arg) if function is not None else None
        if param is not None:
            self._uses(role, param.name, path, loop)

    def _through_return(self, role: Role, node: cst.CSTNode, path: ItemPath) -> None:
        for result in self._result_expressions(node):
            self._state.push(role, result, path)
        function = self._module.function_of(node)
        if function is None or role not in (LOADER, CONTAINER):
            return
        use = self._frameworks.of_hook(function)
        if use is not None:
            self._state.framework_moves.append(FrameworkMove(function, use.framework, use.evaluation, use.certain))

    def _result_expressions(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that evaluate to the result of a function: its calls, or reads of a property."""
        function = self._module.function_of(node)
        if function is None:
            return
        callers = self._module.functions.callers(function)
        yield from (site.call for site in callers.sites)
        if any(self._module.qualified(d.decorator) == "builtins.property" for d in function.decorators):
            yield from callers.escapes
