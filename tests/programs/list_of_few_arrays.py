import numpy as np
import torch

arrays = [np.ones(1, dtype=np.float32) for _ in range(1)]
for _ in range(20):
    x = torch.tensor(arrays)  # TL102 refuted "too little to matter"
print(x.shape)
