import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self):
        self.x = np.ones((16, 3, 8, 8), dtype=np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.tensor(self.x[i])  # TL101 confirmed "16 copies of an ndarray"


if __name__ == "__main__":
    for batch in DataLoader(Images(), batch_size=4, num_workers=2):
        print(batch.shape)
