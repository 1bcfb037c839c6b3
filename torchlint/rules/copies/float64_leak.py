"""TL106: doubles are copied to the device, because float64 is NumPy's default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.prefilter.needs import identifiers
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.analysis.things.move import Move
    from torchlint.rules.copies._doubles import Doubles


class Float64Leak(Rule):
    """
    ## What it finds
    A float64 tensor that every step copies to the device, and that is float64 only because NumPy's default dtype is:
    `torch.from_numpy(a).to(device)`, `torch.as_tensor(a, device=device)` and the like, where `a` comes from `np.zeros`,
    `np.array` of Python numbers, or computations with such arrays, and nothing converts it.

    ## Why it costs
    The copy has twice the bytes, and everything computed with the tensor is computed in float64 as well, since float32
    and float64 promote to float64. Up to twice the bytes go through the device's memory. How much slower arithmetic is
    depends on the GPU: an H100 or H200 executes half as many operations in float64 as in float32, an RTX card of the
    Ada generation one 64th. A layer with float32 weights rejects a float64 input, but losses, targets and loss weights
    accept it silently. With torch 2.13 on one CPU core, `(x - y).square().mean()` of 8 million numbers took 0.14
    seconds with `y` in float64, and 0.05 in float32.

    Converting on the host takes time as well: on an H200, copying 8 million values and as many targets and computing
    this loss took 14.5 ms with targets in float64, and 14.9 if the host converted them first. Where little is computed
    with a large array, only one that is float32 from the start saves time: with targets of doubles, the copy and the
    loss took 1.96 times as long as with targets that were float32 from the start.

    ## Instead
    Flagged:

    ```python
    import numpy as np
    import torch


    def train(model, optimizer, episodes, device):
        for states, rewards in episodes:
            returns = np.zeros(len(rewards))
            for i in reversed(range(len(rewards))):
                returns[i] = rewards[i] + (0.99 * returns[i + 1] if i + 1 < len(rewards) else 0.0)
            targets = torch.from_numpy(returns).to(device)
            (model(states.to(device)).squeeze(1) - targets).square().mean().backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import numpy as np
    import torch


    def train(model, optimizer, episodes, device):
        for states, rewards in episodes:
            returns = np.zeros(len(rewards))
            for i in reversed(range(len(rewards))):
                returns[i] = rewards[i] + (0.99 * returns[i + 1] if i + 1 < len(rewards) else 0.0)
            targets = torch.from_numpy(returns).float().to(device)
            (model(states.to(device)).squeeze(1) - targets).square().mean().backward()
            optimizer.step()
    ```

    Better still, give the array the dtype from the start, `np.zeros(n, dtype=np.float32)`, so that nothing has to be
    converted.

    ## When to leave it
    Where double precision is intended. The rule is silent in files that mention `float64`, `double` or complex numbers;
    where the tensor is converted, before or after the move; for tensors that the CPU generates, which TL103 and TL104
    report; for arrays whose dtype is not certain; for single numbers, which do not promote other tensors to float64; in
    tests; and for code that does not run in every step.

    ## Fix safety
    `.float()` or `dtype=torch.float32` is added. The fix is unsafe: the values are rounded, and so is what is computed
    with them.

    ## Confirmed by
    The line runs in every step. What float64 costs depends on the GPU and on what is computed, so only comparing both
    versions there shows it.

    ## Sources
    - [NumPy, data types](https://numpy.org/doc/stable/user/basics.types.html)
    - [Tensor attributes, type promotion](https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.dtype)
    - [CUDA C++ Programming Guide, throughput of arithmetic instructions](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions)
    - [dingo-gw/dingo#55](https://github.com/dingo-gw/dingo/pull/55): such conversions slowed down a training
    - [pyro-ppl/numpyro#77](https://github.com/pyro-ppl/numpyro/issues/77)
    """

    id = "TL106"
    name = "float64-leak"
    summary = "A float64 tensor is copied to the device, because float64 is NumPy's default"
    severity = Severity.INFO
    group = "preview"
    fix = "always"
    needs = (concepts.TORCH, concepts.HOT, identifiers("numpy"))
    layout = False
    recipe = Recipe("evaluations", "finding", "doubles are copied to the device in every step", least=2)

    @on.move
    def moves(self, move: Move) -> None:
        """Check a move of a tensor that may be float64."""
        if self._is_step(move.call):
            from torchlint.rules.copies._doubles import DoubleTensors

            self._report(move.call, self.module.shared(DoubleTensors).moved(move))

    @on.call("torch.as_tensor", "torch.tensor", "torch.asarray")
    @on.within("device")
    def constructs(self, node: cst.Call) -> None:
        """Check a constructor with ``device=``."""
        if self._is_step(node):
            from torchlint.rules.copies._doubles import DoubleTensors

            self._report(node, self.module.shared(DoubleTensors).created(node))

    def _is_step(self, node: cst.Call) -> bool:
        return self.module.heat(node).rank >= Heat.STEP.rank and not self.module.in_test(node)

    def _report(self, node: cst.Call, found: Doubles | None) -> None:
        if found is None:
            return
        from torchlint.rules.copies._array_fixes import as_float32

        self.report(
            node,
            f"`{found.name}` makes a float64 tensor here, since that is NumPy's default: every step copies twice the "
            "bytes and computes in double precision; make the array float32, or convert it first",
            evidence=[self.module.evidence(found.made, "float64")] if found.made is not node else (),
            heat=Heat.STEP,
            fix=as_float32(self.module, found.made),
        )
