import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(64, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.tensor([0.0] * 64).to(device)  # TL103 confirmed "5 evaluations"
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
