import numpy as np
import torch


def main():
    a = np.arange(64, dtype=np.float32)
    memory = a.data
    x = torch.tensor(a)  # TL101 confirmed "would have been UNSAFE: the array was written"
    memory[0] = 5.0
    print(x.sum())


main()
