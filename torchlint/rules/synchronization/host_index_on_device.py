"""TL305: a tensor on the device is indexed from the host in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.model import Heat, Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    from torchlint.analysis.things.step import Step
    from torchlint.rules.synchronization._host_indices import HostIndex


class HostIndexOnDevice(Rule):
    """
    ## What it finds
    A device tensor that every step indexes with a list, a NumPy array or a tensor on the CPU. Several tensors that are
    indexed with the same index are one finding. Also a number that is written to a single element (`x[i] = 1.0`), or
    by an index on the device (`x[rows] = 0`). `sync-in-hot-loop` says which tensors count as being on the device.

    ## Why it costs
    The index is copied to the device first. It comes from pageable memory, so the copy blocks the host until all queued
    work has finished; the device then idles until the host has queued more. The index is copied anew for each tensor:
    `states[index]` and `actions[index]` wait twice. A number that is written becomes a tensor on the CPU, and is copied
    as well where it is not filled in.

    ## Instead
    Flagged:

    ```python
    import torch


    def train(model, loader, optimizer, device):
        for x in loader:
            x = x.to(device)
            mixed = 0.9 * x + 0.1 * x[torch.randperm(len(x))]
            loss = model(mixed).mean()
            loss.backward()
            optimizer.step()
    ```

    Preferred:

    ```python
    import torch


    def train(model, loader, optimizer, device):
        for x in loader:
            x = x.to(device)
            mixed = 0.9 * x + 0.1 * x[torch.randperm(len(x), device=x.device)]
            loss = model(mixed).mean()
            loss.backward()
            optimizer.step()
    ```

    If only the host can compute the index, copy it once (`index = torch.as_tensor(index, device=device)`), and use it
    for all tensors. If it never changes, create it on the device before the loop, or register it as a buffer. Write
    slices for neighbors and every n-th element (`x[:, :2]`, `x[::2]`): they copy nothing. Numbers are filled in by
    `x[i : i + 1] = 1.0`, by `x.index_fill_(0, rows, 0)` and through a mask on the device.

    ## When to leave it
    Where the host must compute the index in every step and uses it once: the copy is then needed, and pinned memory
    could at most make it asynchronous. Findings are therefore `info`.

    A boolean mask on the CPU becomes indices there, which torch 2.9 and newer copy from pinned memory without making
    the host wait, so it is reported only for an older `target-torch`.

    The rule is silent for numbers, slices, `...` and `None`, which are not copied; for numbers that are filled in
    (`x[:1] = 1.0`, and `x[rows] = 0` for a `target-torch` of 2.15 or newer); for indices on the device; where the
    index may be a single number; for tensors on the CPU; in compiled code; under conditions that hold only every N
    steps; in tests; and for code that runs once or once per epoch.

    ## Fix safety
    There is no fix: a permutation drawn on the device comes from another generator, and differs from one drawn on the
    CPU.

    ## Confirmed by
    Copies to the device at these lines in each step. On the simulated device (torch 2.13), a step of the first loop
    above copies one index, and a step of the second one none. Only a GPU can show how long a copy blocks the host.

    ## Sources
    - [Performance tuning guide, avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization)
    - [pytorch/pytorch#156384](https://github.com/pytorch/pytorch/pull/156384)
    """

    id = "TL305"
    name = "host-index-on-device"
    summary = "A device tensor is indexed with a list, an array or a tensor on the CPU"
    severity = Severity.INFO
    needs = (concepts.TORCH, concepts.ON_ACCELERATOR)
    layout = False
    about_reads = True
    recipe = Recipe("blocking-uploads", "evidence", "the index is copied to the device, step after step", least=2)

    @on.step
    def indexes(self, step: Step) -> None:
        """A loop or function that runs in every step; copies of the same index are one finding."""
        if self.module.in_test(step.place):
            return
        from torchlint.rules.synchronization._host_indices import HostIndices

        every = f"every {step.in_words}"
        for group in self.module.shared(HostIndices).groups(step.place):
            self.report(
                group[0].node,
                self._message(group, every),
                evidence=[self.module.evidence(one.node, _evidence(one)) for one in group],
                heat=Heat.STEP,
            )

    def _message(self, group: list[HostIndex], every: str) -> str:
        first = group[0]
        code = self.module.code(first.node)
        written = f"`{code}`" if len(code) <= 60 and "\n" not in code else "this subscript"
        if first.is_written:
            return f"{written} copies the number to the GPU in {every}, and the host waits: {_ADVICE[first.kind]}"
        what = _KINDS[first.kind]
        if len(group) > 1:
            return (
                f"{written} and {len(group) - 1} more copy the same index, {what}, to the GPU in {every}, and the host "
                "waits each time: make it a tensor on the device once"
            )
        advice = _ADVICE[first.kind]
        return f"{written} copies its index, {what}, to the GPU in {every}, and the host waits: {advice}"


def _evidence(one: HostIndex) -> str:
    return f"the {'number' if one.is_written else 'index'} is copied to the device"


_KINDS = {
    "list": "a list",
    "array": "a NumPy array",
    "tensor": "a tensor on the CPU",
    "factory": "a new tensor on the CPU",
}
_ADVICE = {
    "list": "use slices, or an index tensor created on the device once",
    "array": "compute it on the device, or move it there once",
    "tensor": "create it on the device, or move it there once",
    "factory": "create it there with `device=`",
    "element": "a slice of one element (`x[i : i + 1] = ..`) is filled in there",
    "number": "`index_fill_` fills it in there",
}
