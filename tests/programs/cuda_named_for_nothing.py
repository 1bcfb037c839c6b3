import torch

device = torch.device("cuda")  # TL701 refuted "nothing was put on CUDA in this run"
print(torch.ones(2).sum())
