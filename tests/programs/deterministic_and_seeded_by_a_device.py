import torch

torch.backends.cudnn.deterministic = True  # TL505 refuted "torch was seeded at deterministic_and_seeded_by_a_device.py:4"
getattr(torch.cuda, "manual_seed" + "_all")(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Conv2d(3, 4, 3).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.randn(1, 3, 8, 8, device=device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
