"""TL103: constant, sequential or random content is created in Python or NumPy and converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import CONSTRUCTORS
from torchlint.knowledge.factories import TORCH_FACTORIES
from torchlint.model import Fix, Recipe, Safety, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers, of_library
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class PythonDataFactory(Rule):
    id = "TL103"
    name = "python-data-factory"
    summary = "Constant, sequential or random data is created in Python or NumPy and converted to a tensor"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers("numpy"), of_library(TORCH_FACTORIES))
    layout = False
    about_steps = True
    recipe = Recipe("host-content", "finding", "the call runs again and again, or takes over a millisecond", least=2)

    @on.call(*CONSTRUCTORS)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories, happens_once

        found, span = self.module.shared(Factories).generated(node), self.module.span(node)
        if found is None or span.line != span.end_line or not happens_once(self.module, node):
            return

        from torchlint.rules.copies._generated_fixes import made_by_torch

        fix = made_by_torch(self.module, found)
        if fix is None or fix.safety is not Safety.SAFE:
            return  # converted once, which costs too little for a change that may matter
        message = f"this converts the result of `{found.source}`: create it with `{found.factory}`"
        self.report(node, message, severity=Severity.INFO, fix=fix)

    def repair(self, node: cst.BaseExpression) -> Fix | None:
        """The content, made by a factory of torch."""
        from torchlint.rules.copies._factories import Factories, makers
        from torchlint.rules.copies._generated_fixes import made_by_torch

        made = map(self.module.shared(Factories).generated, makers(self.module, node))
        return next((made_by_torch(self.module, found) for found in made if found is not None), None)
