import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(90):
    loss = model(torch.ones(4, 8, device=device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step > 86:
        total += loss.item()  # TL301 refuted "3 synchronizations at" "it happens rarely" "is below 1 us"
print(total)
