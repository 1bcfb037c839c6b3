import torch

device = torch.device("cuda")  # TL701 unknown "1 evaluation with CUDA"
print(torch.ones(2).sum())
