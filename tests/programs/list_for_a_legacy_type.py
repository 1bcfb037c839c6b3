import numpy as np
import torch

arrays = [np.ones(4, dtype=np.float32) for _ in range(4)]
x = torch.FloatTensor(arrays)  # TL102 unknown "legacy types cannot be watched"
print(x.shape)
