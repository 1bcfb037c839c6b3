import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 unknown "no convolution ran on the device" "scripted code ran, whose layers are not seen"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.jit.script(torch.nn.Linear(8, 4).to(device))
for _ in range(4):
    print(net(torch.ones(1, 8, device=device)).sum())
