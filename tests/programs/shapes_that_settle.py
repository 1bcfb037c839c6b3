import random

import torch
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True  # TL504 refuted "1 input shape for one convolution in 12 calls"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Conv2d(3, 4, 3).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
images = torch.ones(1, 3, 8, 8, device=device)
for step in range(12):
    x = F.interpolate(images, size=random.choice([10, 10]))
    loss = net(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
