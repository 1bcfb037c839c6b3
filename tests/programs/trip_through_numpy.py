import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.ones(4, 8, device=device)
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    weights = torch.from_numpy(model(x).detach().cpu().numpy() * 2).to(device)  # TL201 confirmed "4 copies to the host, 4 copies back"
print(weights.shape)
