import io

import numpy as np
import torch

stored = io.BytesIO()
np.save(stored, np.arange(64, dtype=np.float64))
for _ in range(3):
    stored.seek(0)
    a = np.load(stored)
    x = torch.tensor(a, dtype=torch.float32)  # TL101 refuted "dtype changes"
print(x.sum())
