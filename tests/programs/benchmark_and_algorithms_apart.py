import torch

torch.backends.cudnn.benchmark = True
torch.use_deterministic_algorithms(True)  # TL502 refuted "no convolution ran on the device"
print(torch.ones(2).sum())
