import torch

Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(1, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    valid = torch.cuda.FloatTensor(4, 1).fill_(1.0)  # TL103 refuted "made on the device, with nothing made on the host or copied"
    loss = (model(valid) - valid).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
