import torch
from torch.backends import cudnn


def unused(net, x):
    with cudnn.flags(benchmark=True):  # TL508 not reached "never evaluated"
        return net(x)


print(torch.ones(2).sum())
