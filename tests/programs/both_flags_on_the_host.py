import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = True  # TL501 refuted "no convolution ran on the device"
print(torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 8, 8)).sum())
