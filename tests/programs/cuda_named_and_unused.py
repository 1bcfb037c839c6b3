# on: cpu
import torch

device = torch.device("cuda")  # TL701 refuted "1 evaluation without a GPU, and none raised"
print(torch.ones(2).sum())
