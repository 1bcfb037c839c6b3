import numpy as np
import torch


def main():
    a = np.arange(64, dtype=np.float32)
    if len(a) > 10:
        raise ValueError("no data")
    return torch.tensor(a)  # TL101 unknown "the run ended early: ValueError at copy_after_failure.py:8"


main()
