import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def noise():
    return torch.randn(4, 8).to(device)  # TL104 confirmed "5 copies of what the host had made, 640 B"


for step in range(5):
    loss = model(noise()).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
