import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
room = torch.empty(4, 8, device=device)
loader = DataLoader(torch.ones(32, 8), batch_size=4)  # TL401 confirmed "8 copies from pageable memory, 1.0 KB"
for x in loader:
    x = room.copy_(x)  # TL202 confirmed "8 from pageable memory"
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
