import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(torch.ones(32, 8), batch_size=4, num_workers=1)  # TL401 confirmed "8 copies from pageable memory"
for x in loader:
    x = x.to(device)  # TL202 confirmed "these are the events of TL401 at pageable_batches_that_block.py:7"
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
