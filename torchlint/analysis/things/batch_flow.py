"""Batch flow: forward tracking of a data loader and its batches through one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.things.move import Moves
from torchlint.knowledge.heat import LOADER_WRAPPING_METHODS
from torchlint.knowledge.loaders import LOADER_PREPARATION
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

# The loaders that preparation returns move the batches themselves.
_WRAPPING_METHODS = LOADER_WRAPPING_METHODS - LOADER_PREPARATION
ItemPath = tuple[int, ...]
_MAX_STATES = 2_000


class BatchMove(NamedTuple):
    """The call ``move`` moves a batch to an accelerator, inside ``loop`` (or where the batch is fetched)."""

    loop: cst.CSTNode
    move: cst.Call


class MoveElsewhere(NamedTuple):
    """Another file moves the batches to an accelerator.

    ``node`` is the call or function that passes the loader to that file.
    """

    node: cst.CSTNode
    path: str
    line: int
    evaluation: bool


class BatchUses(NamedTuple):
    """Where the batches of a loader are moved. ``pinned`` is true if ``pin_memory`` is set on the loader later."""

    moves: tuple[BatchMove, ...]
    pinned: bool
    moves_elsewhere: tuple[MoveElsewhere, ...] = ()


class _State:
    """The findings and the visited nodes of one tracking; ``work`` holds the nodes that are still to be visited."""

    def __init__(self) -> None:
        self.moves: list[BatchMove] = []
        self.moves_elsewhere: list[MoveElsewhere] = []
        self.pinned = False
        self.seen: set[tuple[str, cst.CSTNode, ItemPath]] = set()
        self.work: list[tuple[str, cst.CSTNode, ItemPath, cst.CSTNode]] = []


class BatchFlow:
    """Tracks the data loaders of one module.

    Three kinds of nodes are tracked: ``loader`` (an iterable of batches, with the path from an item of the iterable to
    the batch), ``container`` (a dict or list of loaders), and ``batch``.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._is_move = module.shared(Moves).to_accelerator
        self._state = _State()

    def of(self, call: cst.Call) -> BatchUses:
        """How the batches of the loader that a call constructs are used."""
        self._state = _State()
        self._push("loader", call, ())
        return self._track()

    def of_parameter(self, param: cst.Param) -> BatchUses:
        """How a function uses the batches of a loader that it gets as a parameter."""
        self._state = _State()
        self._uses("loader", param.name, (), None)
        return self._track()

    def of_element(self, call: cst.Call, place: int) -> BatchUses:
        """How the batches of the loader at one index of the tuple that a call returns are used."""
        self._state = _State()
        self._unpacked("loader", call, place, ())
        return self._track()

    def _track(self) -> BatchUses:
        state = self._state
        while state.work and len(state.seen) < _MAX_STATES:
            kind, node, path, loop = state.work.pop()
            {"loader": self._loader, "container": self._container, "batch": self._batch}[kind](node, path, loop)
        return BatchUses(tuple(state.moves), state.pinned, tuple(state.moves_elsewhere))

    def _push(self, kind: str, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None = None) -> None:
        key = (kind, node, path)
        if key not in self._state.seen:
            self._state.seen.add(key)
            self._state.work.append((kind, node, path, loop or node))

    # -- loaders -----------------------------------------------------------------------------------

    def _loader(self, node: cst.CSTNode, path: ItemPath, _: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            self._loader_argument(parent, path)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("batch", parent.target, path, parent)
        elif isinstance(parent, cst.Attribute):
            self._state.pinned |= parent.attr.value == "pin_memory" and self._is_store(parent)
        elif isinstance(parent, cst.From):
            self._through_return("loader", parent, path)
        elif isinstance(parent, (cst.DictElement, cst.DictComp, cst.Element)):
            self._in_display(node, parent, path)
        else:
            self._through_statement("loader", node, path)

    def _loader_argument(self, arg: cst.Arg, path: ItemPath) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # an argument of a class definition
            return
        name = self._module.qualified(call.func)
        if name == "builtins.enumerate":
            self._push("loader", call, (1, *path))
        elif name == "builtins.zip":
            self._push("loader", call, (call.args.index(arg), *path))
        elif name == "builtins.next":
            self._push("batch", call, path, call)
        elif name in TRANSPARENT_ITERATORS or (name is None and method(call) in _WRAPPING_METHODS):
            self._push("loader", call, path)
        else:
            self._into_function("loader", call, arg, path, call)

    def _in_display(self, node: cst.CSTNode, parent: cst.CSTNode, path: ItemPath) -> None:
        """A loader in a tuple that is returned or unpacked, or in another container."""
        display = parent if isinstance(parent, cst.DictComp) else self._module.parent(parent)
        if isinstance(display, cst.Tuple):
            place = [e.value for e in display.elements].index(node)  # type: ignore[arg-type]
            function = self._module.function_of(display)
            if function is not None and isinstance(self._module.parent(display), cst.Return):
                self._moved_in_other_files(function, place)
            for call in self._display_values(display):
                self._unpacked("loader", call, place, path)
        elif display is not None:
            self._push("container", display, path)

    def _display_values(self, display: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that evaluate to a tuple: the tuple itself, or the calls of the function that returns it."""
        parent = self._module.parent(display)
        if isinstance(parent, cst.Return):
            yield from self._result_expressions(parent)
        else:
            yield display

    def _unpacked(
        self, kind: str, node: cst.CSTNode, place: int, path: ItemPath, loop: cst.CSTNode | None = None
    ) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                if isinstance(target.target, cst.Tuple) and place < len(target.target.elements):
                    self._target(kind, target.target.elements[place].value, path, loop)

    def _container(self, node: cst.CSTNode, path: ItemPath, _: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Subscript) and node is parent.value:
            self._push("loader", parent, path)
        elif isinstance(parent, cst.Attribute):
            call = self._module.parent(parent)
            loop = self._module.parent(call) if call is not None else None
            if call is not None and method(call) in ("values", "items") and isinstance(loop, (cst.For, cst.CompFor)):
                inner: ItemPath = (1,) if method(call) == "items" else ()
                self._targets("loader", loop.target, inner, loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("loader", parent.target, (), parent)
        else:
            self._through_statement("container", node, path)

    # -- batches -----------------------------------------------------------------------------------

    def _batch(self, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Attribute):
            self._batch_attribute(parent, loop)
        elif isinstance(parent, cst.Subscript) and node is parent.value:
            self._push("batch", parent, (), loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("batch", parent.target, (), loop)
        elif isinstance(parent, cst.Arg):
            self._batch_argument(parent, loop)
        elif isinstance(parent, cst.Yield):
            self._through_return("loader", parent, path)
        elif isinstance(parent, cst.Element):
            self._display_element(parent, loop)
        else:
            self._through_statement("batch", node, path, loop)

    def _display_element(self, element: cst.Element, loop: cst.CSTNode) -> None:
        """A batch in a tuple: ``image, mask = sample["image"], sample["mask"]``."""
        display = self._module.parent(element)
        if isinstance(display, cst.Tuple):
            self._unpacked("batch", display, display.elements.index(element), (), loop)

    def _batch_attribute(self, attribute: cst.Attribute, loop: cst.CSTNode) -> None:
        call = self._module.parent(attribute)
        if not isinstance(call, cst.Call) or call.func is not attribute:
            self._push("batch", attribute, (), loop)
        elif self._is_move(call):
            if not self._module.never_runs(call):
                self._state.moves.append(BatchMove(loop, call))
        else:
            self._push("batch", call, (), loop)

    def _batch_argument(self, arg: cst.Arg, loop: cst.CSTNode) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # an argument of a class definition
            return
        name = self._module.qualified(call.func)
        if name == "builtins.map" and isinstance(call.args[0].value, cst.Lambda):
            for param in call.args[0].value.params.params:
                self._uses("batch", param.name, (), loop)
        elif name is not None and name.startswith(("torch.", "builtins.tuple", "builtins.list")):
            self._push("batch", call, (), loop)
        else:
            self._into_function("batch", call, arg, (), loop)

    # -- loaders and batches -----------------------------------------------------------------------

    def _through_statement(self, kind: str, node: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None = None) -> None:
        """Follow assignments, conditional expressions and returns."""
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                self._targets(kind, target.target, (), loop)
                if isinstance(target.target, cst.Subscript):
                    self._target("container", target.target.value, path, loop)
        elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)):
            self._target(kind, parent.target, path, loop)
        elif isinstance(parent, (cst.IfExp, cst.Await)):
            self._push(kind, parent, path, loop)
        elif isinstance(parent, cst.Return):
            self._through_return(kind, parent, path)

    def _targets(self, kind: str, target: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None) -> None:
        """The names in an assignment target that get the tracked value, at the end of the path."""
        for step in path:
            if not isinstance(target, (cst.Tuple, cst.List)) or step >= len(target.elements):
                break
            target = target.elements[step].value
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._targets(kind, element.value, (), loop)
        else:
            self._target(kind, target, (), loop)

    def _target(self, kind: str, target: cst.CSTNode, path: ItemPath, loop: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            self._uses(kind, target, path, loop)
        elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
            self._attribute_reads(kind, target, path, loop)

    def _uses(self, kind: str, target: cst.Name, path: ItemPath, loop: cst.CSTNode | None) -> None:
        binding = self._module.binding_of(target)
        for use in self._module.uses(binding) if binding else ():
            self._push(kind, use, path, loop)
            if kind == "container" and binding is None:
                return
        if binding is None and kind == "container":  # an assignment to an element: `loaders["train"] = ...`
            for definition in self._module.definitions(target):
                for use in self._module.uses(definition):
                    self._push(kind, use, path, loop)

    def _attribute_reads(self, kind: str, target: cst.Attribute, path: ItemPath, loop: cst.CSTNode | None) -> None:
        owner = self._module.class_of(target)
        for read in self._module.attributes_named(target.attr.value):
            other = read is not target and not self._is_store(read)
            if other and isinstance(read.value, cst.Name) and self._module.class_of(read) is owner:
                self._push(kind, read, path, loop)

    def _is_store(self, node: cst.CSTNode) -> bool:
        return isinstance(self._module.parent(node), cst.AssignTarget)

    def _into_function(self, kind: str, call: cst.Call, arg: cst.Arg, path: ItemPath, loop: cst.CSTNode) -> None:
        """Follow an argument into the parameter of a function of the file."""
        function = self._module.functions.callee(call)
        if function is None:
            if kind == "loader":
                self._into_other_file(call, arg)
            return
        param = self._module.functions.parameter_for(function, call, arg)
        if param is not None:
            self._uses(kind, param.name, path, loop if kind == "batch" else None)

    def _into_other_file(self, call: cst.Call, arg: cst.Arg) -> None:
        """Follow a loader into a function or class of another file."""
        name = self._module.project_symbol(call.func) or self._module.project_method(call)
        if name is None or arg.star or any(a.star for a in call.args):
            return
        place: int | str = arg.keyword.value if arg.keyword is not None else call.args.index(arg)
        found = self._module.project.feeding_of(name, place)
        if found is not None:
            path, feeding = found
            self._state.moves_elsewhere.append(MoveElsewhere(call, path, feeding["line"], feeding["evaluation"]))

    def _moved_in_other_files(self, function: cst.FunctionDef, place: int | None) -> None:
        """Another file moves the batches of what a function returns, or of one element of the returned tuple."""
        if self._module.class_of(function) is not None:
            return
        for path, used, feeding in self._module.project.feedings_of_results(function.name.value):
            if used == place:
                self._state.moves_elsewhere.append(
                    MoveElsewhere(function, path, feeding["line"], feeding["evaluation"])
                )

    def _through_return(self, kind: str, node: cst.CSTNode, path: ItemPath) -> None:
        for result in self._result_expressions(node):
            self._push(kind, result, path)
        function = self._module.function_of(node)
        if kind == "loader" and function is not None:
            self._moved_in_other_files(function, None)

    def _result_expressions(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that evaluate to the result of a function: its calls, or reads of a property."""
        function = self._module.function_of(node)
        if function is None:
            return
        callers = self._module.functions.callers(function)
        yield from (site.call for site in callers.sites)
        if any(self._module.qualified(d.decorator) == "builtins.property" for d in function.decorators):
            yield from callers.escapes
