"""Data-parallel training with nccl, in a group of one process."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29533")
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dist.init_process_group("nccl" if device.type == "cuda" else "gloo", rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(16, 16).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(8, 16, device=device)
total = torch.zeros((), device=device)
for _ in range(20):
    optimizer.zero_grad()
    loss = model(data).pow(2).mean()
    loss.backward()
    optimizer.step()
    total += loss.detach()
dist.all_reduce(total)
dist.barrier()
print(total.item())
dist.destroy_process_group()
