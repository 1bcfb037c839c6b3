"""A loop that reads the loss in every step, so that the device is idle after each read."""

import torch

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(64, 64).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(32, 64)
total = 0.0
for _ in range(40):
    optimizer.zero_grad()
    loss = model(data.to(device)).pow(2).mean()  # this copy is what is measured
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total)
