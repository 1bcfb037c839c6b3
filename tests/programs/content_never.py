import numpy as np
import torch


def unused():
    return torch.tensor(np.zeros(64))  # TL103 not reached "never evaluated"


print(torch.ones(2).sum())
