import torch


def unused():
    torch.backends.cudnn.benchmark == True  # TL507 not reached "never evaluated"


print(torch.ones(2).sum())
