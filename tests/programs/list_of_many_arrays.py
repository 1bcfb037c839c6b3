import numpy as np
import torch

arrays = [np.ones(256, dtype=np.float32) for _ in range(512)]
for _ in range(2):
    x = torch.tensor(arrays)  # TL102 confirmed "2 calls with a list of ndarrays"
print(x.shape)
