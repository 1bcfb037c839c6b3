import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    loss = model(torch.ones(4, 8, device=device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())  # TL301 unknown "left the simulated subset at cuda_graph.py:12"
graph = torch.cuda.CUDAGraph()
