import numpy as np
import torch


def tensor_of(a: np.ndarray) -> torch.Tensor:
    return torch.tensor(a)  # TL101 refuted "never an ndarray, but list"


call = globals()["tensor_of"]
print(call([1.0, 2.0]).sum())
