import numpy as np
import torch


def closed(a):
    a.setflags(write=False)
    return a


def main():
    a = np.arange(64, dtype=np.float32)
    closed(a)
    x = torch.tensor(a)  # TL101 refuted "read-only"
    print(x.sum())


main()
