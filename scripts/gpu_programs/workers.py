"""Batches of two workers, from pinned memory."""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(16, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(160, 16))
loader = DataLoader(data, batch_size=8, num_workers=2, pin_memory=True, persistent_workers=True)
total = torch.zeros((), device=device)
for _ in range(2):
    for (x,) in loader:
        optimizer.zero_grad()
        loss = model(x.to(device, non_blocking=True)).pow(2).mean()
        loss.backward()
        optimizer.step()
        total += loss.detach()
print(total.item())
