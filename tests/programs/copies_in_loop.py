import numpy as np
import torch

a = np.random.default_rng(0).random((8, 64, 64), dtype=np.float32)
total = 0.0
for i in range(8):
    x = torch.tensor(a[i])  # TL101 confirmed "8 copies of an ndarray" "safe in this run"
    total += float(x.sum())
print(total)
