import os

import torch

device = torch.device("cuda" if torch.cuda.is_available() and "NO_GPU" in os.environ else "cpu")


def start():
    return torch.zeros(4, 8).to(torch.device(device))  # TL104 refuted "nothing of it copied to the device"


for _ in range(3):
    x = start()
print(x.sum())
