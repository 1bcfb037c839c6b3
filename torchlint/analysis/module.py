"""SourceModule: one parsed file with inferred values and heat. Rules query it."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.analysis.code import Code
from torchlint.analysis.dominance import exclusive
from torchlint.analysis.repetition import HeatAnalysis
from torchlint.analysis.syntax.errors import SyntaxProblem
from torchlint.analysis.testing import Testing
from torchlint.analysis.values.classes import LocalClasses
from torchlint.analysis.values.evaluate import Evaluator
from torchlint.analysis.values.functions import Functions, Parameters
from torchlint.analysis.values.lattice import Value
from torchlint.analysis.values.semantics.device_evidence import DeviceEvidence
from torchlint.model import Heat
from torchlint.prefilter import concepts

__all__ = ["SourceModule", "SyntaxProblem"]


class SourceModule(Code):
    """A parsed file, its values and its heat: the object that rules query."""

    @cached_property
    def evaluator(self) -> Evaluator:
        """Value inference."""
        return Evaluator(self)

    def close(self) -> None:
        """Drop all references, so that the memory is freed at once despite reference cycles."""
        if "evaluator" in self.__dict__:
            self.evaluator.close()
        super().close()

    def value(self, node: cst.CSTNode | None) -> Value:
        """The inferred value of an expression."""
        return self.evaluator.value(node)

    @property
    def redefines_torch(self) -> bool:
        """Whether some file of the run defines classes that act as tensors, or changes what torch's functions do."""
        return self.text_index.has(concepts.REDEFINES) or self.project.redefines()

    @property
    def classes(self) -> LocalClasses:
        """The classes defined in the file."""
        return self.evaluator.classes

    @property
    def functions(self) -> Functions:
        """The functions defined in the file, and their callers."""
        return self.evaluator.functions

    @property
    def parameters(self) -> Parameters:
        """The inferred values of parameters."""
        return self.evaluator.parameters

    @property
    def device_evidence(self) -> DeviceEvidence:
        """Evidence that the file uses an accelerator, and what it moves there."""
        return self.evaluator.device_evidence

    @cached_property
    def heat_analysis(self) -> HeatAnalysis:
        return HeatAnalysis(self, self.evaluator)

    def heat(self, node: cst.CSTNode) -> Heat:
        """How often a node runs at most.

        A condition lowers the heat only if it is known to hold rarely, as ``step % 100 == 0`` does; what runs under any
        other condition has the heat of the loop around it. See :meth:`guards` for the conditions.
        """
        return self.heat_analysis.of(node)

    def every_step(self, node: cst.CSTNode) -> bool:
        """Whether the node runs in every step of a training, or of a loop that decodes or samples."""
        return self.heat(node).rank >= Heat.STEP.rank and not self.heat_analysis.evaluates(node)

    def in_test_function(self, node: cst.CSTNode) -> bool:
        """Whether the node is in a test function, whatever the file is."""
        return self.shared(Testing).in_function(node)

    def in_test(self, node: cst.CSTNode) -> bool:
        """Whether the node belongs to a test."""
        return self.shared(Testing).covers(node)

    def exclusive(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two nodes are in different branches, so that no pass through the code runs both."""
        return exclusive(self, one, other)
