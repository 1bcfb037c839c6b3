"""Tuning: whether cuDNN's benchmark and determinism suit a program."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.things.shapes import Shapes
from torchlint.knowledge import backends as known
from torchlint.knowledge.packages import LIBRARIES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class VaryingShapes(NamedTuple):
    """The reasons why input shapes vary: nodes in this file, and ``(path, line, words)`` in other files."""

    here: tuple[tuple[cst.CSTNode, str], ...]
    elsewhere: tuple[tuple[str, int, str], ...]

    @property
    def kinds(self) -> list[str]:
        """The reasons in words, without duplicates."""
        reasons = [text for _, text in self.here] + [text for _, _, text in self.elsewhere]
        return list(dict.fromkeys(reasons))


_STEPS = frozenset(("backward", "manual_backward", "step"))


class Tuning:
    """Decides for one module whether cuDNN's benchmark and determinism suit the program."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._shapes = Shapes(module)

    # -- shapes ------------------------------------------------------------------------------------

    @cached_property
    def varying_shapes(self) -> VaryingShapes | None:
        """Why the inputs of convolutions have varying shapes, or None if they may all have the same shape."""
        if self._disables_benchmark():
            return None
        here = tuple(self._shapes.varying_places())
        imports = self.project_imports()
        elsewhere = tuple(self._module.project.varying_shapes(imports))
        if not (here or elsewhere) or not (self._shapes.has_convolutions() or self._module.project.convolves(imports)):
            return None
        return VaryingShapes(here, elsewhere)

    def _disables_benchmark(self) -> bool:
        """Whether the program disables the benchmark in some phase."""
        for assign in self._module.nodes_of(cst.Assign, self._module.aliases({"benchmark"})):
            names = [self._module.qualified(t.target) for t in assign.targets if isinstance(t.target, cst.Attribute)]
            if known.BENCHMARK in names and literal(assign.value) is False:
                return True
        return False

    # -- seeds -------------------------------------------------------------------------------------

    @cached_property
    def unseeded(self) -> bool:
        """Whether the file is a training program in which no random seed is set."""
        if not self._is_program() or not self._trains():
            return False
        return not self._module.project.seeds() and self._module.project.contains_all(self.project_imports())

    def _is_program(self) -> bool:
        return self.main_block() is not None or any(
            self._module.function_of(loop) is None for loop in self._module.nodes_outside_functions(cst.For)
        )

    def _trains(self) -> bool:
        return any(self._module.heat_analysis.is_step_call(call) for call in self._module.iter_nodes(cst.Call, _STEPS))

    # -- benchmark never set -----------------------------------------------------------------------

    def untuned_program(self) -> cst.CSTNode | None:
        """The main block of a script that trains a convolutional model on one input size untuned, or None."""
        main = self.main_block()
        if main is None or not self._trains() or not self._module.device_evidence.on_accelerator:
            return None
        if not self._shapes.has_convolutions() or not self._shapes.has_fixed_size() or self._shapes.varying_places():
            return None
        if any(word in self._module.text for word in known.OWN_TUNING):
            return None
        if self._module.project.configures_cudnn() or not self._module.project.contains_all(self.project_imports()):
            return None
        return main

    def main_block(self) -> cst.If | None:
        """The block ``if __name__ == "__main__":``, or None."""
        for node in self._module.nodes_outside_functions(cst.If):
            if _is_main_test(node.test) and self._module.function_of(node) is None:
                return node
        return None

    # -- imports -----------------------------------------------------------------------------------

    def project_imports(self) -> list[str]:
        """The dotted names of imports that belong to no known library."""
        names = {str(binding.qualified) for binding in self._module.project_imports()}
        stars = {s for s in self._module.names.star_imports() if s.partition(".")[0] not in LIBRARIES}
        return sorted(names | stars)


def _is_main_test(test: cst.BaseExpression) -> bool:
    """Whether a condition is ``__name__ == "__main__"``."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    sides = (test.left, test.comparisons[0].comparator)
    return any(dotted(side) == "__name__" for side in sides) and any(literal(side) == "__main__" for side in sides)
