"""Device choices: where a program chooses between CUDA and the CPU, so that it is meant to run without CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.flow import never_falls_through
from torchlint.analysis.syntax.calls import keyword, literal, method, receiver
from torchlint.analysis.syntax.walk import descendants
from torchlint.analysis.things.cuda.fallbacks import CudaFallbacks
from torchlint.analysis.things.cuda.guards import CudaGuards
from torchlint.analysis.things.options import attribute_of
from torchlint.analysis.values.lattice import Device
from torchlint.knowledge import portability as known
from torchlint.knowledge.tensors import LEGACY

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule

_WORDS = frozenset({"cuda"})
_ADDING = frozenset({"add_argument"})


class DeviceChoice(NamedTuple):
    """A place where the program chooses its device, and what it does there."""

    node: cst.CSTNode
    text: str


class DeviceChoices:
    """Finds the places in one module where it chooses between CUDA and the CPU, or has an option for that."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._guards = module.shared(CudaGuards)

    @cached_property
    def all(self) -> list[DeviceChoice]:
        """The choices of the file in source order: conditional expressions, conditional moves and options."""
        names = self._module.aliases(_WORDS)
        found = [
            DeviceChoice(node, "the program chooses between CUDA and the CPU")
            for node in self._module.nodes_of(cst.IfExp, names)
            if self._picks(node)
        ]
        tests = (node for node in self._module.nodes_of(cst.If, names) if self._moves_if_chosen(node))
        found += [DeviceChoice(node.test, "CUDA is optional elsewhere") for node in tests]
        found += [DeviceChoice(call, "an option chooses the device") for call in self._options()]
        return sorted(found, key=lambda choice: self._module.order(choice.node))

    @property
    def first(self) -> DeviceChoice | None:
        """The first choice of the file."""
        return next(iter(self.all), None)

    def at(self, place: cst.CSTNode) -> DeviceChoice | None:
        """The first choice of the program that runs a place: a demo under ``__main__`` is a program of its own."""
        if self.is_main(place):
            return next((one for one in self.all if self._module.function_of(one.node) is None), None)
        return self.first

    def is_main(self, place: cst.CSTNode) -> bool:
        """Whether a place only runs if the file is run as a program, and not in a function."""
        if self._module.function_of(place) is not None:
            return False
        tests = (guard.condition for guard in self._module.guards(place) if guard.kind == "test")
        return any(test is not None and is_main_test(test) for test in tests)

    # -- expressions -------------------------------------------------------------------------------

    def _picks(self, node: cst.IfExp) -> bool:
        """Whether a conditional expression is CUDA if a check or an option says so, and else the CPU."""
        for cuda, other, holds in ((node.body, node.orelse, True), (node.orelse, node.body, False)):
            if self._guards.implies_cuda(node.test, holds) and self.stays_on_host(other, cuda):
                return self.names_cuda(cuda) or literal(other) == "cpu"  # an index is CUDA, too
        return False

    def names_cuda(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is CUDA, or a tensor, module or type that is there."""
        if isinstance(node, (cst.SimpleString, cst.FormattedString)):
            return self._module.code(node).lstrip("rfbuRFBU\"'").startswith("cuda")
        if isinstance(node, cst.Call) and self._module.qualified(node.func) == "torch.device":
            return bool(node.args) and self.names_cuda(node.args[0].value)
        if isinstance(node, cst.Call) and method(node) in ("cuda", "to"):
            moved = method(node) == "cuda" or any(self.names_cuda(arg.value) for arg in node.args)
            return moved and self._module.qualified(node.func) is None
        if self._legacy_device(node) == "cuda":
            return True
        return self._module.value(node).device is Device.CUDA

    def stays_on_host(self, node: cst.BaseExpression, cuda: cst.BaseExpression) -> bool:
        """Whether an expression is the CPU, a tensor or type there, or what the other one moves to CUDA."""
        if literal(node) == "cpu" or self._module.value(node).device is Device.CPU:
            return True
        if self._legacy_device(node) == "cpu":
            return True
        moved = receiver(cuda) if isinstance(cuda, cst.Call) else None
        return moved is not None and (self._module.code(moved) == self._module.code(node) or method(node) == "cpu")

    def _legacy_device(self, node: cst.BaseExpression) -> str | None:
        """The device of a tensor type such as ``torch.cuda.FloatTensor``, or of what it makes."""
        name = self._module.qualified(node.func if isinstance(node, cst.Call) else node)
        return LEGACY.get(name) if name is not None else None

    # -- statements --------------------------------------------------------------------------------

    def _moves_if_chosen(self, node: cst.If) -> bool:
        """Whether a statement moves something to CUDA if a check or an option says so, and else goes on without."""
        if _compares(node.test) or not self._guards.implies_cuda(node.test, True) or not self._requests(node.body):
            return False
        if node.orelse is None:
            return not self.leaves(node.body)
        if isinstance(node.orelse, cst.If):
            return not self._requests(node.orelse)
        return not self.leaves(node.orelse.body) and not self._requests(node.orelse.body)

    def leaves(self, suite: cst.BaseSuite) -> bool:
        """Whether control never gets past a block."""
        return never_falls_through(suite, self._module.qualified)

    def _requests(self, body: cst.CSTNode) -> bool:
        """Whether code moves something to CUDA, or names it as the device."""
        for node in descendants(body):
            if isinstance(node, cst.Call) and self._module.qualified(node.func) is None and method(node) == "cuda":
                return True
            if isinstance(node, cst.SimpleString) and str(literal(node)).partition(":")[0] == "cuda":
                return True
        return False

    # -- options -----------------------------------------------------------------------------------

    def _options(self) -> Iterator[cst.Call]:
        for call in self._module.nodes_of(cst.Call, _ADDING):
            if method(call) == "add_argument" and self._chooses_device(call):
                yield call

    def _chooses_device(self, option: cst.Call) -> bool:
        """Whether the program reads an option that says on which device it runs."""
        fallbacks = self._module.shared(CudaFallbacks)
        name = attribute_of(option)
        if not name or not fallbacks.option_reads(name, option):
            return False
        if name == "device":
            return self._module.qualified(keyword(option, "type") or option) != "builtins.int"
        words = set(name.lower().split("_"))
        is_switch = literal(keyword(option, "action")) in ("store_true", "store_false")
        is_switch = is_switch or isinstance(literal(keyword(option, "default")), bool)
        return is_switch and bool(words & known.DEVICE_OPTIONS) and words <= known.DEVICE_OPTIONS | known.SWITCHES


def is_main_test(test: cst.BaseExpression) -> bool:
    """Whether a condition is ``__name__ == "__main__"``."""
    sides = (test.left, *(one.comparator for one in test.comparisons)) if isinstance(test, cst.Comparison) else ()
    named = any(isinstance(side, cst.Name) and side.value == "__name__" for side in sides)
    return named and any(literal(side) == "__main__" for side in sides if isinstance(side, cst.SimpleString))


def _compares(test: cst.BaseExpression) -> bool:
    """Whether a condition compares with anything but a device: ``args.gpu is not None`` chooses one of several GPUs."""
    compared = (node for node in descendants(test) if isinstance(node, cst.Comparison))
    return any(not any(isinstance(node, cst.SimpleString) for node in descendants(one)) for one in compared)
