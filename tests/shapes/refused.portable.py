"""Code that looks fixable, and of which nobody can say what it would become."""

import numpy as np
import torch
from torch.utils.data import DataLoader

default_device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def keywords_out_of_sight(n, device, **options):
    return torch.zeros(n, **options).to(device)


def loader_with_keywords(dataset, model, **options):
    for x in DataLoader(dataset, num_workers=2, **options):
        model(x.to(default_device))


def loader_by_position(dataset, model, flag):
    for x in DataLoader(dataset, 4, True, None, None, 2, None, flag):
        model(x.to(default_device))


def device_that_may_be_none(rank):
    return torch.tensor(np.load("a.npy")).cuda(rank)


def two_targets(n, device):
    a = b = torch.zeros(n)
    a = a.to(device)
    return a, b


def used_before_the_move(n, device):
    h = torch.zeros(n)
    print(h)
    h = h.to(device)
    return h


def device_made_between(n, pick):
    h = torch.zeros(n)
    device = pick()
    h = h.to(device)
    return h


def device_that_may_change(self, n):
    h = torch.zeros(n)
    self.setup()
    h = h.to(self.device)
    return h


def in_another_block(n, device, flag):
    h = torch.zeros(n)
    if flag:
        h = h.to(device)
    return h


def other_arguments(n, device):
    return torch.zeros(n, 2).to(device, copy=True)


def two_conversions(n, device):
    return torch.full((n,), 0.5).to(device, torch.float16)


def computed_tensor_twice(n, make):
    return torch.ones(n).type_as(make())


def rows_of_different_lengths(n):
    return torch.tensor([[0] * i for i in range(n)])


def with_an_offset(n):
    return torch.tensor(np.eye(3, k=1))


def in_place_on_the_host(x, device):
    return x.cpu().clamp_(0, 1).to(device)


def conditions_in_the_comprehension(x, device):
    y = x.to(device).flatten()
    return [v.item() for v in y if v > 0]


def sum_that_leaves_the_loop(model):
    model.to(default_device)
    total = 0.0
    for p in model.parameters():
        total += p.grad.norm().item()
        if total > 10:
            break
    return total


def read_elsewhere():
    torch.backends.cudnn.verbose = True
    return torch.backends.cudnn.verbose


def printed_code(device):
    return f"{torch.zeros(3).to(device)=}"


def dtype_that_nobody_knows(n, dtype):
    a = torch.tensor(np.zeros(3, dtype=dtype)), torch.from_numpy(np.ones(3, dtype))
    b = torch.as_tensor(np.zeros(3).astype(dtype)), torch.tensor(np.full(2, 1, dtype))
    c = torch.tensor(np.arange(3, dtype=dtype)), torch.from_numpy(np.empty(3, dtype=dtype))
    return a, b, c, torch.tensor(np.arange(3, dtype=dtype), dtype=torch.float32)
