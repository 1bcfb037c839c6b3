"""Labels on storages: the device that memory pretends to be on, whether it is pinned, and where its content came from.

The Python object of a storage lives as long as its memory, so a label survives views, ``detach``, ``.data``, saved
tensors and garbage collection, without additional tables (tested with torch 2.13).
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from torchlint.runtime.sites import Site

LABEL = "_torchlint_label"
_untyped_storage = torch._C.TensorBase.untyped_storage
function_modes = torch._C._len_torch_function_stack
_is_sparse = torch._C.TensorBase.is_sparse.__get__
PLAIN = (torch.Tensor, torch.nn.Parameter)


class Label:
    """Facts about one block of memory.

    ``device`` is the index of the simulated device, or None; ``host`` means that the program has it on the host (memory
    that an operation allocates for itself is neither); ``born`` is the factory call that created the content, ``left``
    the copy to the host that it came from, ``loader`` the loader that yielded it.
    """

    # Class attributes as defaults: a label costs no more than an empty object until something is set.
    device: int | None = None
    host = False
    pinned = False
    born: Site | None = None
    left: Site | None = None
    loader: Site | None = None
    shared = False  # by all memory of which nothing else is known: a fact goes into a label of its own


def _shared(device: int | None) -> Label:
    label = Label()
    label.device, label.host, label.shared = device, device is None, True
    return label


@functools.cache
def plain(device: int | None) -> Label:
    """The label of memory of which only the device is known; None is the host."""
    return _shared(device)


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage of a tensor, of a sparse tensor's values, or of a wrapped tensor; None if there is none."""
    if type(tensor) in PLAIN and not function_modes():
        try:
            return _untyped_storage(tensor)
        except (RuntimeError, NotImplementedError, ValueError):
            pass
    if hasattr(type(tensor), "__tensor_flatten__"):
        return _storage_of_part(tensor)
    with torch._C.DisableTorchFunction():  # neither the program's subclasses nor its modes are to see this
        try:
            return _untyped_storage(tensor)
        except Exception:  # a subclass may raise anything: it has no memory of its own
            return _inner_storage(tensor)


def _storage_of_part(tensor: Any) -> Any:
    """Of a tensor that consists of others, which are on one device: that of the first."""
    try:
        return storage_of(getattr(tensor, tensor.__tensor_flatten__()[0][0]))
    except Exception:  # it is being made
        return None


def _inner_storage(tensor: torch.Tensor) -> Any:
    try:
        if _is_sparse(tensor):
            return _untyped_storage(torch._C.TensorBase._values(tensor))
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return storage_of(torch._C._functorch.get_unwrapped(tensor))
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
            return _untyped_storage(torch._C.TensorBase.values(tensor))
    except Exception:  # see above
        return None
    return None


def label_of(tensor: torch.Tensor) -> Label | None:
    """The label of a tensor's memory, if it has one."""
    return getattr(storage_of(tensor), LABEL, None)


def labeled(tensor: torch.Tensor) -> Label:
    """A label of a tensor's memory that facts can be added to."""
    storage = storage_of(tensor)
    found = getattr(storage, LABEL, None)
    if found is None or found.shared:
        known, found = found, Label()
        if known is not None:
            found.device, found.host = known.device, known.host
        if storage is not None:
            setattr(storage, LABEL, found)
    return found


def origins(tensor: torch.Tensor) -> dict[str, Site | None]:
    """Where the content of a tensor's memory came from, as facts of an event; empty if nothing is known."""
    found = label_of(tensor)
    return {} if found is None else {"born": found.born, "left": found.left, "loader": found.loader}


def device_of(tensor: torch.Tensor) -> int | None:
    """The index of the simulated device that a tensor is on; None on the host."""
    found = getattr(storage_of(tensor), LABEL, None)
    return found.device if found is not None else None


def place(tensor: torch.Tensor, device: int | None) -> None:
    """Put a tensor on a simulated device, or on the host."""
    place_storage(storage_of(tensor), device)


def place_storage(storage: Any, device: int | None) -> None:
    """Put memory on a simulated device, or on the host."""
    label = getattr(storage, LABEL, None)
    if label is None or label.shared:
        if storage is not None:
            setattr(storage, LABEL, plain(device))
    else:
        label.device, label.host = device, device is None


def size_of(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> int:
    """The size of a tensor's elements in bytes, as another dtype; 0 for sparse and uninitialized tensors.

    Uploads convert before they copy, downloads after.
    """
    if tensor.layout is not torch.strided or isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return 0
    return int(tensor.numel() * (dtype or tensor.dtype).itemsize)


def parts_of(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The tensors that are copied with a tensor: indices and values if it is sparse; none if it has no elements yet."""
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return ()
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return (tensor,)


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether a tensor would be in pinned memory, on the simulated machine."""
    return bool(getattr(label_of(tensor), "pinned", False))


def is_rewritten(tensor: torch.Tensor, dtype: torch.dtype | None = None) -> bool:
    """Whether CUDA makes a pageable temporary on the host before it copies a tensor to the device.

    That is so if the dtype changes, or if the elements are not in one piece of memory
    (``copy_requires_temporaries`` in ATen's ``Copy.cu``).
    """
    if tensor.layout is not torch.strided or tensor.is_nested or not tensor.numel():
        return False
    if dtype is not None and dtype != tensor.dtype:
        return True
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    return bool(reach != tensor.numel())
