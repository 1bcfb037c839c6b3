import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
seen = []
for step in range(3):
    out = model(torch.ones(8, device=device))
    loss = out.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for value in out.detach():
        seen.append(value.item())  # TL302 refuted "2 synchronizations a step"
print(len(seen))
