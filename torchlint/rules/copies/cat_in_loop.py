"""TL108: a tensor grows by `torch.cat` in each round of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.catalogue.views import JOINING
from torchlint.model import Recipe, Severity
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

_JOINING = tuple(sorted(JOINING - {"torch.stack"}))


# Only its loop tells a tensor that grows from the many others that models join. So 69 of timm's 304 files are parsed
# for this rule, 40 of them for it alone, which makes 7 % of the calls of Python functions in a cold run. What it finds
# is worth that: copying all earlier parts in every round takes quadratic time.
class CatInLoop(Rule):
    """
    ## What it finds
    `variable = torch.cat([variable, part])` in every iteration of a loop that uses the variable for nothing else;
    likewise `concat`, `hstack`, `vstack` and `dstack`. Such loops are those over data loaders, and others whose number
    of iterations is computed, such as `while` and `range(n)`.

    ## Why it costs
    Every iteration allocates a new tensor and copies everything collected so far, so the number of copied bytes grows
    with the square of the number of iterations. Joining parts of 32 x 128 numbers took one CPU thread 28 ms for 250
    parts and 842 ms for 1,000; with a list and a single `torch.cat`, 0.9 and 2.7 ms (torch 2.13). On a GPU, the caching
    allocator must also find a larger block in every iteration, which fragments its memory.

    ## Instead
    Flagged:

    ```python
    import torch


    @torch.no_grad()
    def predict(model, loader):
        outputs = torch.empty(0)
        for x, _ in loader:
            outputs = torch.cat([outputs, model(x)])
        return outputs


    print(predict(torch.load("model.pt"), torch.load("loader.pt")))
    ```

    Preferred:

    ```python
    import torch


    @torch.no_grad()
    def predict(model, loader):
        outputs = []
        for x, _ in loader:
            outputs.append(model(x))
        return torch.cat(outputs)


    print(predict(torch.load("model.pt"), torch.load("loader.pt")))
    ```

    ## When to leave it
    Where the loop has only a few iterations. Note that a list keeps the memory of every part alive: clone parts that
    are views of much larger tensors.

    The rule is silent where the loop reads the tensor (decoding that feeds back all tokens, dense connections, windows
    of the last parts); for loops over lists of unknown length, such as layers and feature levels; for at most eight
    iterations; in constructors; under conditions that rarely hold; for attributes; and in tests.

    ## Fix safety
    There is no fix: the empty tensor that most such loops start from determines the dtype and the shape of the result,
    and `torch.cat` of an empty list is an error.

    ## Confirmed by
    At least sixteen evaluations of the flagged call.

    ## Sources
    - [`torch.cat`](https://docs.pytorch.org/docs/stable/generated/torch.cat.html)
    - [ulissigroup/amptorch#12](https://github.com/ulissigroup/amptorch/issues/12)
    - [pytorch/audio#1850](https://github.com/pytorch/audio/pull/1850)
    """

    id = "TL108"
    name = "cat-in-loop"
    summary = "A tensor grows by `torch.cat` in every iteration of a loop"
    severity = Severity.INFO
    group = "advice"
    layout = False
    recipe = Recipe("evaluations", "finding", "the tensor grows again and again", least=16)

    @on.call(*_JOINING)
    @on.within("for", "while")
    def joins(self, node: cst.Call) -> None:
        """Check a concatenation."""
        from torchlint.rules.copies._growth import Growths

        module = self.module
        growth = None if module.in_test(node) else module.shared(Growths).of(node)
        if growth is None:
            return
        name = growth.name.value
        self.report(
            node,
            f"`{name}` grows by `{module.code(node.func)}` in every iteration, which copies all of it again: append "
            "the parts to a list, and concatenate them once after the loop",
            severity=Severity.WARNING if growth.long else Severity.INFO,
        )
