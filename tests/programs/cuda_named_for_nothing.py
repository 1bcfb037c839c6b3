import torch

device = torch.device("cuda")  # TL701 unknown "it ran with CUDA"
print(torch.ones(2).sum())
