"""ACME001: a tensor is copied before it is detached from the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Fix, Safety, Severity

from torchlint_acme._base import AcmeRule

if TYPE_CHECKING:
    import libcst as cst


class CloneBeforeDetach(AcmeRule):
    """
    ## What it finds
    `x.clone().detach()` of a tensor. In code that does not run in every step, the finding is `info`.

    ## Why it costs
    Autograd records the copy as a part of the graph, and `detach` throws that away. `x.detach().clone()` gives the
    same tensor without recording anything.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            out = model(x.cuda())
            before = out.mean().clone().detach()
            out.mean().backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer):
        for x in loader:
            out = model(x.cuda())
            before = out.mean().detach().clone()
            out.mean().backward()
            optimizer.step()
    ```
    """

    id = "ACME001"
    name = "clone-before-detach"
    summary = "A tensor is copied before it is detached"
    severity = Severity.WARNING
    fix = "sometimes"

    @on.method("detach")
    def detaches(self, node: cst.Call) -> None:
        """Check a call of ``detach``."""
        from libcst import Attribute, Call
        from torchlint.analysis.values.lattice import Kind

        if not isinstance(node.func, Attribute):
            return
        copy = node.func.value
        if not (isinstance(copy, Call) and isinstance(copy.func, Attribute) and copy.func.attr.value == "clone"):
            return  # something else is detached, as in `x.clone().cpu().detach()`
        if self.module.value(copy).kind is not Kind.TENSOR:
            return  # something else may have both methods
        self.report(
            node,
            f"`{self.module.code(copy)}` is recorded for the backward pass, and then detached: "
            "detach first, and copy what is left",
            severity=Severity.WARNING if self.module.every_step(node) else Severity.INFO,
            heat=self.module.heat(node),
            fix=self._swapped(copy, copy.func.attr, node.func.attr),
        )

    def _swapped(self, copy: cst.Call, first: cst.Name, second: cst.Name) -> Fix | None:
        """Swap the names of the two methods, so that everything between them stays."""
        from torchlint.edit.editor import Editor, Unfixable

        if copy.args:
            return None  # `clone(memory_format=...)`
        try:
            editor = self.module.shared(Editor)
            edits = editor.replace(first, "detach"), editor.replace(second, "clone")
        except Unfixable:
            return None
        return Fix("detach before copying", Safety.SAFE, edits)
