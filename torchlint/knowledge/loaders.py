"""Data loaders: the signature of torch's own, and what pinning cannot handle. Source: torch.utils.data 2.4 to 2.15."""

from __future__ import annotations

LOADER = "torch.utils.data.DataLoader"
LOADERS = frozenset({LOADER, "torchdata.stateful_dataloader.StatefulDataLoader"})
# How their names end.
CLASS_NAMES = frozenset(name.rpartition(".")[2] for name in LOADERS)
PARAMETERS = tuple(
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout "
    "worker_init_fn multiprocessing_context generator".split()
)
# Only dense CPU tensors can be pinned.
UNPINNABLE = frozenset("to_sparse to_sparse_csr sparse_coo_tensor nested_tensor as_nested_tensor".split())
# Frameworks on whose devices pinned host memory plays no part.
OTHER_DEVICES = ("torch_xla", "torch_directml", "habana_frameworks")
