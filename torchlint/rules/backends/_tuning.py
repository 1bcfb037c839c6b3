"""Tuning: whether cuDNN's benchmark and determinism fit the program that asks for them, or does not."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from torchlint.analysis.scopes.bindings import dotted
from torchlint.analysis.syntax.calls import literal
from torchlint.analysis.things.shapes import Shapes
from torchlint.knowledge import backends as known
from torchlint.knowledge.libraries import LIBRARIES

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class VaryingShapes(NamedTuple):
    """What makes the shapes of inputs vary: places here, and ``(path, line, words)`` elsewhere."""

    here: tuple[tuple[cst.CSTNode, str], ...]
    elsewhere: tuple[tuple[str, int, str], ...]

    @property
    def kinds(self) -> list[str]:
        """The reasons in words, each once."""
        reasons = [text for _, text in self.here] + [text for _, _, text in self.elsewhere]
        return list(dict.fromkeys(reasons))


_STEPS = frozenset(("backward", "manual_backward", "step"))


class Tuning:
    """Answers these questions for one module."""

    def __init__(self, module: SourceModule) -> None:
        self._module = module
        self._shapes = Shapes(module)

    # -- shapes ------------------------------------------------------------------------------------

    @cached_property
    def varying_shapes(self) -> VaryingShapes | None:
        """Why the inputs of convolutions have many shapes; None where they may all have the same."""
        if self._switched_off():
            return None
        here = tuple(self._shapes.varying_places())
        imports = self.project_imports()
        elsewhere = tuple(self._module.project.varying_shapes(imports))
        if not (here or elsewhere) or not (self._shapes.has_convolutions() or self._module.project.convolves(imports)):
            return None
        return VaryingShapes(here, elsewhere)

    def _switched_off(self) -> bool:
        """Some phase of the program switches the benchmark off."""
        for assign in self._module.nodes_of(cst.Assign, self._module.aliases({"benchmark"})):
            names = [self._module.qualified(t.target) for t in assign.targets if isinstance(t.target, cst.Attribute)]
            if known.BENCHMARK in names and literal(assign.value) is False:
                return True
        return False

    # -- seeds -------------------------------------------------------------------------------------

    @cached_property
    def unseeded(self) -> bool:
        """The file is a program that trains, and in which nothing is seeded."""
        if not self._is_program() or not self._trains():
            return False
        return not self._module.project.seeds() and self._module.project.contains_all(self.project_imports())

    def _is_program(self) -> bool:
        return self.main() is not None or any(
            self._module.function_of(loop) is None for loop in self._module.nodes_outside_functions(cst.For)
        )

    def _trains(self) -> bool:
        return any(self._module.heat_analysis.is_step_call(call) for call in self._module.iter_nodes(cst.Call, _STEPS))

    # -- benchmark never set -----------------------------------------------------------------------

    def untuned(self) -> cst.CSTNode | None:
        """Where a training script of a convolutional model with inputs of one size begins to run, untuned."""
        main = self.main()
        if main is None or not self._trains() or not self._module.device_evidence.on_accelerator:
            return None
        if not self._shapes.has_convolutions() or not self._shapes.has_fixed_size() or self._shapes.varying_places():
            return None
        if any(word in self._module.text for word in known.OWN_TUNING):
            return None
        if self._module.project.configures_cudnn() or not self._module.project.contains_all(self.project_imports()):
            return None
        return main

    def main(self) -> cst.If | None:
        """``if __name__ == "__main__":``."""
        for node in self._module.nodes_outside_functions(cst.If):
            if _asks_for_main(node.test) and self._module.function_of(node) is None:
                return node
        return None

    # -- imports -----------------------------------------------------------------------------------

    def project_imports(self) -> list[str]:
        """The dotted names of imports that no library accounts for."""
        names = {str(binding.qualified) for binding in self._module.project_imports()}
        stars = {s for s in self._module.names.star_imports() if s.partition(".")[0] not in LIBRARIES}
        return sorted(names | stars)


def _asks_for_main(test: cst.BaseExpression) -> bool:
    """``__name__ == "__main__"``."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    sides = (test.left, test.comparisons[0].comparator)
    return any(dotted(side) == "__name__" for side in sides) and any(literal(side) == "__main__" for side in sides)
