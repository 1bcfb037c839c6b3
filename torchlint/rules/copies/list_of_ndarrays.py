"""TL102: a list of ndarrays is converted element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.arrays import ARRAY_LIBRARIES
from torchlint.knowledge.tensors import LEGACY
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class ListOfNdarrays(Rule):
    id = "TL102"
    name = "list-of-ndarrays"
    summary = "A list of NumPy arrays is converted to a tensor element by element"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, identifiers(*ARRAY_LIBRARIES))
    layout = False
    recipe = Recipe("array-lists", "finding", "the argument is a list of ndarrays")

    @on.call("torch.tensor", "torch.as_tensor", "torch.asarray", *LEGACY)
    def check(self, node: cst.Call) -> None:
        from torchlint.rules.copies._array_lists import ArrayLists

        found = self.module.shared(ArrayLists).of(node)
        if found is None:
            return

        from torchlint.rules.copies._array_fixes import stacked_first

        origin = found.element.origin
        evidence = [self.module.evidence(origin, "the elements are ndarrays")] if origin is not None else []
        if found.single:
            advice = "write `torch.as_tensor(array)[None]`"
        else:
            advice = "combine the arrays first, with `torch.as_tensor(np.array(...))`"
        self.report(
            node,
            f"a list of ndarrays is converted number by number in Python: {advice}",
            evidence=evidence,
            severity=Severity.INFO if found.single else Severity.WARNING,
            heat=self.module.heat(node),
            fix=stacked_first(self.module, found),
        )
