"""TL901: compiled code that ends its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.traced import Traced


class GraphBreakInCompiled(Rule):
    """
    ## What it finds
    Code that causes a graph break in a function or module that the same file compiles (`@torch.compile`,
    `torch.compile(f)`, `torch.compile(model)`, `model.compile()`), or in a function, method or submodule of the file
    that it calls: reading a tensor (`.item()`, `.tolist()`, `float(x.sum())`), `if` and `while` on a tensor, results
    whose size depends on the values (`x[x > 0]`, `nonzero`, `unique`, `one_hot` without `num_classes`), `print`,
    `logging`, `warnings.warn`, clocks, files, and random numbers of `random` and NumPy. Only code that every call of
    the compiled function runs counts.

    ## Why it costs
    `torch.compile` compiles the operations before the break as one graph, lets Python run the line, and compiles the
    rest as another graph. Operations on both sides cannot be fused, and reading a tensor also waits for the device. If
    the line is in a loop or in a `try` statement, the whole function runs uncompiled. A molecular model with 41 graph
    breaks, nearly all at `.item()`, ran at half the speed of eager mode when compiled, and at 1.6 times that speed
    without them (isayevlab/aimnetcentral#109, on an L40S). Which constructs break the graph depends on the version; the
    rule's table was determined by running each of them in torch 2.13.0.

    ## Instead
    Flagged:

    ```python
    import torch


    @torch.compile
    def normalized(x: torch.Tensor):
        scale = x.abs().max().item()
        if scale > 0:
            x = x / scale
        return torch.tanh(x)
    ```

    Preferred:

    ```python
    import torch


    @torch.compile
    def normalized(x: torch.Tensor):
        scale = x.abs().max()
        x = torch.where(scale > 0, x / scale, x)
        return torch.tanh(x)
    ```

    ## When to leave it
    Where the compiled parts are large and the line is between them, or while debugging. Code that Python must run can
    be moved out of compiled functions, or be decorated with `torch.compiler.disable`, which makes the break explicit.

    The rule is silent with `fullgraph=True`, since torch raises an error there; under any condition other than a check
    of the arguments, such as `if verbose:` or `if not torch.compiler.is_compiling():`; in functions with unknown
    decorators; in wrapped submodules, such as `torch.compiler.disable(Head())`; where the file sets
    `torch._dynamo.config.capture_scalar_outputs`, `capture_dynamic_output_shape_ops`, `reorderable_logging_functions`
    or `ignore_logging_functions`, for what these change; in tests; and for code that other files compile.

    ## Fix safety
    There is no fix: what to write instead depends on what the value is for.

    ## Confirmed by
    Graph breaks that Dynamo records at the flagged expression, in runs on the CPU or a GPU. The simulated GPU runs
    compiled code eagerly, and cannot show them.

    ## Sources
    - [Common graph breaks](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/compile/programming_model.common_graph_breaks.html)
    - [isayevlab/aimnetcentral#109](https://github.com/isayevlab/aimnetcentral/pull/109)
    - [sgl-project/SpecForge#222](https://github.com/sgl-project/SpecForge/pull/222)
    """

    id = "TL901"
    name = "graph-break-in-compiled"
    summary = "Code under `torch.compile` causes a graph break"
    severity = Severity.WARNING
    group = "preview"
    needs = (concepts.TORCH,)
    layout = False
    recipe = Recipe("graph-breaks", "run", "a graph ends at the flagged expression")

    @on.traced
    def breaks(self, traced: Traced) -> None:
        """Check a function that is compiled."""
        from torchlint.analysis.things.traced import TracedCode
        from torchlint.rules.compile._breaks import Breaks

        module, place = self.module, self.module.line_in_words(traced.compiler)
        for node, why in module.shared(Breaks).of(traced.function):
            if module.in_test(node):
                continue
            around = module.shared(TracedCode).leaves_uncompiled(node, traced.function)
            what = f"causes a graph break in the code compiled on {place}"
            if around is not None:
                name = traced.function.name.value
                what = f"causes a graph break inside {around}, so all of `{name}` (compiled on {place}) runs uncompiled"
            self.report(
                node,
                f"`{module.code(node)}` {what}, since {why.why}: {why.instead}",
                evidence=[
                    module.evidence(traced.compiler, "this compiles the code"),
                    module.evidence(traced.root, "this function is compiled"),
                ],
            )
