"""Where a data loader goes, and where its batches go from there: forward tracking through one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.syntax.calls import method
from torchlint.analysis.things.move import Moves
from torchlint.knowledge.heat import WRAPPING_METHODS
from torchlint.knowledge.loaders import OWN_TRANSFER
from torchlint.knowledge.tensors import TRANSPARENT_ITERATORS

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_WRAPPERS = WRAPPING_METHODS - OWN_TRANSFER  # those hand back loaders that move the batches themselves
Way = tuple[int, ...]
_LIMIT = 2_000


class BatchMove(NamedTuple):
    """A batch of the loader is moved to an accelerator by ``move``, in ``loop`` (or where it is fetched)."""

    loop: cst.CSTNode
    move: cst.Call


class OtherFile(NamedTuple):
    """Another file moves the batches: ``node`` is the call or function that hands the loader to it."""

    node: cst.CSTNode
    path: str
    line: int
    evaluation: bool


class Destinations(NamedTuple):
    """Where the batches of a loader go; ``pinned`` when the attribute ``pin_memory`` is set on the loader later."""

    moves: tuple[BatchMove, ...]
    pinned: bool
    elsewhere: tuple[OtherFile, ...] = ()


class _State:
    """What one tracking has found and seen; ``work`` holds what is still to be followed."""

    def __init__(self) -> None:
        self.moves: list[BatchMove] = []
        self.elsewhere: list[OtherFile] = []
        self.pinned = False
        self.seen: set[tuple[str, cst.CSTNode, Way]] = set()
        self.work: list[tuple[str, cst.CSTNode, Way, cst.CSTNode]] = []


class BatchFlow:
    """Tracks loaders of one module.

    Three kinds of nodes are followed: ``loader`` (an iterable of batches, with the way from an item of
    the iterable to the batch), ``holder`` (a dict or list of loaders), and ``batch``.
    """

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._is_move = module.shared(Moves).to_accelerator
        self._state = _State()

    def of(self, call: cst.Call) -> Destinations:
        """What happens to the batches of the loader that a call makes."""
        self._state = _State()
        self._push("loader", call, ())
        return self._followed()

    def of_parameter(self, param: cst.Param) -> Destinations:
        """What a function does to the batches of a loader that it is given."""
        self._state = _State()
        self._uses("loader", param.name, (), None)
        return self._followed()

    def of_member(self, call: cst.Call, place: int) -> Destinations:
        """What happens to the batches of the loader at one place of the tuple that a call returns."""
        self._state = _State()
        self._unpacked("loader", call, place, ())
        return self._followed()

    def _followed(self) -> Destinations:
        state = self._state
        while state.work and len(state.seen) < _LIMIT:
            kind, node, way, loop = state.work.pop()
            {"loader": self._loader, "holder": self._holder, "batch": self._batch}[kind](node, way, loop)
        return Destinations(tuple(state.moves), state.pinned, tuple(state.elsewhere))

    def _push(self, kind: str, node: cst.CSTNode, way: Way, loop: cst.CSTNode | None = None) -> None:
        key = (kind, node, way)
        if key not in self._state.seen:
            self._state.seen.add(key)
            self._state.work.append((kind, node, way, loop or node))

    # -- loaders ---------------------------------------------------------------------------------

    def _loader(self, node: cst.CSTNode, way: Way, _: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Arg):
            self._loader_given(parent, way)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("batch", parent.target, way, parent)
        elif isinstance(parent, cst.Attribute):
            self._state.pinned |= parent.attr.value == "pin_memory" and self._is_store(parent)
        elif isinstance(parent, cst.From):
            self._returned("loader", parent, way)
        elif isinstance(parent, (cst.DictElement, cst.DictComp, cst.Element)):
            self._kept(node, parent, way)
        else:
            self._passed_on("loader", node, way)

    def _loader_given(self, arg: cst.Arg, way: Way) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # a class is made of it
            return
        name = self._module.qualified(call.func)
        if name == "builtins.enumerate":
            self._push("loader", call, (1, *way))
        elif name == "builtins.zip":
            self._push("loader", call, (call.args.index(arg), *way))
        elif name == "builtins.next":
            self._push("batch", call, way, call)
        elif name in TRANSPARENT_ITERATORS or (name is None and method(call) in _WRAPPERS):
            self._push("loader", call, way)
        else:
            self._into_function("loader", call, arg, way, call)

    def _kept(self, node: cst.CSTNode, parent: cst.CSTNode, way: Way) -> None:
        """A member of a display: a tuple that is returned or unpacked, else a container of loaders."""
        display = parent if isinstance(parent, cst.DictComp) else self._module.parent(parent)
        if isinstance(display, cst.Tuple):
            place = [e.value for e in display.elements].index(node)  # type: ignore[arg-type]
            function = self._module.function_of(display)
            if function is not None and isinstance(self._module.parent(display), cst.Return):
                self._fed_elsewhere(function, place)
            for call in self._receivers(display):
                self._unpacked("loader", call, place, way)
        elif display is not None:
            self._push("holder", display, way)

    def _receivers(self, display: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that have the value of a display: itself, or calls of the function returning it."""
        parent = self._module.parent(display)
        if isinstance(parent, cst.Return):
            yield from self._results(parent)
        else:
            yield display

    def _unpacked(self, kind: str, node: cst.CSTNode, place: int, way: Way, loop: cst.CSTNode | None = None) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                if isinstance(target.target, cst.Tuple) and place < len(target.target.elements):
                    self._target(kind, target.target.elements[place].value, way, loop)

    def _holder(self, node: cst.CSTNode, way: Way, _: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Subscript) and node is parent.value:
            self._push("loader", parent, way)
        elif isinstance(parent, cst.Attribute):
            call = self._module.parent(parent)
            loop = self._module.parent(call) if call is not None else None
            if call is not None and method(call) in ("values", "items") and isinstance(loop, (cst.For, cst.CompFor)):
                inner: Way = (1,) if method(call) == "items" else ()
                self._targets("loader", loop.target, inner, loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("loader", parent.target, (), parent)
        else:
            self._passed_on("holder", node, way)

    # -- batches ---------------------------------------------------------------------------------

    def _batch(self, node: cst.CSTNode, way: Way, loop: cst.CSTNode) -> None:
        parent = self._module.parent(node)
        if isinstance(parent, cst.Attribute):
            self._batch_attribute(parent, loop)
        elif isinstance(parent, cst.Subscript) and node is parent.value:
            self._push("batch", parent, (), loop)
        elif isinstance(parent, (cst.For, cst.CompFor)) and node is parent.iter:
            self._targets("batch", parent.target, (), loop)
        elif isinstance(parent, cst.Arg):
            self._batch_given(parent, loop)
        elif isinstance(parent, cst.Yield):
            self._returned("loader", parent, way)
        elif isinstance(parent, cst.Element):
            self._member(parent, loop)
        else:
            self._passed_on("batch", node, way, loop)

    def _member(self, element: cst.Element, loop: cst.CSTNode) -> None:
        """``image, mask = sample["image"], sample["mask"]``."""
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

    def _batch_given(self, arg: cst.Arg, loop: cst.CSTNode) -> None:
        call = self._module.parent(arg)
        if not isinstance(call, cst.Call):  # a class is made of it
            return
        name = self._module.qualified(call.func)
        if name == "builtins.map" and isinstance(call.args[0].value, cst.Lambda):
            for param in call.args[0].value.params.params:
                self._uses("batch", param.name, (), loop)
        elif name is not None and name.startswith(("torch.", "builtins.tuple", "builtins.list")):
            self._push("batch", call, (), loop)
        else:
            self._into_function("batch", call, arg, (), loop)

    # -- what loaders and batches share ----------------------------------------------------------

    def _passed_on(self, kind: str, node: cst.CSTNode, way: Way, loop: cst.CSTNode | None = None) -> None:
        """Through assignments, conditional expressions and returns."""
        parent = self._module.parent(node)
        if isinstance(parent, cst.Assign):
            for target in parent.targets:
                self._targets(kind, target.target, (), loop)
                if isinstance(target.target, cst.Subscript):
                    self._target("holder", target.target.value, way, loop)
        elif isinstance(parent, (cst.AnnAssign, cst.NamedExpr)):
            self._target(kind, parent.target, way, loop)
        elif isinstance(parent, (cst.IfExp, cst.Await)):
            self._push(kind, parent, way, loop)
        elif isinstance(parent, cst.Return):
            self._returned(kind, parent, way)

    def _targets(self, kind: str, target: cst.CSTNode, way: Way, loop: cst.CSTNode | None) -> None:
        """The names in a target that hold the followed value, at the end of the way through it."""
        for step in way:
            if not isinstance(target, (cst.Tuple, cst.List)) or step >= len(target.elements):
                break
            target = target.elements[step].value
        if isinstance(target, (cst.Tuple, cst.List)):
            for element in target.elements:
                self._targets(kind, element.value, (), loop)
        else:
            self._target(kind, target, (), loop)

    def _target(self, kind: str, target: cst.CSTNode, way: Way, loop: cst.CSTNode | None) -> None:
        if isinstance(target, cst.Name):
            self._uses(kind, target, way, loop)
        elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
            self._attribute_reads(kind, target, way, loop)

    def _uses(self, kind: str, target: cst.Name, way: Way, loop: cst.CSTNode | None) -> None:
        binding = self._module.binding_of(target)
        for use in self._module.uses(binding) if binding else ():
            self._push(kind, use, way, loop)
            if kind == "holder" and binding is None:
                return
        if binding is None and kind == "holder":  # a store into a container: `loaders["train"] = ...`
            for definition in self._module.definitions(target):
                for use in self._module.uses(definition):
                    self._push(kind, use, way, loop)

    def _attribute_reads(self, kind: str, target: cst.Attribute, way: Way, loop: cst.CSTNode | None) -> None:
        owner = self._module.class_of(target)
        for read in self._module.attributes_named(target.attr.value):
            other = read is not target and not self._is_store(read)
            if other and isinstance(read.value, cst.Name) and self._module.class_of(read) is owner:
                self._push(kind, read, way, loop)

    def _is_store(self, node: cst.CSTNode) -> bool:
        return isinstance(self._module.parent(node), cst.AssignTarget)

    def _into_function(self, kind: str, call: cst.Call, arg: cst.Arg, way: Way, loop: cst.CSTNode) -> None:
        """An argument becomes a parameter of a function of the file."""
        function = self._module.functions.callee(call)
        if function is None:
            if kind == "loader":
                self._into_file(call, arg)
            return
        param = self._module.functions.parameter_for(function, call, arg)
        if param is not None:
            self._uses(kind, param.name, way, loop if kind == "batch" else None)

    def _into_file(self, call: cst.Call, arg: cst.Arg) -> None:
        """A loader is handed to a function or class of another file."""
        name = self._module.project_symbol(call.func) or self._module.project_method(call)
        if name is None or arg.star or any(a.star for a in call.args):
            return
        place: int | str = arg.keyword.value if arg.keyword is not None else call.args.index(arg)
        found = self._module.project.feeding_of(name, place)
        if found is not None:
            path, feeding = found
            self._state.elsewhere.append(OtherFile(call, path, feeding["line"], feeding["evaluation"]))

    def _fed_elsewhere(self, function: cst.FunctionDef, place: int | None) -> None:
        """Another file feeds what a function returns, or one place of the tuple."""
        if self._module.class_of(function) is not None:
            return
        for path, used, feeding in self._module.project.feedings_of_results(function.name.value):
            if used == place:
                self._state.elsewhere.append(OtherFile(function, path, feeding["line"], feeding["evaluation"]))

    def _returned(self, kind: str, node: cst.CSTNode, way: Way) -> None:
        for result in self._results(node):
            self._push(kind, result, way)
        function = self._module.function_of(node)
        if kind == "loader" and function is not None:
            self._fed_elsewhere(function, None)

    def _results(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The expressions that stand for what a function returns: its calls, or reads of a property."""
        function = self._module.function_of(node)
        if function is None:
            return
        callers = self._module.functions.callers(function)
        yield from (site.call for site in callers.sites)
        if any(self._module.qualified(d.decorator) == "builtins.property" for d in function.decorators):
            yield from callers.escapes
