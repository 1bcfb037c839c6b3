"""Data loaders: the signature of torch's own, and what pinning cannot handle. Source: torch.utils.data 2.4 to 2.15."""

from __future__ import annotations

LOADER = "torch.utils.data.DataLoader"
LOADERS = frozenset({LOADER, "torchdata.stateful_dataloader.StatefulDataLoader"})
# How their names end.
CLASS_NAMES = frozenset(name.rpartition(".")[2] for name in LOADERS)
PARAMETERS = (
    "dataset",
    "batch_size",
    "shuffle",
    "sampler",
    "batch_sampler",
    "num_workers",
    "collate_fn",
    "pin_memory",
    "drop_last",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "generator",
)
# Only dense CPU tensors can be pinned.
UNPINNABLE = frozenset("to_sparse to_sparse_csr sparse_coo_tensor nested_tensor as_nested_tensor".split())
# Frameworks on whose devices pinned host memory plays no part.
OTHER_DEVICES = ("torch_xla", "torch_directml", "habana_frameworks")
# Methods of batches, and of their tensors, whose results share memory with them.
VIEW_METHODS = frozenset(
    "items values get pop view squeeze unsqueeze permute transpose t chunk split unbind narrow select expand "
    "detach".split()
)
# Methods of tensors and arrays whose results do not share memory with them.
COPYING_METHODS = frozenset(
    "clone repeat tile repeat_interleave add sub mul div pow abs neg sqrt exp log round floor clamp sum mean argmax "
    "argmin cumsum flip roll astype masked_fill masked_select index_select gather".split()
)
# Functions whose results share memory with the tensor or array that they get, at least without a `dtype`.
SHARING_FUNCTIONS = frozenset({"torch.autograd.Variable"}) | frozenset(
    f"torch.{name}"
    for name in "from_numpy as_tensor asarray squeeze unsqueeze transpose swapaxes swapdims permute movedim moveaxis t "
    "reshape flatten unflatten ravel chunk split tensor_split unbind narrow select detach "
    "view_as_real view_as_complex atleast_1d atleast_2d atleast_3d broadcast_to".split()
)
# Functions that copy several tensors into a new one.
JOINING_FUNCTIONS = frozenset(f"torch.{name}" for name in "cat concat concatenate stack hstack vstack dstack".split())
# Libraries whose batches are objects with a `to` of their own.
CONTAINER_LIBRARIES = ("torch_geometric", "dgl", "tensordict", "torchtext")
# Attributes of tensors that loops read.
TENSOR_ATTRIBUTES = frozenset("shape data dtype device T requires_grad ndim grad is_cuda".split())
