"""Compares two forms of a program: compiles both into one, and switches between them in blocks of steps."""

from __future__ import annotations

import builtins
import os
import random
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from torchlint.base.two_forms import CHOICE, merged
from torchlint.runtime.blocks import Blocks
from torchlint.runtime.patches import Patches
from torchlint.runtime.steps import Enough

OLD, NEW = 0, 1
_WARM = 5


class Switch:
    """Selects a form, for the whole run or in blocks of random order, and records how long a step takes in each block.

    With the method ``pairs`` the whole run has one form, and its code is that form; otherwise it is both forms merged.
    ``evaluations`` counts steps of evaluation, which are not measured.
    """

    def __init__(self, order: dict[str, Any], evaluations: Callable[[], int] = lambda: 0) -> None:
        wanted = order["switch"]
        self._path = os.path.realpath(wanted["path"])
        self._fixed: str = wanted["fixed"]
        self._form: int | None = {"old": OLD, "new": NEW, "blocks": None}[wanted["form"]]
        self._merges = wanted["method"] == "switch"
        self._wanted: int = wanted["blocks"]
        self._blocks = Blocks(evaluations)
        self._random = random.Random(wanted.get("seed", 0))
        self._order = self._random.sample((OLD, NEW), 2)
        self._now = self._order[0] if self._form is None else self._form
        self._durations: list[float] = []
        self._spent: dict[int, float] = {}
        self._warm = 0
        self.evaluated = [0, 0]
        self.pairs: list[list[float]] = []
        self.losses: list[Any] = []

    def compile(self, source: bytes, path: str) -> CodeType | None:
        """Compile a file in the selected form, or with both; None for files that do not differ."""
        if os.path.realpath(path) != self._path:
            return None
        code: Any = source if self._form == OLD else self._fixed
        if self._merges:
            code = merged(source, self._fixed)
        return compile(code, path, "exec", dont_inherit=True)

    def install(self, patches: Patches) -> None:
        """Make ``choice`` available to the program, and record losses."""

        def choice() -> bool:
            if not torch.compiler.is_compiling():
                self.evaluated[self._now] += 1
            return self._now == NEW

        setattr(builtins, CHOICE, choice)
        patches.set(torch.Tensor, "backward", self._noting(torch.Tensor.backward))

    def _noting(self, real: Any) -> Any:
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if loss.numel() == 1 and len(self.losses) < 1000:
                self.losses.append(loss.detach().clone())
            return real(loss, *args, **kwargs)

        return backward

    def stepped(self, _count: int) -> None:
        """At the end of a step: perhaps a block is complete, and the other form begins."""
        if self._warm < _WARM:
            self._warm += 1
            return
        spent = self._blocks.stepped()
        if spent is None:
            return
        if self._form is not None:
            self._durations.append(spent)
            return
        self._spent[self._now] = spent
        if len(self._spent) == 2:
            self.pairs.append([self._spent[OLD], self._spent[NEW]])
            self._spent = {}
            if len(self.pairs) >= self._wanted:
                raise Enough
            self._order = self._random.sample((OLD, NEW), 2)
        self._now = self._order[len(self._spent)]

    def written(self) -> dict[str, Any]:
        """The measurements, as plain data."""
        return {
            "pairs": self.pairs,
            "blocks": self._durations,
            "evaluated": self.evaluated,
            "losses": [float(loss).hex() for loss in self.losses],
        }
