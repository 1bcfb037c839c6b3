import torch

x = torch.tensor([0.0] * 64)  # TL103 refuted "1 evaluation"
print(x.sum())
