import torch
from torch.backends import cudnn

setattr(cudnn, "enabled", False)
with cudnn.flags(benchmark=True):  # TL508 refuted "was set before already"
    print(torch.ones(2).sum())
