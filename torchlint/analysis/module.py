"""SourceModule: one parsed file and the questions a rule may ask of it."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.analysis.code import Code
from torchlint.analysis.dominance import exclusive
from torchlint.analysis.heat.heat import Heats
from torchlint.analysis.heat.testing import Testing
from torchlint.analysis.syntax.errors import SyntaxProblem
from torchlint.analysis.syntax.light.expressions import Unsupported
from torchlint.analysis.values.classes import Classes
from torchlint.analysis.values.device_evidence import Signs
from torchlint.analysis.values.evaluate import Evaluator
from torchlint.analysis.values.functions import Functions, Parameters, annotation_value
from torchlint.analysis.values.lattice import UNKNOWN, Value
from torchlint.model import Heat

__all__ = ["SourceModule", "SyntaxProblem", "Unsupported"]


class SourceModule(Code):
    """A parsed file and what it means: the one object that rules ask."""

    @cached_property
    def evaluator(self) -> Evaluator:
        """Value inference."""
        return Evaluator(self)

    def value(self, node: cst.CSTNode | None) -> Value:
        """What is proved about an expression."""
        return self.evaluator.value(node)

    def annotated(self, annotation: cst.Annotation | None) -> Value:
        """What an annotation promises."""
        return annotation_value(self, annotation.annotation) if annotation is not None else UNKNOWN

    @cached_property
    def classes(self) -> Classes:
        """Classes of the file."""
        return Classes(self)

    @cached_property
    def functions(self) -> Functions:
        """Functions of the file and their callers."""
        return Functions(self)

    @cached_property
    def parameters(self) -> Parameters:
        """What parameters can be."""
        return Parameters(self)

    @cached_property
    def signs(self) -> Signs:
        """Signs of an accelerator."""
        return Signs(self)

    @cached_property
    def heats(self) -> Heats:
        return Heats(self)

    def heat(self, node: cst.CSTNode) -> Heat:
        """How often a node runs."""
        return self.heats.of(node)

    def every_step(self, node: cst.CSTNode) -> bool:
        """The node runs in every step of something that is not merely an evaluation."""
        return self.heat(node).rank >= Heat.STEP.rank and not self.heats.evaluates(self.heats.step_around(node))

    def in_test(self, node: cst.CSTNode) -> bool:
        """The node belongs to a test."""
        return self.shared(Testing).covers(node)

    def exclusive(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """The two never run in the same pass through the code: they stand in different branches."""
        return exclusive(self, one, other)
