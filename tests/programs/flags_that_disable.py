import torch
from torch.backends import cudnn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Conv2d(3, 4, 3).to(device)
with cudnn.flags(benchmark=True):  # TL508 confirmed "enabled=False was set here" "1 layer ran so"
    print(net(torch.ones(1, 3, 8, 8, device=device)).sum())
