"""Copies of each overload of ``Tensor.to``: what torch waits for, and what it does not."""

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
there = torch.ones(4, device=device)
weight = torch.nn.Parameter(torch.ones(4, device=device))
optimizer = torch.optim.SGD([weight], lr=0.1)
pinned = torch.ones(4).pin_memory() if torch.cuda.is_available() else torch.ones(4)
total = 0.0
for _ in range(8):
    moved = [
        pinned.to(there, False, True),
        pinned.to(device, torch.float32, False, True),
        pinned.to(there, True),
        pinned.to(device, None, True),
    ]
    loss = (weight * sum(moved)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"{total:.6f}")
