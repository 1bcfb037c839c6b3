"""Probes of copies: how many go to the device, and how many to the host."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from torchlint.runtime.modes import version
from torchlint.runtime.selftest.running import counts, gives, there
from torchlint.runtime.sim.ctc import READS_TARGETS


def _written(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def _loaded() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    torch.load(file, map_location="cuda")


def _state() -> None:
    nn.Linear(2, 2, device="cuda").load_state_dict(nn.Linear(2, 2).state_dict())


def _across() -> None:
    weight = nn.Parameter(torch.ones(2))
    (weight.cuda() * 2).sum().backward()


def _foreach() -> None:
    torch._foreach_copy_([there(2)], [torch.ones(2)])


def _host(*shape: int) -> Any:
    return torch.ones(*shape)


def _pinned() -> Any:
    return torch.ones(2).pin_memory()


_PUTS = int(version() < (2, 15))  # since then, `x[index] = number` is `index_fill_`
_TARGETS = torch.ones(1, 2, dtype=torch.long)


def _aligned(targets: Any, *lengths: Any, **options: Any) -> None:
    nn.functional.ctc_loss(there(5, 1, 3).log_softmax(2), targets, *lengths, **options)


_UP: dict[str, tuple[int, Callable[[], Any]]] = {
    "to": (1, lambda: _host(3).to("cuda")),
    "to_index": (1, lambda: _host(3).to(0)),
    "to_keywords": (1, lambda: _host(3).to(device="cuda", dtype=torch.half, non_blocking=True, copy=False)),
    "to_other": (1, lambda: _host(3).to(other=there(1))),
    "cuda": (1, lambda: _host(3).cuda(device=0, non_blocking=True)),
    "type": (1, lambda: _host(3).type(torch.cuda.FloatTensor)),
    "type_as": (1, lambda: _host(3).type_as(there(1))),
    "already_there": (0, lambda: there(3).to("cuda").cuda()),
    "module": (2, lambda: nn.Linear(2, 2).to("cuda")),
    "module_index": (2, lambda: nn.Linear(2, 2).to(0)),
    "module_with_buffers": (5, lambda: nn.BatchNorm1d(2).cuda()),
    "list": (1, lambda: torch.tensor([1, 2], device="cuda")),
    "array": (1, lambda: torch.as_tensor(np.ones(2), device="cuda")),
    "tensor": (1, lambda: torch.tensor(_host(2), device="cuda")),
    "new_tensor_of_device": (0, lambda: there(2).new_tensor(there(2))),
    "new_tensor": (1, lambda: there(2).new_tensor(data=[1.0, 2.0])),
    "new": (1, lambda: there(2).new([1.0, 2.0])),
    "legacy": (1, lambda: torch.cuda.FloatTensor([1.0, 2.0])),
    "filled": (0, lambda: torch.full((3,), 2.0, device="cuda")),
    "copy_": (1, lambda: there(3).copy_(_host(3))),
    "write_slice": (1, lambda: _written(there(4), slice(2), _host(2))),
    "write_row": (1, lambda: _written(there(4, 3), 1, _host(3))),
    # `copy_to` in ATen's TensorIndexing.h copies a number to one element, and fills several with it.
    "write_number": (1, lambda: _written(there(4), 1, 3.0)),
    "write_host_number": (1, lambda: _written(there(4), 1, torch.tensor(3.0))),
    "write_number_to_row": (0, lambda: _written(there(4, 3), 1, 3.0)),
    "write_number_to_slice": (0, lambda: _written(there(4), slice(1, 2), torch.tensor(3.0))),
    "read_by_host_index": (1, lambda: there(4)[torch.tensor([0, 2])]),
    "read_by_list": (1, lambda: there(4)[[0, 2]]),
    "read_by_array": (1, lambda: there(4)[np.array([0, 2])]),
    "read_by_host_mask": (1, lambda: there(4)[_host(4) > 0]),
    "read_by_two": (2, lambda: there(4, 4)[[0, 1], torch.tensor([1, 2])]),
    "read_by_slices": (0, lambda: (there(4, 4)[0], there(4, 4)[1:3], there(4, 4)[..., 0], there(4)[None])),
    "read_by_booleans": (1, lambda: there(2)[[True, False]]),
    # `_index_put_impl_` in ATen's TensorAdvancedIndexing.cpp copies a number, unless one mask is filled with it.
    "write_by_host_index": (1 + _PUTS, lambda: _written(there(4), torch.tensor([1]), 5.0)),
    "write_by_index": (_PUTS, lambda: _written(there(4), there(1).long(), 5.0)),
    "write_by_mask": (0, lambda: _written(there(4), there(4) > 0, 5.0)),
    "write_by_host_mask": (2, lambda: there(4).index_put_((_host(4) > 0,), torch.tensor(5.0))),
    "accumulate_number": (
        1,
        lambda: there(4).index_put_((there(4) > 0,), torch.tensor(5.0), accumulate=True),
    ),
    # `where_self_out` in ATen's TensorCompare.cpp.
    "where": (1, lambda: torch.where(there(2) > 0, there(2), torch.tensor(0.0))),
    "where_number": (0, lambda: torch.where(there(2) > 0, there(2), 0.0)),
    "sparse": (2, lambda: torch.eye(2).to_sparse().cuda()),
    "sparse_csr": (3, lambda: torch.eye(2).to_sparse_csr().cuda()),
    "sparse_of_lists": (2, lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,), device="cuda")),
    "lazy_module": (0, lambda: nn.LazyLinear(2).cuda()),
    "foreach_copy": (1, _foreach),
    "state_dict": (2, _state),
    "load": (1, _loaded),
    "storage": (1, lambda: _host(2).untyped_storage().cuda()),
}
_PINNED: dict[str, Callable[[], Any]] = {
    "to": lambda: _pinned().to("cuda"),
    "tensor": lambda: torch.tensor(_pinned(), device="cuda"),
    "as_tensor": lambda: torch.as_tensor(_pinned(), device="cuda"),
    "asarray": lambda: torch.asarray(_pinned(), device="cuda"),
    "new_tensor": lambda: there(1).new_tensor(_pinned()),
    "copy_": lambda: there(2).copy_(_pinned()),
    "storage": lambda: _pinned().untyped_storage().cuda(),
}
_REWRITTEN: dict[str, Callable[[], Any]] = {
    "converted": lambda: _pinned().to("cuda", torch.float16),
    "with_gaps": lambda: torch.ones(4, 2).pin_memory()[:, 0].to("cuda"),
    "converted_into": lambda: there(2).half().copy_(_pinned()),
}

# What the forms of `ctc_loss` copy to the device and to the host, by ATen's LossCTC.cpp and cuda/LossCTC.cu. Since
# torch 2.11 the targets go to the host, for MIOpen.
_READ = int(READS_TARGETS)
_CTC: dict[str, tuple[int, int, Callable[[], Any]]] = {
    "lists": (4, _READ, lambda: _aligned(there(1, 2).long(), (5,), (2,))),
    "host_targets": (5, 0, lambda: _aligned(_TARGETS, (5,), (2,))),
    "host_lengths": (4, 2 * _READ, lambda: _aligned(there(1, 2).long(), torch.tensor([5]), torch.tensor([2]))),
    "lengths": (4, 2 * _READ + 1, lambda: _aligned(there(1, 2).long(), torch.tensor([5]), there(1).long())),
    "sum": (3, _READ, lambda: _aligned(there(1, 2).long(), (5,), (2,), reduction="sum")),
    "cudnn": (0, 0, lambda: _aligned(_TARGETS[0].int(), (5,), (2,))),
}

_PINS = int(version() >= (2, 9))

_DOWN: dict[str, tuple[int, Callable[[], Any]]] = {
    "cpu": (1, lambda: there(3).cpu()),
    "cpu_of_host": (0, lambda: _host(3).cpu()),
    "tensor_to_host": (1, lambda: torch.tensor(there(2), device="cpu")),
    "to_host": (1, lambda: there(3).to("cpu", torch.double, non_blocking=True)),
    "force": (1, lambda: there(3).numpy(force=True)),
    "copy_to_host": (1, lambda: _host(3).copy_(there(3))),
    "write_into_host": (1, lambda: _written(_host(4), slice(2), there(2))),
    "write_number_into_host": (1, lambda: _written(_host(4), 0, there(1)[0])),
    "type_to_host": (1, lambda: there(3).type(torch.FloatTensor)),
    "type_to_host_by_name": (1, lambda: there(3).type("torch.FloatTensor")),
    "type_of_dtype": (0, lambda: there(3).type(torch.half)),
    "save": (1, lambda: torch.save(there(2), io.BytesIO())),
    "pickle": (1, lambda: pickle.dumps(there(2))),
    "gradient": (1, _across),
}

PROBES: dict[str, Callable[[str], Any]] = {
    **{name: counts(action, uploads=number) for name, (number, action) in _UP.items()},
    **{f"pinned_{name}": counts(action, uploads=1, pageable=0) for name, action in _PINNED.items()},
    **{name: counts(action, downloads=number) for name, (number, action) in _DOWN.items()},
    **{f"ctc_{name}": counts(action, uploads=up, downloads=down) for name, (up, down, action) in _CTC.items()},
    **{f"pinned_{name}": counts(action, uploads=1, pageable=1) for name, action in _REWRITTEN.items()},
    "pinned_does_not_wait": counts(lambda: _host(3).pin_memory().to("cuda", non_blocking=True), waits=0),
    "asynchronous_down": counts(lambda: there(2).to("cpu", non_blocking=True), waits=0),
    # `expandTensors` in ATen's IndexingUtils.h: since torch 2.9 from pinned memory, for all dimensions at once.
    "host_mask_does_not_count": counts(lambda: there(4)[_host(4) > 0], waits=1 - _PINS, pageable=1 - _PINS),
    "host_mask_of_two_dimensions": counts(lambda: there(4, 4)[_host(4, 4) > 0], uploads=2 - _PINS, waits=2 - 2 * _PINS),
    "written_values": gives([3.0, 3.0, 1.0], lambda: torch.cat([_host(2) * 3, _host(1)]).to("cuda").tolist()),
}
