"""TL902: compiled code that is compiled again because a counter has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.traced import Traced

_SETTING = "allow_unspec_int_on_nn_module"


class ModuleCounterRecompiles(Rule):
    """
    ## What it finds
    An integer that a compiled function increments in every call, or in every call in training mode: an attribute of a
    module (`self.step += 1`), a number in a dictionary or list that is an attribute of a module, or a global variable.
    The same file must compile the function or module with `torch.compile`, or a function that calls it.

    ## Why it costs
    `torch.compile` treats integers of modules and globals as constants. Each new value invalidates the compiled code,
    so the function is compiled again; after 8 times torch gives up with a warning, and runs it uncompiled from then on.
    It does not matter whether the value is used: reading it to increment it is enough. With torch 2.13.0, 20 calls of a
    module with such a line compiled it 8 times, whether the number was an attribute, or in a list or dictionary. With a
    tensor instead it was compiled once, and with a float twice.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.step = 0

        def forward(self, x):
            self.step += 1
            return self.layer(x)


    net = torch.compile(Net())
    ```

    Preferred:

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("step", torch.tensor(0), persistent=False)

        def forward(self, x):
            self.step += 1
            return self.layer(x)


    net = torch.compile(Net())
    ```

    ## When to leave it
    Where the compiled function is called only a few times. Two other ways are to count outside of the compiled code,
    and to set `torch._dynamo.config.allow_unspec_int_on_nn_module = True`, which makes integers of modules symbolic.

    The rule is silent where the file sets that option; for floats and tensors; for numbers that are counted modulo
    another, set anew in every call, or incremented and decremented again; under other conditions; for objects that are
    not modules, whose integers torch makes symbolic; and in tests.

    ## Fix safety
    There is no fix: other code may need the number as a Python integer.

    ## Confirmed by
    Recompilations that Dynamo records for the flagged line, in runs on the CPU or a GPU. The simulated GPU runs
    compiled code eagerly, and cannot show them.

    ## Sources
    - [Recompilation](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/compile/programming_model.recompilation.html)
    - [pytorch/pytorch#128319](https://github.com/pytorch/pytorch/issues/128319)
    - [meta-pytorch/torchrec#4338](https://github.com/meta-pytorch/torchrec/pull/4338)
    """

    id = "TL902"
    name = "module-counter-recompiles"
    summary = "A counter makes `torch.compile` recompile a function in every call"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH,)
    layout = False
    recipe = Recipe("recompilations", "run", "the function is compiled again for new values of the counter", least=3)

    @on.traced
    def counts(self, traced: Traced) -> None:
        """Check a function that is compiled."""
        module = self.module
        if _SETTING in module.text:
            return
        from torchlint.rules.compile._counters import Counters

        for statement, target in module.shared(Counters).of(traced.function):
            if module.in_test(statement):
                continue
            self.report(
                statement,
                f"each new value of `{module.code(target)}` recompiles the code compiled on "
                f"{module.line_in_words(traced.compiler)}, which runs uncompiled after 8 times: count in a tensor, "
                "such as a buffer, or outside of the compiled code",
                evidence=[
                    module.evidence(traced.compiler, "this compiles the code"),
                    module.evidence(traced.root, "this function is compiled"),
                ],
            )
