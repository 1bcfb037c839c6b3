"""TL103: constant, sequential or random content is created in Python or NumPy and converted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.factories import CONSTRUCTOR_NAMES, TORCH_FACTORIES
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import all_of, any_of, identifier_parts, identifiers, of_library, text_pattern
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.rules.copies._factories import GeneratedData


# Most files that use torch contain constructors and lists. With this predicate, 13 of timm's 304 files are parsed for
# TL103, and 92 without it.
_COMMENT = r"#[^\n]{0,160}\n"
_GAP = rf"(?:[\s\\(]|{_COMMENT}){{0,80}}"
_CLOSE = rf"(?:[\s\\,)]|{_COMMENT}){{0,80}}"
_NUMBER = r"[+-]?[\s(]{0,9}(?:\.?\d[\w.+-]*|True|False)"
# `[0] * n`, `[0 for _ in range(n)]`, `[i for i in range(n)]`, in other brackets as well.
_DISPLAY = (
    rf"\[(?:[\s\[(]|{_COMMENT}){{0,80}}(?:{_NUMBER}{_CLOSE}(?:\]{_CLOSE}\*|for\b)|(\w{{1,80}}){_CLOSE}for{_GAP}\1\b)"
)
_TIMES = rf"[^\[\],]{{1,200}}\*{_GAP}\["  # `n * [0]`
_LIST = rf"(?:(?:[\w.]{{0,40}}list{_GAP})?[\w.]{{0,40}}range\s{{0,40}}\(|{_DISPLAY}|{_TIMES})"
GENERATED_CONTENT = any_of(
    all_of(identifiers("numpy"), of_library(TORCH_FACTORIES)),
    identifiers("asarray"),
    text_pattern(rf"ensor[\s\\)]*\({_GAP}(?:data\s*={_GAP})?{_LIST}", identifier_parts("tensor")),
    text_pattern(r"Tensor[\s\\)]*\(", all_of(identifier_parts("tensor"), identifiers("fill_ zero_ uniform_ normal_"))),
    concepts.RENAMED_CONSTRUCTOR,
)


class PythonDataFactory(Rule):
    """
    ## What it finds
    A tensor converted from constant, sequential or random data that a torch factory can create itself:
    `torch.tensor(np.zeros(...))`, `torch.from_numpy(np.arange(n))`, `torch.tensor([0] * n)`,
    `torch.tensor(list(range(n)))`, `torch.Tensor(np.random.randn(...))`, `torch.FloatTensor(n, m).fill_(v)`; also
    through a constructor that was chosen by device (`Tensor = torch.cuda.FloatTensor if cuda else ...`).

    ## Why it costs
    The data is created on the host, mostly as float64, copied, and often moved to the device afterwards. A factory
    writes it once, where it is needed. For 1024 x 1024 zeros: 140 µs through NumPy, 158 ms through nested lists,
    54 µs with `torch.zeros`; for 100,000 numbers: 11.8 ms through `list(range(...))`, 36 µs with `torch.arange`;
    for as many normally distributed numbers 16 ms through NumPy, 4.7 ms with `torch.randn` (PyTorch 2.13, two CPU
    cores).

    ## Instead
    Flagged:

    ```python
    import numpy as np
    import torch


    def state():
        return torch.tensor(np.zeros((64, 64)))
    ```

    Preferred:

    ```python
    import torch


    def state():
        return torch.zeros((64, 64), dtype=torch.float64)
    ```

    ## When to leave it
    Where NumPy's generator is intended: a `numpy.random.Generator` or `RandomState` with its own seed is never
    flagged, nor are numbers drawn in a function that seeds NumPy, an array that NumPy code uses as well,
    `np.arange` with float steps, and tests. Outside of code that runs in every step the finding is an `info`; so
    is a legacy constructor that is filled in place and not moved, which costs little.

    ## Fix safety
    Replacing `torch.FloatTensor(n, m).zero_()` by `torch.zeros(n, m)`, and `fill_`, `uniform_` and `normal_` by
    `torch.full`, `torch.rand` and `torch.randn`, is safe: several arguments can only be sizes, and torch draws the
    same numbers in both ways. With a single argument it is safe if that is proved to be a number (the page on fixes
    says what that means); it may be data otherwise. Zeros and ones of NumPy are replaced safely if their sizes are
    proved.

    The fix is unsafe, with the reason given, for other sizes, which torch may not accept, for lists, which may be
    empty, and for numbers that are converted or drawn by NumPy. There is no fix for a dtype that is not certain, for
    content that goes through `reshape` or `astype`, and for nested lists.

    The dtype and the device are omitted where they are the defaults. If the file, or another file linted with it,
    sets a default dtype or device, and in the construction of modules, the replacements of `torch.from_numpy` and
    legacy constructors get an explicit dtype and device, such as `dtype=torch.float32` and `device="cpu"`.

    ## Confirmed by
    The call makes data on the host or copies it to the device, and takes a measurable part of the step.

    ## Sources
    - [Performance tuning guide, creating tensors on the target device](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#create-tensors-directly-on-the-target-device)
    - [Creation ops](https://docs.pytorch.org/docs/stable/torch.html#creation-ops)
    """

    id = "TL103"
    name = "python-data-factory"
    summary = "Constant, sequential or random data is created in Python or NumPy and converted to a tensor"
    severity = Severity.WARNING
    fix = "sometimes"
    needs = (concepts.TORCH, GENERATED_CONTENT)
    layout = False
    recipe = Recipe("host-content", "finding", "the call runs again and again, or takes over a millisecond", least=2)

    @on.within(*CONSTRUCTOR_NAMES)
    def visit_Call(self, node: cst.Call) -> None:
        from torchlint.rules.copies._factories import Factories

        factories = self.module.shared(Factories)
        found = factories.generated(node) or factories.filled(node)
        if found is None or self.module.in_test_function(node):
            return

        from torchlint.rules.copies._generated_fixes import made_by_torch

        heat = self.module.heat(node)
        self.report(
            node,
            self._message(found),
            severity=Severity.WARNING if found.costs and self.module.every_step(node) else Severity.INFO,
            heat=heat,
            fix=made_by_torch(self.module, found),
        )

    def _message(self, found: GeneratedData) -> str:
        dtype = f", dtype=torch.{found.dtype}" if found.dtype else ""
        if found.source.endswith("_"):
            made = f"`{found.source}` overwrites the tensor that a legacy constructor has just allocated"
        elif found.source in ("range", "a list"):
            made = "this converts a Python list of constant or sequential numbers one by one"
        else:
            made = f"this converts the result of `{found.source.replace('numpy', 'np')}`, which was created on the host"
        caveat = {
            "deterministic": "",
            "rounded": " (the last bits may differ)",
            "random": " (the numbers change: torch's generator is seeded by `torch.manual_seed`)",
        }[found.content]
        return f"{made}: use `{found.factory}(...{dtype}, device=...)`, which creates it where it is needed{caveat}"
