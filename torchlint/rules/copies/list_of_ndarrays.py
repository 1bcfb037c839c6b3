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
    """
    ## What it finds
    `torch.tensor`, `torch.as_tensor` or a legacy constructor (`torch.FloatTensor`) called with a list or tuple
    whose elements are proved to be NumPy arrays: a literal, a comprehension, or a list that arrays were appended
    to.

    ## Why it costs
    PyTorch walks through the arrays and turns each number into a Python object. For 256 arrays of 1000 float32
    values that takes 35.8 ms, against 0.09 ms if `np.array` combines them first (PyTorch 2.13, two CPU cores). Ten
    images of 512 x 512 x 3 took 4.81 s against 0.035 s (pytorch/pytorch#30460). PyTorch itself warns about it,
    once per process.

    ## Instead
    Flagged:

    ```python
    import numpy as np
    import torch


    def batch(paths):
        return torch.tensor([np.load(path) for path in paths])
    ```

    Preferred:

    ```python
    import numpy as np
    import torch


    def batch(paths):
        return torch.as_tensor(np.array([np.load(path) for path in paths]))
    ```

    ## When to leave it
    Lists of numbers, NumPy scalars or tensors are not flagged, nor are lists whose elements are unknown. A list
    with a single array is an `info`.

    ## Fix safety
    `torch.tensor(arrays)` becomes `torch.tensor(np.array(arrays))`, if the file imports NumPy. The fix is unsafe: the
    two libraries convert empty lists and mixed dtypes differently, NumPy accepts zero-dimensional arrays, for which
    `torch.tensor` raises an error, and of arrays without elements `torch.tensor` keeps only the dimensions up to the
    first of size 0. Legacy constructors (`torch.FloatTensor(arrays)`) become `torch.as_tensor(.., dtype=..)`.

    ## Confirmed by
    The argument is a list of ndarrays, and the call takes a measurable part of the step.

    ## Sources
    - [pytorch/pytorch#13918](https://github.com/pytorch/pytorch/issues/13918)
    - [pytorch/pytorch#30460](https://github.com/pytorch/pytorch/issues/30460)
    """

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
