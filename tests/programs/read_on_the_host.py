import os

import torch

device = torch.device("cuda" if torch.cuda.is_available() and "NO_GPU" in os.environ else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(6):
    x = torch.ones(4, 8, device=device)
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()  # TL301 refuted "6 evaluations, none on a tensor of the device"
print(total)
