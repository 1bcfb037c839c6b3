"""TL809: the old interface to TensorFloat-32 is used after the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.module import SourceModule


class MixedTf32Interfaces(Rule):
    """
    ## What it finds
    A read of `allow_tf32`, or a call of `torch.backends.cudnn.flags`, after `fp32_precision` has been set to a value
    that contradicts the old interface; and `fp32_precision` set to the opposite of an earlier `allow_tf32` or
    `set_float32_matmul_precision`.

    ## Why it costs
    Since torch 2.9 there are two interfaces to TensorFloat-32, each with its own state. Setting the old one also sets
    the new one, but not the other way round. Whatever then reads `allow_tf32` compares both, and raises a
    `RuntimeError` if they disagree: `cudnn.flags` does, `hasattr(torch.backends.cudnn, "allow_tf32")` does, and so do
    parts of libraries (pytorch/pytorch#179445, pytorch/pytorch#166387, huggingface/transformers#45248,
    bghira/SimpleTuner#2806). The states that the rule assumes were compared with torch 2.13 on 257 sequences of
    settings; they agree in all of them on what raises an error.

    ## Instead
    Flagged:

    ```python
    import torch

    torch.backends.cuda.matmul.fp32_precision = "tf32"
    print(torch.backends.cuda.matmul.allow_tf32)
    ```

    Preferred:

    ```python
    import torch

    torch.backends.cuda.matmul.fp32_precision = "tf32"
    print(torch.backends.cuda.matmul.fp32_precision)
    ```

    Code that must run on versions before 2.9 uses the old interface alone, or chooses with
    `hasattr(torch.backends.cuda.matmul, "fp32_precision")`.

    ## When to leave it
    Never. The rule is silent where the order of the settings is not certain, where a value is computed, in `try`
    statements, and in files that set `torch.backends.fp32_precision` or `torch.backends.cudnn.fp32_precision`, which
    operations inherit in ways that differ between versions.

    ## Fix safety
    There is no fix: only the author knows which of the two settings is meant.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: a program that gets there ends with the error, and one
    that goes on has caught it or runs an older torch.

    ## Sources
    - [CUDA semantics, TensorFloat-32](https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices)
    - [pytorch/pytorch#179445](https://github.com/pytorch/pytorch/issues/179445)
    - [pytorch/pytorch#173731](https://github.com/pytorch/pytorch/pull/173731)
    - [huggingface/transformers#45248](https://github.com/huggingface/transformers/pull/45248)
    - [bghira/SimpleTuner#2806](https://github.com/bghira/SimpleTuner/pull/2806)
    """

    id = "TL809"
    name = "mixed-tf32-interfaces"
    summary = "The old and the new interface to TensorFloat-32 contradict each other"
    severity = Severity.ERROR
    group = "preview"
    needs = (concepts.TORCH, identifiers("fp32_precision"))
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "a program that gets there ends with the error, and one that goes on has caught it or runs an older torch",
    )

    @on.file
    def mixes(self, module: SourceModule) -> None:
        """Check the settings of a file, in their order."""
        from torchlint.rules.precision._tf32 import Tf32

        settings = module.shared(Tf32)
        for read, write in settings.failing_reads():
            self.report(
                read.node,
                f"`{module.code(read.node)}` raises an error in torch 2.9 and later, as it disagrees with "
                f"`{write.name}` ({module.line_in_words(write.node)}): use only one of the two interfaces",
                evidence=[module.evidence(write.node, "the new interface is used here")],
            )
        for write, earlier in settings.contradictions():
            self.report(
                write.node,
                f"this contradicts `{earlier.name}` ({module.line_in_words(earlier.node)}), the old interface to the "
                "same setting: in torch 2.9 and later, any read of `allow_tf32` raises an error from here on; use only "
                "one of the two interfaces",
                evidence=[module.evidence(earlier.node, "the old interface is used here")],
            )
