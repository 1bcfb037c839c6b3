"""Classes that train a model on several devices, and words of programs that use them. Source: torch 2.13.0."""

from __future__ import annotations

DATA_PARALLEL = (
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel",
)
DISTRIBUTED = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
)
# A file with one of these names offers one process per device as well.
ONE_PROCESS_EACH = frozenset(
    "DistributedDataParallel DDP smart_DDP init_process_group FullyShardedDataParallel FSDP fully_shard Accelerator "
    "deepspeed horovod".split()
)
# A file with one of these names decides itself when gradients are synchronized, or leaves it to a framework.
SYNCHRONIZING = frozenset(
    "no_sync maybe_no_sync require_backward_grad_sync set_requires_gradient_sync accelerator Accelerator "
    "deepspeed fabric Fabric FullyShardedDataParallel FSDP fully_shard register_comm_hook Join static_graph "
    "_set_static_graph".split()
)
# Parts of names that tell of parameters that some steps do not use.
CONDITIONAL_PARTS = tuple(
    "gan netd discriminator generator critic moe expert mixture router routing adapter teacher distill modality aux "
    "freeze frozen requires_grad layerdrop layer_drop stochastic unused multitask multi_task static_graph supernet "
    "lora".split()
)
