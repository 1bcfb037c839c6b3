"""SourceModule: one parsed file and the questions a rule may ask of it."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.analysis.code import Code
from torchlint.analysis.dominance import exclusive
from torchlint.analysis.heat.heat import HeatAnalysis
from torchlint.analysis.heat.testing import Testing
from torchlint.analysis.syntax.errors import SyntaxProblem
from torchlint.analysis.syntax.light.expressions import Unsupported
from torchlint.analysis.values.classes import Classes
from torchlint.analysis.values.device_evidence import DeviceEvidence
from torchlint.analysis.values.evaluate import Evaluator
from torchlint.analysis.values.functions import Functions, Parameters
from torchlint.analysis.values.lattice import Value
from torchlint.model import Heat

__all__ = ["SourceModule", "SyntaxProblem", "Unsupported"]


class SourceModule(Code):
    """A parsed file and what it means: the one object that rules ask."""

    @cached_property
    def evaluator(self) -> Evaluator:
        """Value inference."""
        return Evaluator(self)

    def close(self) -> None:
        """Forget everything, so that all of it is freed at once: the parts of a module know one another."""
        if "evaluator" in self.__dict__:
            self.evaluator.close()
        super().close()

    def value(self, node: cst.CSTNode | None) -> Value:
        """What is proved about an expression."""
        return self.evaluator.value(node)

    @property
    def classes(self) -> Classes:
        """Classes of the file."""
        return self.evaluator.classes

    @property
    def functions(self) -> Functions:
        """Functions of the file and their callers."""
        return self.evaluator.functions

    @property
    def parameters(self) -> Parameters:
        """What parameters can be."""
        return self.evaluator.parameters

    @property
    def device_evidence(self) -> DeviceEvidence:
        """Whether the file puts anything on an accelerator, and what."""
        return self.evaluator.device_evidence

    @cached_property
    def heat_analysis(self) -> HeatAnalysis:
        return HeatAnalysis(self, self.evaluator)

    def heat(self, node: cst.CSTNode) -> Heat:
        """How often a node runs."""
        return self.heat_analysis.of(node)

    def every_step(self, node: cst.CSTNode) -> bool:
        """The node runs in every step of something that is not merely an evaluation."""
        return self.heat(node).rank >= Heat.STEP.rank and not self.heat_analysis.evaluates(
            self.heat_analysis.enclosing_step(node)
        )

    def in_test(self, node: cst.CSTNode) -> bool:
        """The node belongs to a test."""
        return self.shared(Testing).covers(node)

    def exclusive(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """The two never run in the same pass through the code: they stand in different branches."""
        return exclusive(self, one, other)
