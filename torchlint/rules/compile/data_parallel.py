"""TL903: a model is trained on several GPUs by the threads of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import on
from torchlint.knowledge.distributed import DATA_PARALLEL, ONE_PROCESS_EACH
from torchlint.model import Recipe, Severity
from torchlint.prefilter import concepts
from torchlint.rule import Rule

if TYPE_CHECKING:
    import libcst as cst


class DataParallel(Rule):
    """
    ## What it finds
    A model that is wrapped in `nn.DataParallel` in a file that trains.

    ## Why it costs
    One process drives all GPUs. In every forward pass it copies the parameters to each of them, splits the batch, runs
    the replicas in threads that compete for Python's global interpreter lock, and gathers the outputs on the first GPU,
    which therefore needs more memory than the others (`torch/nn/parallel/data_parallel.py` in torch 2.13.0). With
    `DistributedDataParallel`, each GPU has its own process and parameters, and only gradients are exchanged, while the
    backward pass is still running. PyTorch's documentation recommends it even on a single machine.

    ## Instead
    Flagged:

    ```python
    import torch
    from torch import nn


    def train(model, loader, optimizer):
        model = nn.DataParallel(model).cuda()
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    Preferred, started by `torchrun --nproc-per-node=gpu train.py`, with a `DistributedSampler` in the loader:

    ```python
    import os

    import torch
    from torch.nn.parallel import DistributedDataParallel


    def train(model, loader, optimizer):
        torch.distributed.init_process_group("nccl")
        rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(rank)
        model = DistributedDataParallel(model.to(rank), device_ids=[rank])
        for x in loader:
            model(x.to(rank)).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## When to leave it
    On a single GPU, where the wrapper does little; and for small models, or GPUs without direct connections, where it
    may be as fast (pytorch/pytorch#65936 has such a case). The finding is therefore an `info`.

    The rule is silent in files that do not train, in files that also offer `DistributedDataParallel`, for a single
    device (`device_ids=[0]`), for models that are only evaluated (`nn.DataParallel(model).eval()`), in notebooks, which
    cannot easily start several processes, and in tests. It does not see subclasses of `DataParallel`.

    ## Fix safety
    There is no fix: the program must start processes, and divide data, logging and checkpoints between them.

    ## Confirmed by
    No run decides it, and the verdict is `unknown`: only a machine with several GPUs copies the model, and
    how long that takes is not recorded.

    ## Sources
    - [`torch.nn.DataParallel`](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html)
    - [CUDA semantics, use DistributedDataParallel](https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-nn-ddp-instead)
    - [pytorch/pytorch#65936](https://github.com/pytorch/pytorch/issues/65936)
    """

    id = "TL903"
    name = "data-parallel"
    summary = "`nn.DataParallel` copies the model to every GPU in each step"
    severity = Severity.INFO
    programs = ("training",)
    needs = (concepts.BACKWARD,)
    layout = False
    recipe = Recipe(
        "undecidable",
        "finding",
        "only a machine with several GPUs copies the model, and how long that takes is not recorded",
    )

    @on.call(*DATA_PARALLEL)
    def wraps(self, node: cst.Call) -> None:
        """Check a construction of ``DataParallel``."""
        import libcst as cst

        module = self.module
        if module.path.endswith(".ipynb") or module.in_test(node) or self._is_single(node):
            return
        if self._is_evaluated(node) or any(map(module.names_spelled, ONE_PROCESS_EACH)):
            return
        if not any(_is_backward(call) for call in module.iter_nodes(cst.Call, frozenset(("backward",)))):
            return
        self.report(
            node,
            f"`{module.code(node.func)}` copies the model to every GPU in each step and runs the copies in threads of "
            "one process: PyTorch recommends `DistributedDataParallel`, with a process for each GPU",
        )

    def _is_single(self, node: cst.Call) -> bool:
        """Whether the only device is given."""
        import libcst as cst

        from torchlint.analysis.syntax.calls import argument, literal

        devices = argument(node, "device_ids", 1)
        if isinstance(devices, (cst.List, cst.Tuple)):
            return len(devices.elements) <= 1 and not any(isinstance(e, cst.StarredElement) for e in devices.elements)
        return isinstance(literal(devices), int) if devices is not None else False

    def _is_evaluated(self, node: cst.Call) -> bool:
        """Whether the wrapped model is put into evaluation mode at once, as models that are only used are."""
        import libcst as cst

        for below in (node, *self.module.ancestors(node)):
            if isinstance(below, cst.BaseStatement):
                break
            if isinstance(below, cst.Attribute) and below.attr.value in ("eval", "module", "requires_grad_"):
                return True
        if self._stays_in_evaluation(node):
            return True
        given = node.args[0].value if node.args else None
        return isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute) and given.func.attr.value == "eval"

    def _stays_in_evaluation(self, node: cst.Call) -> bool:
        """Whether the variable of the model is put into evaluation mode in its function, and never back."""
        import libcst as cst

        statement = self.module.parent(node)
        target = statement.targets[0].target if isinstance(statement, cst.Assign) else None
        binding = self.module.binding_of(target) if isinstance(target, cst.Name) else None
        uses = self.module.uses(binding) if binding is not None else []
        reads = [parent.attr.value for use in uses if isinstance(parent := self.module.parent(use), cst.Attribute)]
        return "eval" in reads and "train" not in reads and not any(map(self._is_optimized, uses))

    def _is_optimized(self, use: cst.Name) -> bool:
        """Whether an optimizer gets the parameters of a model."""
        import libcst as cst

        from torchlint.analysis.values.lattice import Kind

        calls = [around for around in self.module.ancestors(use) if isinstance(around, cst.Call)]
        return any(self.module.value(call).kind is Kind.OPTIMIZER for call in calls)


def _is_backward(call: cst.Call) -> bool:
    from torchlint.analysis.syntax.calls import method

    return method(call) == "backward"
