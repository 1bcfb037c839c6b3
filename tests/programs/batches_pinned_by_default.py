import functools

import torch
import torch.utils.data
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(torch.ones(32, 8), batch_size=4)  # TL401 refuted "all 8 copies are from pinned memory"
vars(loader)["pin_memory"] = True
for x in loader:
    loss = model(x.to(device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
