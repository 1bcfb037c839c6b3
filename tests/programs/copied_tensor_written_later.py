import numpy as np
import torch


def doubled(x):
    getattr(x, "mul_")(2)
    return x


def main(keep):
    a = np.arange(64, dtype=np.float32)
    x = torch.tensor(a)  # TL101 confirmed "would have been UNSAFE: the tensor was written"
    keep.append(x)
    print(doubled(x).sum(), len(a))


kept = []
main(kept)
