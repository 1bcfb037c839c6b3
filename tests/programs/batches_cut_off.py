# steps: 3
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train = DataLoader(torch.ones(32, 8), batch_size=4)  # TL401 confirmed "3 copies from pageable memory"
test = DataLoader(torch.ones(32, 8), batch_size=4)  # TL401 unknown "no batch was fetched so far, but the run was ended after 3 steps"
for x in train:
    loss = model(x.to(device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for x in test:
    print(model(x.to(device)).sum())
