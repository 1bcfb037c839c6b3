import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 confirmed "4 of 4 convolutions ran under"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.jit.script(torch.nn.Conv2d(3, 4, 3).to(device))
for _ in range(4):
    print(net(torch.ones(1, 3, 8, 8, device=device)).sum())
